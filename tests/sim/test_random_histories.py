"""Random histories of a whole control plane: jobs come and go, pods fail, nodes and components too, events are late, watches
break. Whatever happened, when all is quiet again nothing is overbooked, half bound, forgotten or stuck."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import pytest

from vcray.api.jsonview import dig
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.podresources import resource_amounts
from vcray.app import in_process
from vcray.errors import VcrayError
from vcray.sim.observed import Observed, belongs, group_of, observe, text
from vcray.sim.scenario import Objects, Step
from vcray.sim.steps import Steps
from vcray.sim.world import World

ENDED = ("Succeeded", "Failed")
MIDWAY = ("", "Restarting", "Aborting", "Terminating", "Completing")
ACTIONS = ("RestartJob", "RestartTask", "RestartPod", "AbortJob", "CompleteJob", "TerminateJob")
KA = "actions: allocate, backfill\ntiers: [{plugins: [{name: priority}, {name: gang}]}, {plugins: [%s]}]\n"
PLUGINS = "{name: drf}, {name: predicates}, {name: proportion}, {name: nodeorder}, {name: binpack}"
GATED = (KA % f"{{name: overcommit}}, {PLUGINS}").replace("allocate, b", "enqueue, allocate, b")


class History:
    """What happens in one run; the seed decides."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.jobs: list[str] = []
        self.down: set[str] = set()
        self.held: list[JsonObject] = []
        self.stopped: set[str] = set()
        dice = self.dice
        self.nodes: dict[str, JsonValue] = {
            f"n{i}": f"{dice.choice([2, 4, 6])}c" for i in range(dice.randint(1, 4))
        }
        self.queues: dict[str, JsonValue] = {"qa": {}, "qb": {"capability": f"{dice.randint(2, 8)}c"}}

    def steps(self) -> Iterator[Step]:
        verbs = "create create cycles cycles cycles finish delete command restart hold release node stop start disconnect"
        for _ in range(self.dice.randint(6, 16)):
            verb = self.dice.choice([*verbs.split(), "disconnect"])
            if not self.jobs or verb == "create":
                yield self._create()
            elif (step := getattr(self, f"_{verb}")()) is not None:
                yield Step.model_validate(step)
        for target in self.held:
            yield Step.model_validate({"release": target})
        for name in self.stopped:
            yield Step.model_validate({"start": name})
        for name in self.down:
            yield Step(node_up=name)

    def _create(self) -> Step:
        dice, tasks, replicas = self.dice, {}, 0
        for index in range(dice.randint(1, 2)):
            count = dice.randint(1, 3)
            replicas += count
            tasks[f"t{index}"] = {
                "size": f"{dice.randint(1, 2)}c",
                "replicas": count,
                "min": dice.randint(1, count),
            }
        job: dict[str, object] = {
            "queue": dice.choice(["qa", "qb", "default"]),
            "tasks": tasks,
            "priority": dice.choice([1, 10]),
            "maxRetry": dice.randint(1, 4),
        }
        if dice.random() < 0.6:
            job["min"] = dice.randint(1, replicas)
        if dice.random() < 0.6:
            event = dice.choice(["PodFailed", "PodEvicted", "TaskCompleted"])
            job["policies"] = [{"event": event, "action": dice.choice(ACTIONS)}]
        self.jobs.append(f"j{len(self.jobs)}")
        return Step(create=Objects.model_validate({"jobs": {self.jobs[-1]: job}}))

    def _pod(self) -> str:
        return f"{self.dice.choice(self.jobs)}-t{self.dice.randint(0, 1)}-{self.dice.randint(0, 2)}"

    def _cycles(self) -> JsonObject:
        return {"cycles": self.dice.randint(1, 3)}

    def _finish(self) -> JsonObject:
        return {"finish": {"pods": self._pod(), "code": self.dice.choice([0, 0, 1])}}

    def _delete(self) -> JsonObject:
        job: JsonObject = {"kind": "vcjob", "name": self.dice.choice(self.jobs)}
        return {"delete": self.dice.choice([job, {"kind": "Pod", "name": self._pod()}])}

    def _command(self) -> JsonObject:
        action = self.dice.choice(["AbortJob", "ResumeJob"])
        return {"command": {"action": action, "name": self.dice.choice(self.jobs)}}

    def _restart(self) -> JsonObject | None:
        return None if self.stopped else {"restart": self.dice.choice(["scheduler", "controllers", "all"])}

    def _hold(self) -> JsonObject:
        kind = self.dice.choice(["Pod", "PodGroup", "vcjob"])
        self.held.append({"kind": kind, "name": self.dice.choice(self.jobs) + self.dice.choice(["", "*"])})
        return {"hold": self.held[-1]}

    def _release(self) -> JsonObject | None:
        return {"release": self.held.pop()} if self.held else None

    def _node(self) -> JsonObject:
        name = self.dice.choice(list(self.nodes))
        self.down ^= {name}
        return {"node_down" if name in self.down else "node_up": name}

    def _disconnect(self) -> JsonObject:
        return {"disconnect": True}

    def _stop(self) -> JsonObject | None:
        if self.stopped:
            return None
        self.stopped.add(self.dice.choice(["scheduler", "controllers"]))
        return {"stop": next(iter(self.stopped))}

    def _start(self) -> JsonObject | None:
        return {"start": self.stopped.pop()} if self.stopped else None


