"""Argo's step pods need no integration: what its documentation promises of them."""

from __future__ import annotations

from tests.controllers.world import World
from tests.integrations.objects import GROUP
from vcray.api.meta import JsonObject
from vcray.api.resources import PODS
from vcray.controllers import raw
from vcray.controllers.podgroup import PodGroupController
from vcray.integrations.known import built_in
from vcray.integrations.podmarks import PodMarks


def step(name: str, workflow: str) -> JsonObject:
    owner: JsonObject = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Workflow",
        "name": workflow,
        "uid": f"uid-of-{workflow}",
        "controller": True,
    }
    metadata: JsonObject = {
        "name": name,
        "namespace": "ns",
        "labels": {"workflows.argoproj.io/workflow": workflow},
        "annotations": {"scheduling.volcano.sh/queue-name": f"queue-of-{workflow}"},
        "ownerReferences": [owner],
    }
    return {"metadata": metadata, "spec": {"schedulerName": "volcano", "containers": [{"name": "main"}]}}


def test_steps_start_one_by_one_in_the_queue_of_their_template() -> None:
    """Pods of one Workflow share a group of one, as those of any owner do (volcano-sh/volcano#1840)."""
    w = World([PodGroupController(others=PodMarks.of(built_in()).bears)])
    for name, workflow in (("a-1", "a"), ("a-2", "a"), ("b-1", "b")):
        w.put(PODS, step(name, workflow))
    w.settle()

    groups = {raw.name(each): raw.table(each, "spec") for each in w.podgroups()}
    assert {name: (spec["minMember"], spec["queue"]) for name, spec in groups.items()} == {
        "podgroup-uid-of-a": (1, "queue-of-a"),
        "podgroup-uid-of-b": (1, "queue-of-b"),
    }
    assert [raw.annotation(pod, GROUP) for pod in w.list(PODS)] == [
        "podgroup-uid-of-a",
        "podgroup-uid-of-a",
        "podgroup-uid-of-b",
    ]
