"""JobFlows in the world for controllers: templates, flows, and hands on the phases of their jobs."""

from __future__ import annotations

from collections.abc import Sequence

from tests.controllers.world import World, a_task
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import JOBFLOWS, JOBS, JOBTEMPLATES, Resource
from vcray.controllers import raw
from vcray.controllers.base import Create
from vcray.controllers.jobflow.controller import JobFlowController


def a_template(name: str, **spec: JsonValue) -> JsonObject:
    return {
        "apiVersion": "flow.volcano.sh/v1alpha1",
        "kind": "JobTemplate",
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {"queue": "default", "maxRetry": 3, "tasks": [a_task()], **spec},
    }


def a_flow(*flows: tuple[str, Sequence[str]] | str, name: str = "f", policy: str = "") -> JsonObject:
    """Each flow is a name, or a name and what it depends on."""
    items: list[JsonValue] = []
    for each in flows:
        template, targets = (each, ()) if isinstance(each, str) else each
        item: JsonObject = {"name": template}
        if targets:
            item["dependsOn"] = {"targets": list(targets)}
        items.append(item)
    spec: JsonObject = {"flows": items}
    if policy:
        spec["jobRetainPolicy"] = policy
    return {
        "apiVersion": "flow.volcano.sh/v1alpha1",
        "kind": "JobFlow",
        "metadata": {"name": name, "namespace": "ns"},
        "spec": spec,
    }


class FlowWorld(World):
    """A world with the JobFlow controller and templates of the names that are given."""

    def __init__(self, *templates: str) -> None:
        super().__init__([JobFlowController()])
        self.flow_phases: list[str] = []
        for name in templates:
            self.put(JOBTEMPLATES, a_template(name))

    def put(self, resource: Resource, item: JsonObject) -> JsonObject:
        stored = super().put(resource, item)
        phase = raw.text(stored, "status", "state", "phase") if resource == JOBFLOWS else ""
        if phase and (not self.flow_phases or self.flow_phases[-1] != phase):
            self.flow_phases.append(phase)
        return stored

    def begin(self, *flows: tuple[str, Sequence[str]] | str, policy: str = "") -> None:
        """Submit the flow `f`."""
        self.put(JOBFLOWS, a_flow(*flows, policy=policy))
        self.settle()

    def now_is(self, phase: str, *jobs: str, **status: JsonValue) -> None:
        """Jobs move to a phase, other fields of their status with it."""
        for name in jobs:
            fields: dict[str, object] = {f"status__{key}": value for key, value in status.items()}
            self.change(JOBS, "ns", name, status__state__phase=phase, **fields)
            self.settle()

    def restart(self) -> None:
        """The controller is killed and another one starts."""
        self.controllers = [JobFlowController()]
        self.queue.clear()
        self.waiting.clear()
        self.replay(JOBS, JOBTEMPLATES, JOBFLOWS)
        self.settle()

    def flow(self, name: str = "f") -> JsonObject:
        return self.objects[JOBFLOWS, "ns", name]

    def flow_status(self, name: str = "f") -> JsonObject:
        return raw.table(self.flow(name), "status")

    def flow_phase(self, name: str = "f") -> str:
        return raw.text(self.flow(name), "status", "state", "phase")

    def jobs(self) -> list[str]:
        return [raw.name(job) for job in self.list(JOBS)]

    def created(self) -> list[str]:
        """Names of jobs in the order in which they were asked for."""
        return [raw.name(e.object) for e in self.did(Create, JOBS) if isinstance(e, Create)]
