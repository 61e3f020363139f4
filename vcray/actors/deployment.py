"""Which actors share a process: a table, never a code path.

A part is one actor with what feeds it (`vcray.actors.parts` builds it); a host is one process with some parts. Which hosts
are opened anew when one is lost follows from who holds what: whoever sends rows to a lost cache, or holds rows that a lost
cache sent, begins again from the API server; so does the binder when its coordinator is lost, since what it still had to do
was decided by somebody who is no more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from vcray.config.roles import ADMISSION, AGENT_SCHEDULER, CONTROLLERS, INTEGRATIONS, SCHEDULER
from vcray.config.settings import Settings

Layout: TypeAlias = Literal["small", "standard", "huge"]

BINDER: Final = "binder"
AGENT_BINDER: Final = "agent-binder"
COORDINATOR: Final = "coordinator"
ROUTER: Final = "router"
CLUSTER: Final = "cache-cluster"


@dataclass(frozen=True, slots=True)
class HostPlan:
    """One process. `parts` in the order of their start; `reopens`: hosts that are opened anew, in this order, when it is
    lost."""

    name: str
    parts: tuple[str, ...]
    reopens: tuple[str, ...]


def pool(index: int) -> str:
    """The part that holds one node pool's rows (and, in layout huge, scores them)."""
    return f"cache-{index}"


def components(settings: Settings) -> Mapping[str, tuple[str, ...]]:
    """Component -> its parts, both in order of their start: what can be stopped and started by itself in one process.

    Admission comes first: webhooks that a killed process left registered refuse all writes until somebody serves them."""
    parts: dict[str, tuple[str, ...]] = {}
    if settings.runs(ADMISSION):
        parts[ADMISSION] = (ADMISSION,)
    if settings.runs(CONTROLLERS):
        parts[CONTROLLERS] = (CONTROLLERS,)
    if settings.runs(INTEGRATIONS):
        parts[INTEGRATIONS] = (INTEGRATIONS,)
    if settings.runs(SCHEDULER) or settings.runs(AGENT_SCHEDULER):
        parts[SCHEDULER] = (*_binders(settings), COORDINATOR, *_pools(settings), CLUSTER, ROUTER)
    return parts


def plan(layout: Layout, settings: Settings) -> tuple[HostPlan, ...]:
    """The hosts of a layout, in order of their start; where only some components run, those that have parts."""
    wanted = components(settings)
    if layout == "small":
        parts = tuple(part for of_component in wanted.values() for part in of_component)
        return (HostPlan("vcray", parts, ("vcray",)),)
    beside = (
        HostPlan(CONTROLLERS, wanted.get(CONTROLLERS, ()), (CONTROLLERS,)),
        HostPlan(INTEGRATIONS, wanted.get(INTEGRATIONS, ()), (INTEGRATIONS,)),
        HostPlan(ADMISSION, wanted.get(ADMISSION, ()), (ADMISSION,)),
    )
    scheduling = _scheduling(layout, settings) if SCHEDULER in wanted else ()
    return tuple(host for host in (*scheduling, *beside) if host.parts or not settings.only)


def _scheduling(layout: Layout, settings: Settings) -> tuple[HostPlan, ...]:
    """The hosts of a scheduler that is not in one process."""
    pools = _pools(settings)
    binder = HostPlan(BINDER, _binders(settings), (BINDER,))
    if layout == "standard":
        whole = (BINDER, SCHEDULER)
        return (binder, HostPlan(SCHEDULER, (COORDINATOR, *pools, CLUSTER, ROUTER), whole))
    chain = (BINDER, *pools, SCHEDULER)
    return (
        binder,
        *(HostPlan(each, (each,), chain) for each in pools),
        HostPlan(SCHEDULER, (COORDINATOR, CLUSTER, ROUTER), chain),
    )


def _binders(settings: Settings) -> tuple[str, ...]:
    return (BINDER, AGENT_BINDER) if settings.agent_scheduler_names else (BINDER,)


def homes(hosts: tuple[HostPlan, ...]) -> dict[str, str]:
    """Part -> the host that it is in."""
    return {part: host.name for host in hosts for part in host.parts}


def _pools(settings: Settings) -> tuple[str, ...]:
    return tuple(pool(index) for index in range(settings.pools))
