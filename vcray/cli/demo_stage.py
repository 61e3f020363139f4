"""What the demo's scenes are played on: a cluster seen through watches, and checks of what they have told.

Nothing is missed in between: every change of every object passes by, in the order in which the server made it.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from vcray.api.jsonview import dig_objects, dig_str
from vcray.api.meta import JsonObject
from vcray.api.resources import EVENTS, JOBS, NODES, PODGROUPS, PODS, QUEUES, Resource, resource_for
from vcray.cli.demo_screens import Check, Row, Screen
from vcray.cli.manifests import read_objects
from vcray.errors import InputError, Problem
from vcray.kube.client import KubeClient
from vcray.kube.watch import EventType, WatchEvent, watch_objects
from vcray.sim.observed import Observed

PATIENCE_S = 60.0
"""After so long something that has not come true will not."""

WATCHED = (PODS, PODGROUPS, JOBS, QUEUES, NODES, EVENTS)


class Stage:
    """One cluster, its audience and the checks so far; a context manager that watches."""

    def __init__(
        self, client: KubeClient, screen: Screen, examples: Path, patience_s: float = PATIENCE_S
    ) -> None:
        self.client = client
        self.screen = screen
        self.checks: list[Check] = []
        self._examples = examples
        self._patience_s = patience_s
        self._began = time.monotonic()
        self._known: dict[Resource, dict[str, JsonObject]] = {each: {} for each in WATCHED}
        self._told: asyncio.Queue[tuple[Resource, WatchEvent[JsonObject]]] = asyncio.Queue()
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Stage:
        self._tasks = [asyncio.create_task(self._follow(each), name=each.plural) for each in WATCHED]
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def _follow(self, resource: Resource) -> None:
        async for event in watch_objects(self.client, resource).events():
            self._told.put_nowait((resource, event))

    @property
    def seconds(self) -> float:
        """Since the stage was built."""
        return time.monotonic() - self._began

    async def submit(self, file: str) -> None:
        """Create every object of an example, in the default namespace."""
        self.screen.say(f"submitting examples/{file}")
        for obj in read_objects(self._examples / file):
            try:
                resource = resource_for(str(obj["apiVersion"]), str(obj["kind"]))
            except KeyError as error:
                what = f"unknown kind {obj['kind']}"
                raise InputError(Problem("VC0202", file, what)) from error
            await self.client.create(resource, "default" if resource.namespaced else None, obj)

    async def until(self, true: Callable[[Observed], bool]) -> Observed:
        """Look at every change until something is true, or patience ends; what was seen last."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._patience_s):
                while not true(self.look()):
                    await self._next()
        self._show()
        return self.look()

    async def _next(self) -> None:
        resource, event = await self._told.get()
        if event.type is EventType.DELETED:
            self._known[resource].pop(event.key, None)
        elif event.object is not None:
            self._known[resource][event.key] = event.object
        if self._told.empty():
            self._show()

    def _show(self) -> None:
        self.screen.show(list(rows_of(self.look())), self.seconds)

    def look(self) -> Observed:
        """Everything as the watches have told it so far."""
        pods, groups, jobs, queues, nodes, events = (
            [known[key] for key in sorted(known)] for known in self._known.values()
        )
        return Observed(pods, groups, jobs, queues, nodes, events, ())

    def check(self, claim: str, ok: bool, found: object = "") -> None:
        """Note a claim and whether it holds."""
        made = Check(claim, ok, str(found))
        self.checks.append(made)
        self.screen.judge(made)


def job_phase(seen: Observed, name: str) -> str:
    """The phase of a vcjob; empty when there is no such job."""
    return next((dig_str(job, "status", "state", "phase") for job in seen.jobs if _name(job) == name), "")


def bound(seen: Observed, selector: str) -> int:
    """Pods that have a node and have not ended."""
    return sum(bool(dig_str(pod, "spec", "nodeName")) and not _ended(pod) for pod in seen.select(selector))


def running(seen: Observed, selector: str) -> int:
    """Pods that run."""
    return sum(dig_str(pod, "status", "phase") == "Running" for pod in seen.select(selector))


def _ended(pod: JsonObject) -> bool:
    return dig_str(pod, "status", "phase") in ("Succeeded", "Failed")


def rows_of(seen: Observed) -> Iterator[Row]:
    """All vcjobs, then all PodGroups that belong to none."""
    for job in seen.jobs:
        queue = dig_str(job, "spec", "queue")
        yield _row(seen, _name(job), queue, job_phase(seen, _name(job)) or "Pending")
    for group in seen.groups:
        if not dig_objects(group, "metadata", "ownerReferences"):
            queue = dig_str(group, "spec", "queue")
            yield _row(seen, _name(group), queue, dig_str(group, "status", "phase") or "Pending")


def _row(seen: Observed, name: str, queue: str, phase: str) -> Row:
    pods = seen.select(name)
    done = sum(map(_ended, pods))
    return Row(name, queue, phase, running(seen, name), bound(seen, name), done, len(pods))


def _name(obj: JsonObject) -> str:
    return dig_str(obj, "metadata", "name")
