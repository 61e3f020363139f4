"""Runs a scenario on a back end: creates, steps, cycles, checks. The same file gives the same result on each."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from vcray.api.meta import JsonObject
from vcray.api.resources import COMMANDS, JOBS, NODES, PODS, QUEUES, Resource, resolve, resource_for
from vcray.core.decisions import Decisions
from vcray.errors import InputError, Problem, VcrayError
from vcray.kube.errors import AlreadyExists
from vcray.sim import expand
from vcray.sim.backend import Backend
from vcray.sim.expectations import failures, field_differences
from vcray.sim.observed import belongs, matches, observe, text
from vcray.sim.scenario import (
    CommandStep,
    Expectations,
    Finish,
    ObjectExpectation,
    Objects,
    PatchStep,
    Scenario,
    Step,
    Target,
)

SETTLE_CYCLES = 20
QUIET_CYCLES = 3

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(slots=True)
class Result:
    """What came of one run: sentences for what did not hold, cycles run, pods evicted."""

    name: str
    order: int = 0
    failures: list[str] = field(default_factory=list)
    cycles: int = 0
    evicted: list[tuple[str, str]] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Did everything hold?"""
        return not self.failures


async def run_scenario(
    scenario: Scenario, backend: Callable[[int], Backend], repeat: int | None = None
) -> list[Result]:
    """Run a scenario as often as it says; `backend` makes a fresh cluster for each order."""
    results = []
    for order in range(repeat if repeat is not None else scenario.repeat):
        run = _Run(scenario, backend(order), order)
        results.append(await run.all())
    return results


