"""Defaults, pruning and the words of schema errors: the embedded store against a real kube-apiserver."""

from __future__ import annotations

import pytest

from tests.conformance.client.conftest import Backend, eventually
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import (
    CRONJOBS,
    CUSTOMRESOURCEDEFINITIONS,
    HYPERNODES,
    JOBS,
    NODESHARDS,
    PODGROUPS,
    QUEUES,
    Resource,
)
from vcray.kube.errors import Invalid, NotFound

TEMPLATE: JsonObject = {"spec": {"containers": [{"name": "c", "image": "i"}]}}


def task(**fields: JsonValue) -> JsonObject:
    return {"name": "w", "replicas": 1, "template": TEMPLATE, **fields}


def job(**spec: JsonValue) -> JsonObject:
    return {"tasks": [task()], **spec}


async def store(backend: Backend, resource: Resource, spec: JsonValue) -> JsonObject:
    name = backend.name("x")
    body: JsonObject = {"metadata": {"name": name}, "spec": spec}
    return await backend.client.create(resource, backend.namespace if resource.namespaced else None, body)


async def refusal(backend: Backend, resource: Resource, spec: JsonValue) -> str:
    """The causes with which the server refuses, without the object's name."""
    with pytest.raises(Invalid) as refused:
        await store(backend, resource, spec)
    return refused.value.message.partition(" is invalid: ")[2]


async def test_a_queue_is_given_its_defaults(backend: Backend) -> None:
    made = await store(backend, QUEUES, {})

    assert made["spec"] == {"weight": 1, "dequeueStrategy": "traverse"}


async def test_defaults_reach_into_nested_objects_that_are_present(backend: Backend) -> None:
    ports: list[JsonValue] = [{"containerPort": 80}]
    containers: list[JsonValue] = [{"name": "c", "image": "i", "ports": ports}]
    made = await store(
        backend,
        JOBS,
        job(
            tasks=[task(template={"spec": {"containers": containers}})],
            networkTopology={"highestTierAllowed": 2},
        ),
    )

    spec = made["spec"]
    assert isinstance(spec, dict)
    assert (spec["queue"], spec["maxRetry"]) == ("default", 3)
    assert spec["networkTopology"] == {"mode": "hard", "highestTierAllowed": 2}
    assert spec["tasks"][0]["template"]["spec"]["containers"][0]["ports"] == [  # type: ignore[index,call-overload]
        {"containerPort": 80, "protocol": "TCP"}
    ]


async def test_an_absent_parent_gets_no_defaults(backend: Backend) -> None:
    made = await store(backend, PODGROUPS, {"minMember": 1})

    assert made["spec"] == {"minMember": 1, "queue": "default"}


async def test_unknown_fields_are_pruned_and_nulls_dropped(backend: Backend) -> None:
    body: JsonObject = {
        "metadata": {"name": "x", "labels": {"kept": "yes"}},
        "spec": {"minMember": 1, "bogus": 1, "priorityClassName": None, "queue": None},
        "bogus": {"deep": 1},
    }
    made = await backend.client.create(PODGROUPS, backend.namespace, body)

    assert "bogus" not in made
    assert made["spec"] == {"minMember": 1, "queue": "default"}
    assert made["metadata"]["labels"] == {"kept": "yes"}  # type: ignore[index,call-overload]


async def test_a_pod_template_keeps_only_the_metadata_that_volcano_embeds(backend: Backend) -> None:
    template: JsonObject = {
        "metadata": {"labels": {"l": "v"}, "annotations": {"a": "v"}, "generateName": "no"},
        **TEMPLATE,
    }
    made = await store(backend, JOBS, job(tasks=[task(template=template)]))

    kept = made["spec"]["tasks"][0]["template"]["metadata"]  # type: ignore[index,call-overload]
    assert kept == {"labels": {"l": "v"}, "annotations": {"a": "v"}}


