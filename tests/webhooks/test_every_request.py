"""Every request gets a verdict: no rule fails, whatever the object is, and a patch can be applied to what was asked about."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import jsonpatch
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.webhooks.seen import Seen, ask, queue
from vcray.api import names
from vcray.api.meta import JsonObject
from vcray.webhooks.base import Answer
from vcray.webhooks.resource_groups import ResourceGroup
from vcray.webhooks.services import SERVICES, Service

TOPOLOGY = {"mode": "hard", "highestTierAllowed": 1}
POD = {
    "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}],
    "hostNetwork": True,
}
GOOD: dict[str, JsonObject] = {
    "jobs": {
        "spec": {
            "queue": "q",
            "minAvailable": 1,
            "networkTopology": TOPOLOGY,
            "plugins": {"mpi": ["--master=t"], "svc": []},
            "policies": [
                {"event": "PodFailed", "action": "RestartJob"},
                {"exitCode": 3, "action": "AbortJob"},
            ],
            "volumes": [{"mountPath": "/a", "volumeClaimName": "v"}],
            "tasks": [
                {
                    "name": "t",
                    "replicas": 2,
                    "minAvailable": 2,
                    "topologyPolicy": "single-numa-node",
                    "partitionPolicy": {"totalPartitions": 1, "partitionSize": 2, "minPartitions": 1},
                    "policies": [{"events": ["*"], "action": "RestartTask"}],
                    "template": {"metadata": {"labels": {"a": "b"}}, "spec": POD},
                },
                {"name": "u", "replicas": 1, "dependsOn": {"name": ["t"]}, "template": {"spec": POD}},
            ],
        }
    },
    "podgroups": {"spec": {"queue": "q", "networkTopology": TOPOLOGY, "subGroupPolicy": [{"name": "s"}]}},
    "commands": {
        "action": "AbortJob",
        "target": {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "j", "uid": "u"},
    },
    "queues": {
        "metadata": {
            "annotations": {names.HIERARCHY: "root/a", names.HIERARCHY_WEIGHTS: "1/2"},
        },
        "spec": {
            "parent": "p",
            "weight": 1,
            "capability": {"cpu": "4", "memory": "4Gi"},
            "deserved": {"cpu": "2", "memory": "2Gi"},
            "guarantee": {"resource": {"cpu": "1", "memory": "1Gi"}},
        },
        "status": {"state": "Open", "allocated": {"pods": "0"}},
    },
    "hypernodes": {
        "spec": {"members": [{"type": "Node", "selector": {"regexMatch": {"pattern": "n-[0-9]"}}}]},
    },
    "jobflows": {"spec": {"flows": [{"name": "a"}, {"name": "b", "dependsOn": {"targets": ["a"]}}]}},
    "cronjobs": {"spec": {"schedule": "*/5 1-2 * jan mon", "timeZone": "Europe/Berlin"}},
    "pods": {
        "metadata": {"annotations": {names.JDB_MIN_AVAILABLE: "5%", names.QUEUE_ALLOCATION_GATE: "true"}},
        "spec": {
            **POD,
            "schedulerName": "volcano",
            "nodeSelector": {"a": "b"},
            "tolerations": [{"operator": "Exists"}],
            "schedulingGates": [{"name": "g"}],
        },
    },
}
ROOM: dict[str, Any] = {
    "capability": {"cpu": "8", "memory": "8Gi"},
    "deserved": {"cpu": "8", "memory": "8Gi"},
    "guarantee": {"resource": {"cpu": "8", "memory": "8Gi"}},
}
GROUPS = (
    ResourceGroup(
        "g",
        frozenset({"team"}),
        labels=(("pool", "g"),),
        affinity={"podAffinity": {}},
        tolerations=({"operator": "Exists"},),
        scheduler_name="volcano",
    ),
)

TEXTS = st.text(max_size=8) | st.sampled_from(
    ["*", "a/b", "-1", "1%", "[", "@every 1s", "../x", "q", "p", "é" * 70]
)
PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
ANYTHING = st.recursive(
    PLAIN, lambda part: st.lists(part, max_size=3) | st.dictionaries(TEXTS, part, max_size=3), max_leaves=6
)


def places(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """The paths of all parts of an object, its own, the empty one, left out."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [each for key, part in parts for each in ((*path, key), *places(part, (*path, key)))]


def good(service: Service) -> JsonObject:
    """An object that the service lets in."""
    obj = deepcopy(GOOD[service.resource.plural])
    metadata = obj.setdefault("metadata", {})
    assert isinstance(metadata, dict)
    metadata |= {"name": "n", "namespace": "team"}
    return obj


@st.composite
def altered(draw: st.DrawFn, service: Service) -> JsonObject:
    """A good object of which up to three parts are anything."""
    obj: Any = good(service)
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(places(obj) or [("spec",)]))
        holder = obj
        for step in path[:-1]:
            holder = holder[step]
        holder[path[-1]] = draw(ANYTHING)
    found: JsonObject = obj
    return found


def judge(service: Service, operation: str, new: JsonObject, old: JsonObject) -> Answer:
    """The verdict; its patch is applied to see that it can be."""
    seen = Seen([queue("q"), queue("p", **ROOM), queue("root", **ROOM)])
    answer = service.admit(ask(operation, new, old, seen, gate_pods=True, resource_groups=GROUPS))
    jsonpatch.apply_patch(new, list(answer.patch or ()))
    return answer


def is_verdict(answer: Answer) -> bool:
    """Does it say one thing: let in, as it is or patched, or refused with a reason that can be sent?"""
    answer.problem.encode()
    return answer.allowed != bool(answer.problem) and (answer.allowed or answer.patch is None)


@pytest.mark.parametrize("service", SERVICES, ids=lambda service: service.path)
def test_good_object_is_let_in(service: Service) -> None:
    assert judge(service, "CREATE", good(service), {}).problem == ""


@pytest.mark.parametrize("operation", ["CREATE", "UPDATE", "DELETE", "CONNECT", ""])
@pytest.mark.parametrize("service", SERVICES, ids=lambda service: service.path)
def test_object_without_anything_gets_a_verdict(service: Service, operation: str) -> None:
    assert is_verdict(judge(service, operation, {}, {}))


@pytest.mark.parametrize("service", SERVICES, ids=lambda service: service.path)
@given(data=st.data())
def test_object_of_any_shape_gets_a_verdict(service: Service, data: st.DataObject) -> None:
    operation = data.draw(st.sampled_from(service.operations))
    new, old = data.draw(altered(service)), data.draw(altered(service))

    assert is_verdict(judge(service, operation, new, old))