class _Run:
    def __init__(self, scenario: Scenario, backend: Backend, order: int) -> None:
        self.scenario = scenario
        self.backend = backend
        self.order = order
        self.result = Result(scenario.name, order)

    async def all(self) -> Result:
        try:
            await self.backend.start(self.scenario.scheduler_conf)
            await self._create(self.scenario.given, "given")
            await self.backend.rest()
            for index, step in enumerate(self.scenario.steps):
                await self._step(step, f"steps[{index}]")
            await self._check(self.scenario.expect, "expect")
        except InputError:
            raise
        except VcrayError as error:
            self.result.failures.append(str(error))
        finally:
            await self.backend.stop()
        return self.result

    # -- steps ------------------------------------------------------------------------------------------------

    async def _step(self, step: Step, where: str) -> None:
        value = getattr(step, step.verb)
        match step.verb:
            case "create":
                await self._create(value, f"{where}.create")
                await self.backend.rest()
            case "cycles":
                for _ in range(value):
                    await self._cycle(where)
            case "settle":
                await self._settle(where)
            case "expect":
                await self._check(value, f"{where}.expect")
            case "advance":
                await self.backend.advance(_seconds(value, f"{where}.advance"))
            case "kubelet":
                self.backend.kubelet(value)
            case "stop" | "start" | "restart":
                await self._component(step.verb, value)
            case _:
                await self._act(step.verb, value, where)
                await self.backend.rest()

    async def _component(self, verb: str, name: str) -> None:
        for each in ("scheduler", "controllers") if name == "all" else (name,):
            if verb in ("stop", "restart"):
                await self.backend.stop_component(each)
            if verb in ("start", "restart"):
                await self.backend.start_component(each)
        await self.backend.rest()

    async def _act(self, verb: str, value: object, where: str) -> None:
        client = self.backend.client
        match verb, value:
            case "patch", PatchStep():
                resource, namespace = self._target(value, where)
                if value.delay_event:
                    await self.backend.hold(resource, namespace or "", value.name)
                await client.patch(
                    resource, namespace, value.name, value.patch, subresource=value.subresource
                )
            case "delete", Target():
                resource, namespace = self._target(value, where)
                for name in await self._names(resource, namespace, value.name):
                    await client.delete(resource, namespace, name)
            case (("hold" | "release"), Target()):
                resource, namespace = self._target(value, where)
                act = self.backend.hold if verb == "hold" else self.backend.release
                for name in await self._names(resource, namespace, value.name):
                    await act(resource, namespace or "", name)
            case "command", CommandStep():
                await self._command(value)
            case "finish", Finish():
                await self._finish(value.pods, value.code, where)
            case (("node_down" | "node_up"), str()):
                status = "True" if verb == "node_up" else "False"
                ready: JsonObject = {"type": "Ready", "status": status, "reason": "Simulated"}
                await client.patch(
                    NODES, None, value, {"status": {"conditions": [ready]}}, subresource="status"
                )
            case (("cordon" | "uncordon"), str()):
                await client.patch(NODES, None, value, {"spec": {"unschedulable": verb == "cordon"}})

    async def _create(self, given: Objects, where: str) -> None:
        for obj in expand.objects(given, where, self.order):
            try:
                resource = resource_for(text(obj, "apiVersion"), text(obj, "kind"))
            except KeyError as error:
                kind = f"{text(obj, 'apiVersion')} {text(obj, 'kind')}"
                raise InputError(Problem("VC0302", where, f"unknown kind '{kind}'")) from error
            await self._create_one(resource, obj)

    async def _create_one(self, resource: Resource, obj: JsonObject) -> None:
        client = self.backend.client
        namespace = (text(obj, "metadata", "namespace") or "default") if resource.namespaced else None
        status = obj.get("status")
        try:
            made = await client.create(resource, namespace, obj)
        except AlreadyExists:
            name = text(obj, "metadata", "name")
            made = await client.patch(resource, namespace, name, {"spec": obj.get("spec")})
        if status and "status" in resource.subresources and made.get("status") != status:
            name = text(made, "metadata", "name")
            await client.patch(resource, namespace, name, {"status": status}, subresource="status")

    async def _command(self, step: CommandStep) -> None:
        client = self.backend.client
        resource, namespace = (JOBS, step.namespace) if step.kind == "Job" else (QUEUES, None)
        target = await client.get(resource, namespace, step.name)
        await client.create(
            COMMANDS,
            step.namespace,
            {
                "apiVersion": COMMANDS.api_version,
                "kind": COMMANDS.kind,
                "metadata": {
                    "generateName": f"{step.name}-{step.action.lower()}-",
                    "namespace": step.namespace,
                },
                "action": step.action,
                "target": {
                    "apiVersion": resource.api_version,
                    "kind": resource.kind,
                    "name": step.name,
                    "uid": text(target, "metadata", "uid"),
                    "controller": True,
                    "blockOwnerDeletion": True,
                },
            },
        )

    async def _finish(self, selector: str, code: int, where: str) -> None:
        pods = [
            pod
            for pod in (await self.backend.client.list(PODS)).items
            if matches(pod, selector) and text(pod, "status", "phase") in ("Pending", "Running")
        ]
        if not pods:
            raise InputError(Problem("VC0303", where, f"no pod to finish matches '{selector}'"))
        for pod in pods:
            await self.backend.finish(text(pod, "metadata", "namespace"), text(pod, "metadata", "name"), code)

    def _target(self, target: Target, where: str) -> tuple[Resource, str | None]:
        resource = resolve(target.kind)
        if resource is None:
            raise InputError(Problem("VC0302", f"{where}.kind", f"unknown kind '{target.kind}'"))
        return resource, target.namespace if resource.namespaced else None

    async def _names(self, resource: Resource, namespace: str | None, pattern: str) -> list[str]:
        objects = (await self.backend.client.list(resource, namespace)).items
        names = [text(obj, "metadata", "name") for obj in objects if belongs(obj, pattern)]
        return sorted(names) or [pattern]

    # -- cycles and checks --------------------------------------------------------------------------------------

    async def _cycle(self, where: str) -> bool:
        """One cycle; True when it changed anything."""
        before = self.backend.version()
        decisions: Decisions = await self.backend.cycle()
        self.result.cycles += 1
        self.result.evicted += [
            (each.task.partition("/")[2], each.job.partition("/")[2]) for each in decisions.evictions
        ]
        if self.scenario.never is not None:
            seen = await observe(self.backend.client, self.result.evicted)
            place = f"{where}, cycle {self.result.cycles}: never"
            held = _holding(self.scenario.never, failures(self.scenario.never, seen))
            self.result.failures += [f"{place} {each} held" for each in held]
        return self.backend.version() != before

    async def _settle(self, where: str) -> None:
        still = 0
        for _ in range(SETTLE_CYCLES):
            still = 0 if await self._cycle(where) else still + 1
            if still == QUIET_CYCLES:
                return
        self.result.failures.append(f"{where}: still changing after {SETTLE_CYCLES} cycles")

    async def _check(self, expected: Expectations, where: str) -> None:
        seen = await observe(self.backend.client, self.result.evicted)
        found = failures(expected, seen)
        for index, each in enumerate(expected.objects):
            found += [f"objects[{index}]: {sentence}" for sentence in await self._object(each)]
        self.result.failures += [f"{where}.{each}" for each in found]

    async def _object(self, expected: ObjectExpectation) -> list[str]:
        resource = resolve(expected.kind)
        if resource is None:
            return [f"unknown kind '{expected.kind}'"]
        namespace = expected.namespace if resource.namespaced else None
        objects = [
            obj
            for obj in (await self.backend.client.list(resource, namespace)).items
            if belongs(obj, expected.name)
        ]
        if bool(objects) != expected.exists:
            return [f"{expected.kind} {expected.name} {'does not exist' if expected.exists else 'exists'}"]
        return [
            sentence
            for obj in objects
            for sentence in field_differences(
                expected.fields, obj, f"{expected.kind} {text(obj, 'metadata', 'name')}"
            )
        ]


def _holding(never: Expectations, failing: list[str]) -> list[str]:
    """Keys of `never` that hold now, which they must not: all that are given minus those that fail."""
    failed = {sentence.split(":", 1)[0] for sentence in failing}
    given = [
        f"{kind}.{key}"
        for kind in type(never).model_fields
        if isinstance(entries := getattr(never, kind), dict)
        for key in entries
    ]
    given += ["evicted"] if never.evicted is not None and not isinstance(never.evicted, dict) else []
    given += [f"events[{index}]" for index in range(len(never.events))]
    return [key for key in given if not any(each == key or each.startswith(key + ".") for each in failed)]


def _seconds(spelled: str, where: str) -> float:
    parts = re.findall(r"(\d+(?:\.\d+)?)(ms|s|m|h)", spelled)
    if not parts or "".join(number + unit for number, unit in parts) != spelled:
        raise InputError(Problem("VC0302", where, f"'{spelled}' is not a duration such as 500ms, 10s, 1m30s"))
    return sum(float(number) * _UNITS[unit] for number, unit in parts)
