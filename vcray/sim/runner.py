"""Runs a scenario on a back end: creates, steps, cycles, checks. The same file gives the same result on each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from vcray.api.jsonview import dig
from vcray.api.resources import EVENTS, PODS, Resource, resolve
from vcray.errors import Problem, VcrayError
from vcray.kube.errors import NotFound
from vcray.sim.backend import Backend
from vcray.sim.expectations import failures, held
from vcray.sim.observed import Observed, group_of, observe, text
from vcray.sim.scenario import Expectations, Scenario, Step, per_cents, seconds
from vcray.sim.steps import Steps

SETTLE_CYCLES = 20
QUIET_CYCLES = 3


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
        self.result = Result(scenario.name, order)
        self._steps = Steps(backend, order)
        self._evictions: set[str] = set()  # uids of evicted pods

    async def all(self) -> Result:
        where = "start"
        try:
            scenario = self.scenario
            await self.backend.start(scenario.scheduler_conf, scenario.settings, scenario.operators)
            where = "given"
            await self._steps.create(self.scenario.given, where)
            await self.backend.rest()
            for index, step in enumerate(self.scenario.steps):
                where = f"steps[{index}].{step.verb}"
                await self._step(step, where)
            where = "expect"
            await self._check(self.scenario.expect, where)
        except VcrayError as error:
            self.result.failures += [_told(problem, where) for problem in error.problems]
        finally:
            await self.backend.stop()
        return self.result

    async def _step(self, step: Step, where: str) -> None:
        value = getattr(step, step.verb)
        match step.verb:
            case "cycles":
                for _ in range(value):
                    await self._cycle(where)
            case "settle":
                await self._settle(where)
            case "expect":
                await self._check(value, where)
            case "advance":
                await self.backend.advance(seconds(value))
            case "load":
                await self.backend.measured({node: per_cents(spelled) for node, spelled in value.items()})
            case "refused":
                self.result.failures += await self._steps.refused(value, where)
            case _:
                await self._steps.act(step.verb, value, where)
        if step.verb not in ("cycles", "settle", "expect"):
            await self.backend.rest()

    # -- cycles and checks --------------------------------------------------------------------------------------

    async def _cycle(self, where: str) -> bool:
        """One cycle; True when it changed anything."""
        before = self.backend.version()
        await self.backend.cycle()
        self.result.cycles += 1
        await self._note_evictions()
        never = self.scenario.never
        if never is not None:
            place = f"{where}, cycle {self.result.cycles}: never"
            self.result.failures += [f"{place}.{key} held" for key in held(never, await self._seen(never))]
        return self.backend.version() != before

    async def _settle(self, where: str) -> None:
        still = 0
        for _ in range(SETTLE_CYCLES):
            still = 0 if await self._cycle(where) else still + 1
            if still == QUIET_CYCLES:
                return
        self.result.failures.append(f"{where}: still changing after {SETTLE_CYCLES} cycles")

    async def _note_evictions(self) -> None:
        """Evictions are told by their events, whoever asked for them; their pods are there for a cycle yet."""
        for event in (await self.backend.client.list(EVENTS, field_selector="reason=Evict")).items:
            about = dig(event, "involvedObject")
            uid, name = text(about, "uid"), text(about, "name")
            if text(about, "kind") != PODS.kind or uid in self._evictions:
                continue
            self._evictions.add(uid)
            try:
                pod = await self.backend.client.get(PODS, text(about, "namespace"), name)
            except NotFound:
                pod = {}
            self.result.evicted.append((name, group_of(pod)))

    async def _check(self, expected: Expectations, where: str) -> None:
        seen = await self._seen(expected)
        self.result.failures += [f"{where}.{each}" for each in failures(expected, seen)]

    async def _seen(self, expected: Expectations) -> Observed:
        metrics = self.backend.metrics() if expected.metrics else ""
        return await observe(self.backend.client, self.result.evicted, _kinds(expected), metrics)


def _told(problem: Problem, where: str) -> str:
    """A fault that ended a run, its code first."""
    inner = "" if problem.where in ("", where) else f"{problem.where}: "
    return f"{problem.code} {where}: {inner}{problem.what}"


def _kinds(expected: Expectations) -> Iterable[Resource]:
    return {resource: None for each in expected.objects if (resource := resolve(each.kind)) is not None}
