"""Jobs whose pods plugins dress: short templates, and the pods that come out."""

from __future__ import annotations

import copy

from tests.controllers.world import World, a_task
from vcray.api.meta import JsonObject
from vcray.api.resources import PODS
from vcray.controllers import raw
from vcray.controllers.job.controller import JobController

USERS: JsonObject = {"name": "X", "value": "x"}
"""A variable of the user's own."""


def container(name: str = "main", **more: object) -> JsonObject:
    """A container with one variable of the user's."""
    return {"name": name, "image": "i", "env": [copy.deepcopy(USERS)], **more}  # type: ignore[dict-item]


def a_role(name: str, replicas: int = 1, *containers: JsonObject, **spec: object) -> JsonObject:
    """A task of one plain container, unless containers are given; keywords are fields of its pods' spec."""
    body: JsonObject = {"containers": list(containers or (container(),)), **spec}  # type: ignore[dict-item]
    return a_task(name, replicas, template={"spec": body})


def made(plugins: dict[str, list[str]], *tasks: JsonObject) -> World:
    """A world in which the pods of job `j` have just been created."""
    world = World([JobController()])
    world.submit(plugins=plugins, tasks=list(tasks))
    world.admit()
    return world


def spec_of(world: World, pod: str) -> JsonObject:
    """The spec of a pod of namespace ns."""
    return raw.table(world.get(PODS, "ns", pod) or {}, "spec")


def variables(*pairs: tuple[str, str]) -> list[JsonObject]:
    """Entries of `env`, the user's own at the end."""
    return [*({"name": name, "value": value} for name, value in pairs), copy.deepcopy(USERS)]
