"""No controller fails on an object: drawn from the schemas, or broken in ways that a server with other schemas may store.

All controllers share one world of objects with few names, so that jobs meet queues, pods, groups and commands that are as odd
as they are. A controller may say that something is wrong (`ReconcileError`); any other exception is a bug.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from tests.controllers.world import World, _patched, a_job
from tests.fuzz.drawn import EXAMPLES, Drawer, breaks, seeds
from tests.fuzz.manifests import mutated
from tests.webhooks.test_every_request import POD
from vcray.actors.hosted import controllers_of
from vcray.api.crds import schema_for
from vcray.api.meta import JsonObject
from vcray.api.resources import (
    COLOCATIONCONFIGURATIONS,
    COMMANDS,
    CONFIGMAPS,
    CRONJOBS,
    HYPERNODES,
    JOBFLOWS,
    JOBS,
    JOBTEMPLATES,
    NODES,
    NODESHARDS,
    PODGROUPS,
    PODS,
    PRIORITYCLASSES,
    QUEUES,
    REPLICASETS,
    STATEFULSETS,
    Resource,
)
from vcray.config.settings import Settings
from vcray.controllers.base import Controller, Effect, Outcome, Patch

OURS = (
    JOBS, CRONJOBS, PODGROUPS, QUEUES, COMMANDS, JOBFLOWS, JOBTEMPLATES, HYPERNODES, NODESHARDS, COLOCATIONCONFIGURATIONS,
)  # fmt: skip
KUBERNETES = (PODS, REPLICASETS, STATEFULSETS, PRIORITYCLASSES, NODES, CONFIGMAPS)
CONFIGURATIONS: tuple[JsonObject, ...] = (
    {
        "sharding.yaml": "schedulerConfigs:\n- name: volcano\n  type: volcano\n  cpuUtilizationMin: 0\n  cpuUtilizationMax: 1\n",
        "volcano-controller.conf": "networkTopologyDiscovery:\n- source: label\n  enabled: true\n  interval: 10s\n"
        "  config:\n    networkTopologyTypes:\n      t:\n      - nodeLabel: rack\n",
    },
    {"sharding.yaml": "[", "volcano-controller.conf": "networkTopologyDiscovery: {a: [1]}"},
)
"""Of the controllers that read one: a good one, and one that is none."""
STEPS = 8


@dataclass
class Forgiving(World):
    """A world whose server refuses a patch that cannot be applied, as an API server does, rather than fail itself.

    `patient`: controllers that find no rest are no failure. A status that no controller writes may keep one going until it is
    counted anew; what a user may write in a spec must not."""

    patient: bool = False

    def settle(self, limit: int = 500) -> None:
        try:
            super().settle(limit)
        except AssertionError:
            if not self.patient:
                raise
            self.queue.clear()

    def _write(self, effect: Effect) -> Outcome:
        stored = (
            self.objects.get((effect.resource, effect.namespace, effect.name))
            if isinstance(effect, Patch)
            else None
        )
        if isinstance(effect, Patch) and stored is not None:
            try:
                patched = _patched(stored, effect)
            except (AssertionError, TypeError, LookupError, ValueError):
                return Outcome(ok=False, status=422, reason="Invalid", message="the patch cannot be applied")
            return Outcome(object=self.put(effect.resource, patched))
        return super()._write(effect)

    def moved(self, resource: Resource, status: JsonObject) -> None:
        """All objects of a kind get this status, whatever theirs was."""
        for item in self.list(resource):
            self.put(resource, {**item, "status": status})
        self.settle()


FAILED: JsonObject = {
    "phase": "Failed",
    "containerStatuses": [{"name": "c", "restartCount": 1, "state": {"terminated": {"exitCode": 3}}}],
}


SETTINGS = Settings(
    controllers=(), controller_configmap="ns/a", sharding_configmap_namespace="ns", sharding_configmap="b"
)


def controllers() -> tuple[Controller, ...]:
    """All that there are."""
    return controllers_of(SETTINGS)


def drawn(drawer: Drawer, resource: Resource, places: int) -> JsonObject:
    namespace = "ns" if resource.namespaced else ""
    if resource in KUBERNETES:
        spec: JsonObject = {**POD, "schedulerName": "volcano"}  # type: ignore[dict-item]
        template: JsonObject = {"metadata": drawer.metadata(), "spec": spec}
        obj: JsonObject = {"metadata": drawer.metadata(namespace), "spec": spec, "status": FAILED, "value": 3}
        if resource == NODES:
            amounts: JsonObject = {"cpu": "8", "memory": "16Gi", "pods": "10"}
            obj |= {"spec": {"unschedulable": False}, "status": {"allocatable": amounts, "capacity": amounts}}
        if resource == CONFIGMAPS:
            obj["data"] = CONFIGURATIONS[places % 2]
        if resource in (REPLICASETS, STATEFULSETS):
            obj["spec"] = {"replicas": 2, "template": template, "selector": {"matchLabels": {"a": "b"}}}
    else:
        obj = drawer.named(schema_for(resource.kind, resource.api_version), namespace)
        if not places and resource != QUEUES:
            obj.pop("status", None)
    found: JsonObject = tame(
        {**drawer.broken(obj, places), "apiVersion": resource.api_version, "kind": resource.kind}
    )
    return found


def tame(value: Any) -> Any:
    """Without loads: numbers of things stay few."""
    if isinstance(value, dict):
        return {
            key: tame(part) if key not in COUNTS or not _is_large(part) else 3 for key, part in value.items()
        }
    return [tame(part) for part in value] if isinstance(value, list) else value


COUNTS = ("replicas", "totalPartitions", "partitionSize", "maxRetry")


def _is_large(value: object) -> bool:
    return isinstance(value, int | float) and value > 3


def lives_through(seed: int, places: int) -> World:
    """A short life of a world: objects come, change, are deleted; pods and groups are moved on; time passes."""
    drawer, dice = Drawer(seed), Drawer(seed + 1)
    world = Forgiving(controllers(), patient=places > 0)
    world.put(QUEUES, {"metadata": {"name": "default"}, "spec": {}, "status": {"state": "Open"}})
    world.put(QUEUES, {"metadata": {"name": "root"}, "spec": {}, "status": {"state": "Open"}})
    world.put(JOBS, a_job("a", uid="u"))
    kinds = [*OURS, *KUBERNETES]
    for step in range(STEPS):
        resource = kinds[(seed + step * 7) % len(kinds)]
        world.put(resource, drawn(drawer, resource, places))
        world.settle()
    world.moved(PODGROUPS, {"phase": "Inqueue"})
    world.moved(PODS, {"phase": "Running"})
    for key in sorted(world.objects, key=lambda key: (key[0].plural, *key[1:]))[seed % 3 :: 3]:
        if key in world.objects and key[0] in (*OURS, *KUBERNETES):
            world.put(key[0], {**tame(dice.broken(world.objects[key], places))})
            world.settle()
    world.moved(PODS, FAILED)
    world.advance(3600)
    for key in list(world.objects)[seed % 2 :: 2]:
        if key in world.objects:
            world.remove(*key)
            world.settle()
    return world


@given(seed=seeds)
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
def test_controllers_live_with_what_the_schemas_allow(seed: int) -> None:
    world = lives_through(seed, 0)

    assert world.queue == []


@given(seed=seeds, places=breaks)
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
def test_controllers_live_with_broken_objects(seed: int, places: int) -> None:
    """What it is about are exceptions, which end it before; a world too broken for rest is left alone in the end."""
    assert lives_through(seed, places).queue == []


@given(seed=seeds)
@settings(max_examples=EXAMPLES, deadline=None)
def test_controllers_live_with_misspelt_manifests(seed: int) -> None:
    world = Forgiving(controllers())
    world.put(QUEUES, {"metadata": {"name": "default"}, "spec": {}, "status": {"state": "Open"}})
    for document in mutated(seed):
        for resource in OURS:
            if resource.kind == document.get("kind"):
                namespace: JsonObject = {"namespace": "ns"} if resource.namespaced else {}
                world.put(resource, {**tame(document), "metadata": {"name": "a", **namespace}})
                world.settle()
    world.moved(PODGROUPS, {"phase": "Inqueue"})
    world.moved(PODS, FAILED)

    assert world.queue == []


@pytest.mark.parametrize("resource", [*OURS, *KUBERNETES], ids=lambda each: each.plural)
def test_controllers_live_with_empty_objects(resource: Resource) -> None:
    world = Forgiving(controllers())
    for body in ({}, {"spec": None, "status": None}, {"spec": [], "status": "x"}):
        world.put(
            resource, {"metadata": {"name": "a", "namespace": "ns" if resource.namespaced else ""}, **body}
        )
        world.settle()
    world.advance(60)

    assert world.queue == []
