"""Volcano's `rescheduling`: now and then pods of overloaded nodes are evicted, so that they start anew on idle ones.

Needs the action `shuffle`, which evicts what is named here, and a metrics source. Strategy lowNodeUtilization: while a node is above
its target in cpu or memory, and the idle nodes have headroom, its pods of least priority go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Final, NamedTuple, Self

import numpy as np
from pydantic import Field, JsonValue

from vcray.api.duration import DurationError, duration_seconds
from vcray.config.nested import known_keys, unknown_key
from vcray.core.arrays import Bool, Float, Int
from vcray.core.nodeloads import NodeLoads
from vcray.core.plugin import Args, Plugin
from vcray.core.space import CPU, MEMORY
from vcray.core.view import View
from vcray.errors import Problem, did_you_mean

WORK: Final = "rescheduling"
STRATEGY: Final = "lowNodeUtilization"
PARAMS: Final = ("thresholds", "targetThresholds")
UNREAD: Final = ("thresholdPriorityClassName", "nodeFit")
"""Parameters that Volcano declares and never reads; `vcray check` warns of them."""
UNREAD_LIMIT: Final = "pods"
"""A limit that Volcano documents and never reads."""
CLASSES: Final = ("BestEffort", "Burstable", "Guaranteed")
EVERY_S: Final = 300.0


class ReschedulingArgs(Args):
    """See docs/plugins/rescheduling.md. Volcano documents `queues` and `labels`, and reads neither."""

    durations: ClassVar[tuple[str, ...]] = ("interval",)

    interval: str = Field("5m", alias="interval")
    period: str = Field("5m", alias="metricsPeriod")
    strategies: JsonValue = Field(None, alias="strategies")
    queues: JsonValue = Field(None, alias="queueSelector")
    labels: JsonValue = Field(None, alias="labelSelector")

    @classmethod
    def read(cls, given: Mapping[str, JsonValue], where: str) -> tuple[Self, list[Problem]]:
        """As `Args.read`, with what is wrong inside the strategies."""
        args, problems = super().read(given, where)
        return args, [
            *problems,
            *(Problem("VC0108", f"{where}.{key}", what) for key, what in _strategies(args)[1]),
        ]

    def seconds(self) -> float:
        """The interval; five minutes for what is no duration."""
        try:
            return duration_seconds(self.interval)
        except DurationError:
            return EVERY_S


class Limits(NamedTuple):
    """Per cents of cpu and memory: below `low` in both a node is idle, above `target` in one it is overloaded."""

    low: tuple[float, float]
    target: tuple[float, float]


class Rescheduling(Plugin[ReschedulingArgs]):
    """Moves pods from overloaded nodes to idle ones."""

    args_model = ReschedulingArgs

    def open(self, view: View) -> None:
        """When the next run is due; the first is one interval after the start."""
        timing = view.snapshot.timing
        last = timing.last(WORK)
        self.due_ = (timing.started if last is None else last) + self.args.seconds()
        self.ran_ = False

    def victim_tasks(self, view: View, tasks: Int) -> Bool:
        """The pods that each strategy wants gone, once an interval."""
        named = np.zeros(len(tasks), dtype=np.bool_)
        if view.snapshot.now < self.due_:
            return named
        self.ran_ = True
        for limits in _strategies(self.args)[0]:
            named |= low_node_utilization(view, tasks, limits)
        return named

    def wakes_at(self, view: View) -> float | None:
        """The next run."""
        return view.snapshot.now + self.args.seconds() if self.ran_ else self.due_

    def ran(self, view: View) -> Sequence[str]:
        """A look counts as run, whatever it named."""
        return (WORK,) if self.ran_ else ()


def low_node_utilization(view: View, tasks: Int, limits: Limits) -> Bool:
    """(k,) pods of overloaded nodes that idle ones have headroom for."""
    snapshot = view.snapshot
    nodes, loads = snapshot.nodes, NodeLoads(snapshot)
    usage = np.stack([loads.cpu, loads.memory])
    low, target = np.array([limits.low]).T, np.array([limits.target]).T
    idle = loads.known & ~nodes.unschedulable & (usage < low).all(axis=0)
    loaded = loads.known & ~idle & (usage > target).any(axis=0)
    named = np.zeros(len(tasks), dtype=np.bool_)
    if not idle.any() or not loaded.any() or idle.all():
        return named
    rows = np.flatnonzero(idle).tolist()
    headroom = [
        _headroom(usage[d], nodes.allocatable[r], limits.target[d], rows) for d, r in enumerate((CPU, MEMORY))
    ]
    capacity = np.stack([loads.cpu_capacity, loads.memory_capacity])
    for node in sorted(
        np.flatnonzero(loaded).tolist(), key=lambda n: (-float(usage[:, n].sum()), nodes.names[n])
    ):
        held = usage[:, node].tolist()
        for position in _cheapest_first(view, tasks, node):
            if min(headroom) <= 0 or not any(held[d] >= limits.target[d] for d in (0, 1)):
                break
            request = view.shapes[int(snapshot.tasks.shape[tasks[position]])].req
            for d, r in enumerate((CPU, MEMORY)):
                headroom[d] -= request[r]
                held[d] -= 100 * request[r] / capacity[d, node] if capacity[d, node] else 0.0
            named[position] = True
    return named


def _headroom(usage: Float, allocatable: Int, target: float, rows: list[int]) -> float:
    """What idle nodes can take of a resource before they reach the target; summed in an order that rows do not tell."""
    return sum(sorted(float((target - usage[row]) / 100 * allocatable[row]) for row in rows))


def _cheapest_first(view: View, tasks: Int, node: int) -> Iterator[int]:
    """Positions of the tasks on a node: no priority first, then the lower, then by Kubernetes class and name."""
    table, facts = view.snapshot.tasks, view.snapshot.pod_facts

    def key(position: int) -> tuple[bool, int, int, str]:
        task = int(tasks[position])
        of = facts[int(table.facts[task])]
        return of.priority is not None, of.priority or 0, CLASSES.index(of.qos), table.names[task]

    return iter(sorted(np.flatnonzero(table.node[tasks] == node).tolist(), key=key))


def _strategies(args: ReschedulingArgs) -> tuple[list[Limits], list[tuple[str, str]]]:
    """The strategies that are known, and what is wrong with the list."""
    noted: list[tuple[str, str]] = []
    if args.strategies is None:
        return [Limits((100.0, 100.0), (100.0, 100.0))], noted
    if not isinstance(args.strategies, list):
        return [], [("strategies", "must be a list of maps with `name` and `params`")]
    found = []
    for number, entry in enumerate(args.strategies):
        where = f"strategies[{number}]"
        table, wrong = known_keys(entry if isinstance(entry, dict) else {}, ("name", "params"))
        noted += [(f"{where}.{key}", what) for key, what in wrong.items()]
        name, params = table.get("name"), table.get("params") or {}
        if name != STRATEGY:
            near = did_you_mean(str(name), [STRATEGY])
            noted.append((f"{where}.name", f"unknown strategy {name!r} has no effect{near}"))
            continue
        if not isinstance(params, dict):
            noted.append((f"{where}.params", "must be a map"))
            params = {}
        noted += [
            (f"{where}.params.{key}", unknown_key(key, PARAMS))
            for key in params
            if key not in (*PARAMS, *UNREAD)
        ]
        low, target = (_limits(params, key, where, noted) for key in PARAMS)
        found.append(Limits(low, target))
    return found, noted


def _limits(
    params: Mapping[str, JsonValue], key: str, where: str, noted: list[tuple[str, str]]
) -> tuple[float, float]:
    """Per cents of cpu and memory, 100 where nothing is said."""
    table = params.get(key)
    out = {"cpu": 100.0, "memory": 100.0}
    for name, value in table.items() if isinstance(table, dict) else ():
        if name == UNREAD_LIMIT:
            continue
        if name not in out:
            noted.append((f"{where}.params.{key}.{name}", unknown_key(name, out)))
        elif isinstance(value, bool) or not isinstance(value, int):
            noted.append(
                (f"{where}.params.{key}.{name}", f"must be a whole number of per cent, got {value!r}")
            )
        else:
            out[name] = float(value)
    if table is not None and not isinstance(table, dict):
        noted.append((f"{where}.params.{key}", "must be a map of cpu and memory to per cents"))
    return out["cpu"], out["memory"]