def _cpu(amount: JsonValue) -> int:
    return resource_amounts({"cpu": str(amount or 0)}).get("cpu", 0)


def _used(pod: JsonObject) -> int:
    containers = dig(pod, "spec", "containers")
    assert isinstance(containers, list)
    return sum(_cpu(dig(each, "resources", "requests", "cpu")) for each in containers)


def _on_a_node(pod: JsonObject) -> bool:
    return bool(text(pod, "spec", "nodeName")) and text(pod, "status", "phase") not in ENDED


def _members(group: JsonObject, seen: Observed) -> list[JsonObject]:
    return [pod for pod in seen.pods if any(belongs(group, name) for name in (group_of(pod),) if name)]


def overbooked(seen: Observed) -> Iterator[str]:
    """Nodes with more cpu in use than they have."""
    for node in seen.nodes:
        name = text(node, "metadata", "name")
        used = sum(
            _used(pod) for pod in seen.pods if _on_a_node(pod) and text(pod, "spec", "nodeName") == name
        )
        if used > _cpu(dig(node, "status", "allocatable", "cpu")):
            yield f"{name} is overbooked: {used}"


def left_over(seen: Observed) -> Iterator[str]:
    """What must not be once all is quiet."""
    jobs = {text(job, "metadata", "name") for job in seen.jobs}
    for group in seen.groups:
        pods = _members(group, seen)
        phases = Counter(text(pod, "status", "phase") for pod in pods)
        bound = sum(_on_a_node(pod) for pod in pods)
        least = dig(group, "spec", "minMember")
        assert isinstance(least, int)
        if bound and not phases["Running"] and bound + phases["Succeeded"] + phases["Failed"] < least:
            yield f"{text(group, 'metadata', 'name')} is bound in part: {bound} of {least}"
        if not any(belongs(group, name) for name in jobs):
            yield f"{text(group, 'metadata', 'name')} is left without its job"
    for job in seen.jobs:
        yield from _job_faults(job, seen)
    for queue in seen.queues:
        yield from _queue_faults(queue, seen)


def _job_faults(job: JsonObject, seen: Observed) -> Iterator[str]:
    name, phase = text(job, "metadata", "name"), text(job, "status", "state", "phase")
    phases = Counter(text(pod, "status", "phase") for pod in seen.select(name))
    if phase in MIDWAY:
        yield f"{name} is stuck in {phase or 'no phase'}: {phases}"
    elif phase in ("Pending", "Running"):
        for key in ("pending", "running", "succeeded", "failed"):
            if (dig(job, "status", key) or 0) != phases[key.capitalize()]:
                yield f"{name} {phase} counts {key} {dig(job, 'status', key)}: {phases}"
    elif phases["Pending"] or phases["Running"]:
        yield f"{name} is {phase} but has pods: {phases}"


def _queue_faults(queue: JsonObject, seen: Observed) -> Iterator[str]:
    name = text(queue, "metadata", "name")
    used = sum(
        _used(pod)
        for group in seen.groups
        if (text(group, "spec", "queue") or "default") == name
        for pod in _members(group, seen)
        if _on_a_node(pod)
    )
    capability = dig(queue, "spec", "capability", "cpu")
    if capability is not None and used > _cpu(capability):
        yield f"queue {name} is over its capability: {used}"
    if name != "root" and _cpu(dig(queue, "status", "allocated", "cpu")) != used:
        yield f"queue {name} says {dig(queue, 'status', 'allocated', 'cpu')} and has {used}"


async def _quiet(world: World) -> bool:
    still = 0
    for _ in range(40):
        before = world.version()
        await world.cycle()
        still = still + 1 if world.version() == before else 0
        if still == 3:
            return True
    return False


async def _live(seed: int) -> list[str]:
    history, world = History(seed), in_process(seed % 7)
    steps, found = Steps(world, seed % 7), []
    await world.start(KA % PLUGINS if seed % 2 else GATED)
    try:
        await steps.create(Objects(nodes=history.nodes, queues=history.queues), "given")
        for step in history.steps():
            if step.cycles is not None:
                for _ in range(step.cycles):
                    await world.cycle()
                found += overbooked(await observe(world.client, ()))
                continue
            try:
                await steps.act(step.verb, getattr(step, step.verb), step.verb)
            except VcrayError:
                continue  # what it names is not there: nothing happens
            await world.rest()
        await world.advance(60)
        found += [] if await _quiet(world) else ["it does not come to rest"]
        seen = await observe(world.client, ())
        return [*found, *overbooked(seen), *left_over(seen)]
    finally:
        await world.stop()


@pytest.mark.parametrize("seed", range(24))
async def test_all_is_well_when_all_is_quiet(seed: int) -> None:
    assert await _live(seed) == []