async def test_an_integer_may_be_written_with_a_decimal_point(backend: Backend) -> None:
    made = await store(backend, PODGROUPS, {"minMember": 2.0})

    assert made["spec"]["minMember"] == 2  # type: ignore[index,call-overload]


SUBDOMAIN = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
QUANTITY = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"

REFUSED: list[tuple[str, Resource, JsonValue, str]] = [
    (
        "below the minimum",
        JOBS,
        job(minAvailable=-1),
        "spec.minAvailable: Invalid value: -1: spec.minAvailable in body should be greater than or equal to 0",
    ),
    (
        "above the maximum",
        QUEUES,
        {"weight": 70000},
        "spec.weight: Invalid value: 70000: spec.weight in body should be less than or equal to 65535",
    ),
    (
        "no items",
        JOBS,
        {"tasks": []},
        "spec.tasks: Invalid value: 0: spec.tasks in body should have at least 1 items",
    ),
    (
        "pattern",
        JOBS,
        job(queue="Not_OK"),
        f"spec.queue: Invalid value: \"Not_OK\": spec.queue in body should match '{SUBDOMAIN}'",
    ),
    (
        "wrong type",
        JOBS,
        job(maxRetry="three"),
        'spec.maxRetry: Invalid value: "string": spec.maxRetry in body must be of type integer: "string"',
    ),
    (
        "wrong type of a whole section",
        QUEUES,
        [],
        'spec: Invalid value: "array": spec in body must be of type object: "array"',
    ),
    (
        "enum",
        QUEUES,
        {"dequeueStrategy": "lifo"},
        'spec.dequeueStrategy: Unsupported value: "lifo": supported values: "fifo", "traverse"',
    ),
    (
        "too long",
        JOBS,
        job(schedulerName="s" * 64),
        "spec.schedulerName: Too long: may not be more than 63 bytes",
    ),
    (
        "too short",
        JOBS,
        job(volumes=[{"mountPath": ""}]),
        'spec.volumes[0].mountPath: Invalid value: "": spec.volumes[0].mountPath in body should be at least 1 chars long',
    ),
    (
        "required field",
        JOBS,
        {"tasks": [{"name": "w", "template": {"spec": {}}}]},
        "spec.tasks[0].template.spec.containers: Required value",
    ),
    ("required section", NODESHARDS, None, "spec: Required value"),
    (
        "not a quantity",
        QUEUES,
        {"capability": {"cpu": "lots"}},
        f"spec.capability.cpu: Invalid value: \"lots\": spec.capability.cpu in body should match '{QUANTITY}'",
    ),
    (
        "boolean where a quantity belongs",
        QUEUES,
        {"capability": {"cpu": True}},
        '[spec.capability.cpu: Invalid value: "boolean": spec.capability.cpu in body must be of type integer,string: '
        '"boolean", <nil>: Invalid value: "": "spec.capability.cpu" must validate at least one schema (anyOf), '
        'spec.capability.cpu: Invalid value: "boolean": spec.capability.cpu in body must be of type integer: "boolean"]',
    ),
    (
        "duplicate list key",
        JOBS,
        job(
            tasks=[
                task(
                    template={
                        "spec": {"containers": [{"name": "c", "image": "i"}, {"name": "c", "image": "j"}]}
                    }
                )
            ]
        ),
        'spec.tasks[0].template.spec.containers[1]: Duplicate value: {"name":"c"}',
    ),
    (
        "map value of the wrong type",
        PODGROUPS,
        {"minTaskMember": {"w": "two"}},
        'spec.minTaskMember.w: Invalid value: "string": spec.minTaskMember.w in body must be of type integer: "string"',
    ),
    (
        "enum in a list",
        JOBS,
        job(policies=[{"event": "Nonsense", "action": "RestartJob"}]),
        'spec.policies[0].event: Unsupported value: "Nonsense": supported values: "*", "PodPending", "PodRunning", '
        '"PodFailed", "PodEvicted", "Unknown", "TaskCompleted", "OutOfSync", "CommandIssued", "JobUpdated", '
        '"TaskFailed"',
    ),
    (
        "negative replicas",
        JOBS,
        job(tasks=[task(replicas=-1, minAvailable=0)]),
        "spec.tasks[0].replicas: Invalid value: -1: spec.tasks[0].replicas in body should be greater than or equal to 0",
    ),
    (
        "cron job without a schedule",
        CRONJOBS,
        {"jobTemplate": {"spec": job()}},
        "spec.schedule: Required value",
    ),
    (
        "integer out of its format",
        PODGROUPS,
        {"minMember": 3000000000},
        '<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec.minMember',
    ),
    (
        "hyper node member that selects nothing",
        HYPERNODES,
        {"tier": 1, "members": [{"type": "Node", "selector": {}}]},
        "spec.members[0].selector: Invalid value: "
        "Either ExactMatch or RegexMatch or LabelMatch must be specified",
    ),
    (
        "hyper node member that selects twice",
        HYPERNODES,
        {
            "tier": 1,
            "members": [
                {"type": "Node", "selector": {"exactMatch": {"name": "n"}, "regexMatch": {"pattern": "n.*"}}}
            ],
        },
        "spec.members[0].selector: Invalid value: "
        "Only one of ExactMatch, RegexMatch, or LabelMatch can be specified",
    ),
    (
        "hyper node without members",
        HYPERNODES,
        {"tier": 1, "members": []},
        "spec.members: Invalid value: 0: spec.members in body should have at least 1 items",
    ),
]


