"""How each part of a control plane is built, from plain data alone, so that any process can build it.

`Facts` cross processes; a `Place` is one process's surroundings: its runtime, its connection, its metrics, and a way to
reach parts that are elsewhere. A builder starts one part with the watches that feed it, and imports what it needs itself:
a process that holds one part loads no other.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from vcray.actors.deployment import (
    AGENT_BINDER,
    BINDER,
    CLUSTER,
    COORDINATOR,
    ROUTER,
    pool,
)
from vcray.actors.runtime import Actor, Handle, Runtime, Time
from vcray.actors.watches import for_scheduler, one_object, watch, watch_all
from vcray.api.meta import JsonObject
from vcray.api.names import SCHEDULER_NAME
from vcray.api.resources import (
    CONFIGMAPS,
    CSIDRIVERS,
    CSINODES,
    CSISTORAGECAPACITIES,
    DEVICECLASSES,
    HYPERNODES,
    KUBERNETES_RESOURCES,
    NAMESPACES,
    NATIVE_GANG_RESOURCES,
    NODES,
    NODESHARDS,
    NUMATOPOLOGIES,
    PERSISTENTVOLUMECLAIMS,
    PERSISTENTVOLUMES,
    PODDISRUPTIONBUDGETS,
    PODGROUPS,
    PODS,
    PRIORITYCLASSES,
    QUEUES,
    REPLICASETS,
    REPLICATIONCONTROLLERS,
    RESOURCECLAIMS,
    RESOURCEQUOTAS,
    RESOURCESLICES,
    SERVICES,
    STATEFULSETS,
    STORAGECLASSES,
    VOLCANO_RESOURCES,
    Resource,
)
from vcray.config.roles import ADMISSION, CONTROLLERS, INTEGRATIONS, SCHEDULER
from vcray.config.scheduler import AGENT_CONF, DEFAULT_CONF
from vcray.config.settings import Settings
from vcray.core.pools import Scorers
from vcray.errors import ConfigError, Problem
from vcray.kube.client import KubeClient
from vcray.kube.transport import Transport
from vcray.kube.watch import watch_heads
from vcray.metrics import Metrics
from vcray.registry import Registry, discover

if TYPE_CHECKING:
    from vcray.actors.agent import AgentPath
    from vcray.cache.keeps import Keeps

CLUSTER_RESOURCES: tuple[Resource, ...] = (
    PODGROUPS,
    QUEUES,
    PRIORITYCLASSES,
    PERSISTENTVOLUMECLAIMS,
    STORAGECLASSES,
    NAMESPACES,
    SERVICES,
    REPLICASETS,
    REPLICATIONCONTROLLERS,
    STATEFULSETS,
    HYPERNODES,
    PODDISRUPTIONBUDGETS,
    PERSISTENTVOLUMES,
    CSINODES,
    CSIDRIVERS,
    CSISTORAGECAPACITIES,
    RESOURCECLAIMS,
    RESOURCESLICES,
    DEVICECLASSES,
    CONFIGMAPS,
    NUMATOPOLOGIES,
    RESOURCEQUOTAS,
)
"""What the scheduler reads besides pods and nodes."""


def read_by_scheduler(settings: Settings) -> tuple[Resource, ...]:
    """What the scheduler watches."""
    left = () if settings.priority_class else (PRIORITYCLASSES,)
    shards = () if settings.scheduler_sharding_mode == "none" else (NODESHARDS,)
    return (PODS, NODES, *(resource for resource in CLUSTER_RESOURCES if resource not in left), *shards)


MAILBOX: Final = 4096
"""Messages that the two busiest actors may have waiting."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What all parts of a control plane have in common. `manual`: rounds run only when asked for."""

    settings: Settings = field(default_factory=Settings)
    scheduler_conf: str = DEFAULT_CONF
    manual: bool = False
    agent_conf: str = AGENT_CONF


