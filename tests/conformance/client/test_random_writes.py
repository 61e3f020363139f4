"""Random writers on the embedded store and on a real kube-apiserver: same refusals, same objects, same owners."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable

import pytest

from tests.conformance.client.conftest import (
    EMBEDDED,
    REAL,
    STORE,
    Backend,
    install_crds,
    server_backend,
    store_backend,
)
from tests.conformance.harness.server import ControlPlane
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import CONFIGMAPS, DEPLOYMENTS, PODGROUPS, Resource
from vcray.kube.client import KubeClient, PatchType
from vcray.kube.errors import ApiError

pytestmark = pytest.mark.apiserver

SEQUENCES = 25
STEPS = 8
LEFT_OUT = (".", "f:progressDeadlineSeconds", "f:revisionHistoryLimit", "f:strategy")
"""Parts of managed fields that differ: marks of a map as such, and defaults that only the real server fills in."""
Make = Callable[[random.Random, str, str], JsonObject]


@pytest.fixture(params=[STORE, pytest.param(EMBEDDED, marks=pytest.mark.embedded)])
async def both(request: pytest.FixtureRequest, real_apiserver: ControlPlane) -> AsyncIterator[list[Backend]]:
    """Ours, as a store or over HTTPS, and the real one."""
    if request.param == STORE:
        ours = await store_backend()
    else:
        ours = await server_backend(EMBEDDED, request.getfixturevalue("embedded_apiserver"))
        await install_crds(ours.client)
    backends = [ours, await server_backend(REAL, real_apiserver)]
    await install_crds(backends[1].client)
    yield backends
    for backend in backends:
        await backend.client.close()


WHOLES = ("f:metadata", "f:labels", "f:data", "f:finalizers", "f:env", "f:ports")
"""Maps and lists whose own mark may be left without anything in it."""


def some(dice: random.Random, keys: str, values: str) -> dict[str, str]:
    return {key: dice.choice(values) for key in keys if dice.random() < 0.5}


def config_map(dice: random.Random, name: str, namespace: str) -> JsonObject:
    metadata: JsonObject = {"name": name, "namespace": namespace}
    if dice.random() < 0.5:
        metadata["labels"] = some(dice, "lmn", "12")  # type: ignore[assignment]
    if dice.random() < 0.3:
        metadata["finalizers"] = [f"example.com/{word}" for word in "ab" if dice.random() < 0.6]
    body: JsonObject = {"metadata": metadata}
    if dice.random() < 0.9:
        body["data"] = some(dice, "abc", "12")  # type: ignore[assignment]
    return body


def deployment(dice: random.Random, name: str, namespace: str) -> JsonObject:
    labels: JsonObject = {"app": "x"}
    containers: list[JsonValue] = []
    for word in dice.sample(["c", "d"], dice.randint(1, 2)):
        container: JsonObject = {"name": word, "image": f"i:{dice.randint(1, 2)}"}
        if dice.random() < 0.7:
            container["env"] = [
                {"name": key, "value": value} for key, value in some(dice, "XYZ", "12").items()
            ]
        if dice.random() < 0.4:
            container["ports"] = [{"containerPort": port} for port in (80, 81) if dice.random() < 0.6]
        if dice.random() < 0.4:
            container["args"] = dice.sample(["a", "b", "c"], 2)  # type: ignore[assignment]
        containers.append(container)
    spec: JsonObject = {
        "replicas": dice.randint(1, 2),
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}},
    }
    return {"metadata": {"name": name, "namespace": namespace}, "spec": spec}


def pod_group(dice: random.Random, name: str, namespace: str) -> JsonObject:
    spec: JsonObject = {}
    if dice.random() < 0.7:
        spec["minMember"] = dice.randint(1, 2)
    if dice.random() < 0.6:
        spec["minTaskMember"] = {key: dice.randint(1, 2) for key in "ab" if dice.random() < 0.6}
    if dice.random() < 0.5:
        spec["minResources"] = some(dice, "xy", "12")  # type: ignore[assignment]
    if dice.random() < 0.4:
        spec["networkTopology"] = {"highestTierAllowed": dice.randint(1, 2)}
    if dice.random() < 0.3:
        spec["subGroupPolicy"] = [{"name": dice.choice("ab"), "subGroupSize": 1}]
    body: JsonObject = {"metadata": {"name": name, "namespace": namespace}, "spec": spec}
    if dice.random() < 0.4:
        body["status"] = {"phase": dice.choice(["Pending", "Running"])}
    return body


def owners(obj: JsonObject) -> dict[str, JsonValue]:
    """Who owns what."""

    def plain(tree: JsonValue) -> JsonValue:
        if not isinstance(tree, dict):
            return tree
        kept: JsonObject = {}
        for key, value in tree.items():
            inner = plain(value)
            only_marks = inner == {} and (key in WHOLES or value not in ({}, {".": {}}))
            if key not in LEFT_OUT and not only_marks:
                kept[key] = inner
        return kept

    listed = obj["metadata"].get("managedFields") or []  # type: ignore[union-attr,call-arg]
    named = {f"{m['manager']}/{m['operation']}": plain(m["fieldsV1"]) for m in listed}  # type: ignore[index,call-overload,union-attr]

    return {
        name: tree for name, tree in named.items() if tree not in ({}, {"f:metadata": {}}, {"f:data": {}})
    }


def shown(obj: JsonObject, sample: JsonValue) -> JsonValue:
    """The object without what only the real server fills in: fields that no writer here ever names."""
    metadata = obj["metadata"]
    assert isinstance(metadata, dict)
    result: JsonObject = {key: metadata[key] for key in ("labels", "finalizers") if metadata.get(key)}
    if "data" in obj:
        result["data"] = obj["data"]
    if obj["kind"] == "PodGroup":
        result |= {key: obj[key] for key in ("spec", "status") if key in obj}
    elif "spec" in obj:
        containers = obj["spec"]["template"]["spec"]["containers"]  # type: ignore[index,call-overload]
        result["replicas"] = obj["spec"]["replicas"]  # type: ignore[index,call-overload]
        result["containers"] = [
            {
                "name": c["name"],  # type: ignore[index,call-overload]
                "image": c.get("image"),  # type: ignore[union-attr]
                "env": c.get("env") or [],  # type: ignore[union-attr]
                "args": c.get("args") or [],  # type: ignore[union-attr]
                "ports": [p["containerPort"] for p in c.get("ports") or []],  # type: ignore[index,call-overload,union-attr]
            }
            for c in containers  # type: ignore[union-attr]
        ]
    return result


def without_empty(value: JsonValue) -> JsonValue:
    """A built-in kind forgets empty maps and lists when it is decoded, so no writer here sends any."""
    if isinstance(value, dict):
        cut = {key: without_empty(item) for key, item in value.items()}
        return {key: item for key, item in cut.items() if item not in ({}, [])}
    return [without_empty(item) for item in value] if isinstance(value, list) else value


async def step(backend: Backend, resource: Resource, make: Make, dice: random.Random, name: str) -> JsonValue:
    """One random write; what came of it."""
    writer = KubeClient(backend.client.transport, dice.choice(["alice", "bob", "carol"]))
    body = make(dice, name, backend.namespace)
    if resource != PODGROUPS:
        cut = without_empty(body)
        assert isinstance(cut, dict)
        body = cut
    kind = dice.choice(["apply", "apply", "force", "merge", "update"])
    try:
        match kind:
            case "apply" | "force":
                obj = await writer.apply(resource, body, force=kind == "force")
            case "merge":
                how = PatchType.STRATEGIC if dice.random() < 0.5 else PatchType.MERGE
                patch: JsonObject = {key: value for key, value in body.items() if key != "metadata"}
                obj = await writer.patch(resource, backend.namespace, name, patch, how)
            case _:
                obj = await writer.update(resource, body)
    except ApiError as error:
        return [kind, error.code, error.message.replace(backend.namespace, "NS")]
    return [kind, shown(obj, body), dict(owners(obj))]


@pytest.mark.parametrize(
    ("resource", "make"), [(CONFIGMAPS, config_map), (DEPLOYMENTS, deployment), (PODGROUPS, pod_group)]
)
async def test_random_writers_meet_the_same_outcomes(
    both: list[Backend], resource: Resource, make: Make
) -> None:
    for sequence in range(SEQUENCES):
        name = f"object-{sequence}"
        dice = [random.Random(sequence) for _ in both]
        for number in range(STEPS):
            told = [
                await step(backend, resource, make, die, name)
                for backend, die in zip(both, dice, strict=True)
            ]
            assert told[0] == told[1], f"sequence {sequence}, step {number}"