@pytest.mark.parametrize(
    ("resource", "spec", "words"), [case[1:] for case in REFUSED], ids=[c[0] for c in REFUSED]
)
async def test_a_broken_rule_is_told_in_the_servers_words(
    backend: Backend, resource: Resource, spec: JsonValue, words: str
) -> None:
    assert await refusal(backend, resource, spec) == words


async def test_all_broken_rules_are_told_at_once(backend: Backend) -> None:
    told = await refusal(backend, JOBS, job(minAvailable=-1, maxRetry=-2))

    # The order is a Go map's.
    assert set(told.strip("[]").split(", ")) == {
        "spec.maxRetry: Invalid value: -2: spec.maxRetry in body should be greater than or equal to 0",
        "spec.minAvailable: Invalid value: -1: spec.minAvailable in body should be greater than or equal to 0",
    }


async def test_an_update_is_checked_like_a_create(backend: Backend) -> None:
    made = await store(backend, QUEUES, {"weight": 1})

    with pytest.raises(Invalid, match=r"spec\.weight in body should be greater than or equal to 1"):
        await backend.client.update(QUEUES, {**made, "spec": {"weight": 0}})


async def test_a_definition_is_established_and_its_kind_served_with_its_rules(backend: Backend) -> None:
    word = "w" + backend.word.replace("-", "")
    things = Resource(f"{word}.example", "v1", "Thing", "things", subresources=("status",))
    schema: JsonObject = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {"size": {"type": "integer", "minimum": 1, "default": 4}},
            },
            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    }
    definition: JsonObject = {
        "metadata": {"name": things.full_name},
        "spec": {
            "group": things.group,
            "scope": "Namespaced",
            "names": {"kind": "Thing", "listKind": "ThingList", "plural": "things", "singular": "thing"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    }
    await backend.client.create(CUSTOMRESOURCEDEFINITIONS, None, definition)

    async def served() -> bool:
        try:
            await backend.client.list(things, backend.namespace)
        except NotFound:
            return False
        return True

    await eventually(served, "things to be served")
    made = await store(backend, things, {"colour": "red"})
    assert made["spec"] == {"size": 4}
    told = await backend.client.patch(
        things, backend.namespace, backend.name("x"), {"status": {"any": {"thing": 1}}}, subresource="status"
    )
    assert told["status"] == {"any": {"thing": 1}}
    with pytest.raises(Invalid, match=r"spec\.size in body should be greater than or equal to 1"):
        await backend.client.patch(things, backend.namespace, backend.name("x"), {"spec": {"size": 0}})