def facts_of(settings: Settings, scheduler_conf: str, manual: bool = False) -> Facts:
    """The facts, with the configuration of the agent's fast path read. ConfigError VC0502 when it cannot be."""
    path = settings.agent_scheduler_conf
    if path is None:
        return Facts(settings, scheduler_conf, manual)
    try:
        return Facts(settings, scheduler_conf, manual, path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        what = f"{path} cannot be read: {reason}"
        raise ConfigError(Problem("VC0502", "--agent-scheduler-conf", what)) from error


@dataclass(frozen=True, slots=True)
class Place:
    """Where a part is built. `reach` gives the handle of any part, here or elsewhere."""

    facts: Facts
    runtime: Runtime
    transport: Transport
    metrics: Metrics
    reach: Callable[[str], Handle]
    registry: Registry | None = None
    """Extensions that were found already."""
    scorers: Callable[[Sequence[str]], Scorers] | None = None
    """The way to the scorers of these parts, when they are in other processes."""

    @property
    def time(self) -> Time:
        return self.runtime.time

    def extensions(self) -> Registry:
        """The extensions there are, those in the users' folder among them."""
        return self.registry or discover(folder=self.facts.settings.plugins_dir)

    def client(self, name: str) -> KubeClient:
        """A client that says of itself that it is this component."""
        return KubeClient(self.transport, f"vcray-{name}", sleep=self.time.sleep)


async def build(place: Place, part: str) -> None:
    """Start one part; those in the same process that it talks to must have been started before."""
    kind = part if part in _BUILDERS else "cache"
    await _BUILDERS[kind](place, part)


async def _binder(place: Place, part: str) -> None:
    """The binder of rounds, or that of the agent's fast path: each with its own name in events."""
    from vcray.actors.binder import Binder
    from vcray.actors.status_writer import StatusWriter
    from vcray.kube.events import EventRecorder

    settings = place.facts.settings
    lifting = settings.gate_removal_worker_num if settings.gate_removal_worker_num >= 1 else 5
    if part == AGENT_BINDER:
        scheduler = settings.agent_scheduler_names[0]
    else:
        scheduler = settings.scheduler_names[0] if len(settings.scheduler_names) == 1 else SCHEDULER_NAME
    client = place.client("scheduler")
    writer = StatusWriter(client, EventRecorder(client, scheduler, place.time), place.time, scheduler)
    await place.runtime.spawn(
        part, lambda: Binder(client, writer, place.time, place.metrics, lifting=lifting)
    )


async def _coordinator(place: Place, part: str) -> None:
    from vcray.actors.coordinator import Coordinator
    from vcray.actors.nodemetrics import NodeMetrics
    from vcray.actors.policies import Policies, policy_at_restart, policy_from
    from vcray.actors.scoring import Decider
    from vcray.actors.shards import sources
    from vcray.cache.merge import Merge
    from vcray.core.pools import LocalScorers
    from vcray.core.shardrules import with_shard

    settings, manual = place.facts.settings, place.facts.manual
    resources = read_by_scheduler(settings)
    registry = place.extensions()
    policy = policy_at_restart(place.facts.scheduler_conf, registry)

    mode = settings.scheduler_sharding_mode
    shard = (settings.scheduler_sharding_name, mode)
    gates = settings.scheduling_gates_queue_admission
    names: tuple[str, ...] = (shard[0],) if settings.runs(SCHEDULER) else ()
    names += (settings.agent_sharding_name,) if settings.agent_scheduler_names else ()

    pools: Scorers | None = None
    blocking = False
    if settings.layout == "huge":
        if place.scorers is None:
            pools = LocalScorers(
                settings.pools, lambda text: with_shard(policy_from(text, registry.refreshed()), *shard)
            )
        else:
            pools, blocking = place.scorers([pool(index) for index in range(settings.pools)]), True
    decider = Decider(settings.scorers, pools, settings.fan_out_nodes, blocking, place.metrics.fanned_out.inc)

    def make() -> Actor:
        return Coordinator(
            Merge(),
            policy,
            registry,
            place.reach(BINDER),
            place.time,
            place.metrics,
            sources((each.full_name for each in resources), settings.pools),
            settings.seed,
            decider,
            settings.coalesce_ms / 1000,
            manual,
            0.0 if manual else settings.schedule_period_s,
            place.facts.scheduler_conf,
            told_of_conf=measures.follow,
            agent=_agent(place, registry),
            policies=Policies(registry, place.metrics, settings.plugin_budget_ms / 1000, shard, gates),
            shard_names=() if mode == "none" else names,
            batch=settings.runs(SCHEDULER),
        )

    measures = NodeMetrics(place.transport, lambda: place.runtime.handle(part), place.time, place.metrics)
    measures.follow(place.facts.scheduler_conf)
    await place.runtime.spawn(part, make, MAILBOX)
    if not manual:  # a scenario tells loads itself
        place.runtime.background("node metrics", measures.run)


def _agent(place: Place, registry: Registry) -> tuple[AgentPath, Handle] | None:
    """The agent's fast path with its binder, unless it is switched off."""
    from vcray.actors.agent import AgentPath
    from vcray.actors.policies import policy_from
    from vcray.core.shardrules import with_shard

    settings = place.facts.settings
    if not settings.agent_scheduler_names:
        return None
    policy = with_shard(
        policy_from(place.facts.agent_conf, registry),
        settings.agent_sharding_name,
        settings.scheduler_sharding_mode,
    )
    backfill = policy_from('actions: "backfill"', registry)
    return AgentPath(policy, backfill, place.metrics, settings.seed), place.reach(AGENT_BINDER)


async def _shard(place: Place, part: str) -> None:
    from vcray.actors.shards import ShardActor
    from vcray.cache.shard import CacheShard

    settings = place.facts.settings
    index = settings.pools if part == CLUSTER else int(part.rpartition("-")[2])
    keeps = keeps_of(settings)
    coordinator = place.reach(COORDINATOR)
    await place.runtime.spawn(part, lambda: ShardActor(CacheShard(index, keeps), coordinator))


def keeps_of(settings: Settings) -> Keeps:
    """Which objects the caches are for."""
    from vcray.cache.keeps import Keeps, node_selector
    from vcray.cache.ring import Ring

    shared = settings.multi_scheduler_enable
    return Keeps(
        schedulers=frozenset(settings.scheduler_names if settings.runs(SCHEDULER) else ()),
        agents=frozenset(settings.agent_scheduler_names),
        nodes=node_selector(settings.node_selector),
        ring=Ring.of(settings.scheduler_pod_name, settings.scheduler_num) if shared else None,
    )


async def _router(place: Place, part: str) -> None:
    from vcray.actors.shards import RouterActor
    from vcray.cache.shard import Router

    pools = place.facts.settings.pools
    shards = [place.reach(name) for name in (*map(pool, range(pools)), CLUSTER)]
    router = await place.runtime.spawn(part, lambda: RouterActor(Router(pools), shards))
    client = place.client("scheduler")
    for resource in read_by_scheduler(place.facts.settings):
        watch(place, for_scheduler(client, resource, place.facts.scheduler_conf), router)


async def _controllers(place: Place, part: str) -> None:
    from vcray.actors.hosted import configmaps_of, controllers_of, integrations_of, reads_names_alone
    from vcray.actors.keys import make_aside, make_here
    from vcray.actors.reconciler import ControllerHost
    from vcray.actors.timekeeping import WallTime
    from vcray.kube.events import EventRecorder

    client = place.client("controllers")
    events = EventRecorder(client, "vc-controller-manager", place.time)
    settings = place.facts.settings
    make_keys = make_aside if isinstance(place.time, WallTime) else make_here
    configmaps = configmaps_of(settings)
    host = ControllerHost(
        controllers_of(settings, integrations_of(settings, place.extensions())),
        client,
        events,
        place.time,
        place.metrics,
        make_keys=make_keys,
        only={CONFIGMAPS: configmaps},
    )
    handle = await place.runtime.spawn(part, lambda: host, MAILBOX)
    for each in configmaps:
        watch(place, one_object(client, CONFIGMAPS, each), handle)
    others = [each for each in host.watched if each != CONFIGMAPS]
    if NODES in others and reads_names_alone(settings):
        others.remove(NODES)
        watch(place, watch_heads(client, NODES), handle)
    watch_all(place, client, others, handle)


async def _integrations(place: Place, part: str) -> None:
    from vcray.actors.hosted import integrations_of
    from vcray.actors.installed import watch_installed
    from vcray.actors.raydashboards import follow_dashboards
    from vcray.actors.reconciler import ControllerHost
    from vcray.integrations.keeping import GroupKeeper
    from vcray.integrations.trails import Trails
    from vcray.kube.events import EventRecorder

    client = place.client("integrations")
    settings = place.facts.settings
    integrations = integrations_of(settings, place.extensions())
    trails = Trails(integrations)
    own = {kind for each in integrations for kind in each.kinds if kind in KUBERNETES_RESOURCES}

    def keeps(resource: Resource) -> Callable[[JsonObject], bool]:
        return lambda obj: trails.speaker(resource, obj) is not None

    host = ControllerHost(
        (GroupKeeper(integrations, settings.scheduler_names),),
        client,
        EventRecorder(client, "vcray-integrations", place.time),
        place.time,
        place.metrics,
        keeps={**{kind: keeps(kind) for kind in own}, PODS: trails.may_own},
        counts=False,
    )
    handle = await place.runtime.spawn(part, lambda: host, MAILBOX)
    served = (*KUBERNETES_RESOURCES, *VOLCANO_RESOURCES, *NATIVE_GANG_RESOURCES)
    always = [each for each in host.watched if each in served]
    watch_all(place, client, always, handle)
    others = [each for each in host.watched if each not in always]
    watch_installed(place, client, others, handle)
    follow_dashboards(place, client, host)


async def _admission(place: Place, part: str) -> None:
    from vcray.actors.admission import AdmissionActor, AdmissionOptions
    from vcray.actors.admission_view import watched_for
    from vcray.actors.hosted import integrations_of
    from vcray.actors.room_asking import Gathered, asks_room

    client, settings = place.client("admission"), place.facts.settings
    options = AdmissionOptions.of(settings, integrations_of(settings, place.extensions()))
    room = Gathered(asks_room(place.reach))
    actor = await place.runtime.spawn(
        part, lambda: AdmissionActor(client, options, place.time, place.metrics, room)
    )
    watch_all(place, client, watched_for(options.services), actor)


_BUILDERS: Mapping[str, Callable[[Place, str], Awaitable[None]]] = {
    ADMISSION: _admission,
    AGENT_BINDER: _binder,
    BINDER: _binder,
    COORDINATOR: _coordinator,
    CONTROLLERS: _controllers,
    INTEGRATIONS: _integrations,
    ROUTER: _router,
    "cache": _shard,
}
