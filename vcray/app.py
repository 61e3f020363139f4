"""The composition root: the only place that knows concrete classes.

A `ControlPlane` is a scheduler and controllers on one API server. Each half has a runtime of its own, so that either can be
stopped and started anew while the other runs.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from vcray.actors.conf_source import find_source
from vcray.actors.deployment import COORDINATOR, components, plan
from vcray.actors.fleet import Connection, Fleet, Processes
from vcray.actors.local_runtime import ActiveTransport, Activity, LocalRuntime
from vcray.actors.messages import Accepted, Measured, Reconfigure, Round, RoundDone
from vcray.actors.parts import Facts, Place, build, facts_of
from vcray.actors.policies import policy_from
from vcray.actors.readiness import registered_within
from vcray.actors.room_asking import asks_room
from vcray.actors.runtime import Handle, Time
from vcray.actors.service import Service
from vcray.actors.timekeeping import WallTime
from vcray.api.meta import JsonObject
from vcray.api.resources import QUEUES
from vcray.config.roles import ADMISSION, CONTROLLERS, SCHEDULER
from vcray.config.scheduler import DEFAULT_CONF
from vcray.config.settings import Settings
from vcray.config.settings import load as load_settings
from vcray.controllers.queue import initial_queues
from vcray.core.decisions import Decisions
from vcray.core.usage import UsageTable
from vcray.errors import ConfigError, Problem, ServerError, VcrayError
from vcray.kube.auth import load as load_transport
from vcray.kube.client import KubeClient
from vcray.kube.errors import NOT_INSTALLED, AlreadyExists, ApiError, ResourceMissing
from vcray.kube.events import EventRecorder, Involved
from vcray.kube.pace import paced
from vcray.kube.substitutes import SubstitutingTransport
from vcray.kube.transport import Transport
from vcray.metrics import Metrics
from vcray.registry import discover

if TYPE_CHECKING:  # a control plane that serves a cluster needs no embedded one, whose import takes its time
    from vcray.cache.supposed import Wanted
    from vcray.sim.remote import RemoteWorld
    from vcray.sim.world import World

__all__ = ["CONTROLLERS", "SCHEDULER", "ControlPlane", "FleetPlane", "in_process", "on_server", "run"]

WEBHOOK_PATIENCE_S = 30.0
OTHERS_PATIENCE_S = 300.0
"""How long to wait for the registration of webhooks, by ourselves or by somebody else (api-controllers.md 5)."""
WEBHOOK_ATTEMPTS, WEBHOOK_PAUSE_S = 240, 0.25
"""How long to wait for webhooks that are registered and that ours, or another process, are about to serve."""


class _Plane:
    """What every control plane has: a connection of its own, settings, the policy in force, metrics."""

    def __init__(self, transport: Transport, facts: Facts, time: Time) -> None:
        self.settings = facts.settings
        self.time = time
        self.metrics = Metrics()
        self._facts = facts
        self._transport = transport
        self._registry = discover(folder=facts.settings.plugins_dir)
        self.policy = policy_from(facts.scheduler_conf, self._registry)
        for problem in self.policy.problems:
            self.metrics.config_problems.labels(code=problem.code).inc()

    async def tell(self, problems: Sequence[str], about: Involved) -> None:
        """Say on an object what is wrong with the configuration."""
        recorder = EventRecorder(self._client(), self.settings.scheduler_names[0], self.time)
        for problem in problems:
            with contextlib.suppress(VcrayError):
                await recorder.record(about, "Warning", "SchedulerConfiguration", problem)

    async def ensure_queues(self) -> None:
        """Create `root` and the default queue where they are missing; a webhook that is not yet served is waited for.

        They are the scheduler's to create."""
        if not self.settings.runs(SCHEDULER):
            return
        client = self._client()
        for queue in initial_queues(self.settings.default_queue):
            for left in reversed(range(WEBHOOK_ATTEMPTS)):
                if await self._create_queue(client, queue, may_wait=left > 0):
                    break
                await self.time.sleep(WEBHOOK_PAUSE_S)

    async def _create_queue(self, client: KubeClient, queue: JsonObject, may_wait: bool) -> bool:
        """Is it there now? False where it `may_wait` for a webhook that we, or another process, are about to serve."""
        try:
            await client.create(QUEUES, None, queue)
        except AlreadyExists:
            return True
        except ResourceMissing as error:
            raise ServerError(Problem("VC0404", self._transport.address, NOT_INSTALLED)) from error
        except ApiError as error:
            awaited = self.settings.admission or self.settings.only
            if error.code < 500 or not awaited or not may_wait:
                raise
            return False
        return True

    async def _await_webhooks(self, admission: Handle) -> None:
        """Until the API server knows of the webhooks: what is created before gets no defaults. ServerError VC0604."""
        own = self.settings.admission_registration == "own"
        patience_s = WEBHOOK_PATIENCE_S if own else OTHERS_PATIENCE_S
        if not await registered_within(admission, self.time, patience_s):
            what = f"the webhooks are not registered after {patience_s:.0f} s; the log says why"
            raise ServerError(Problem("VC0604", self._transport.address, what))

    def _client(self) -> KubeClient:
        return KubeClient(self._transport, "vcray-scheduler", sleep=self.time.sleep)


class ControlPlane(_Plane):
    """Scheduler and controllers on one API server, all in this process. `manual`: rounds run only by `round()`."""

    def __init__(
        self,
        transport: Transport,
        settings: Settings | None = None,
        scheduler_conf: str | None = None,
        time: Time | None = None,
        activity: Activity | None = None,
        manual: bool = False,
        frames: bool = False,
    ) -> None:
        self.activity = activity or Activity()
        text = DEFAULT_CONF if scheduler_conf is None else scheduler_conf
        facts = facts_of(settings or Settings(), text, manual)
        super().__init__(ActiveTransport(transport, self.activity), facts, time or WallTime())
        self._frames = frames
        self._halves: dict[str, LocalRuntime] = {}

    # -- life -------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Start every component, and create the queues that must exist before any but admission acts."""
        names = components(self.settings)
        if ADMISSION in names:
            await self.start_component(ADMISSION)
        await self.ensure_queues()
        for name in names:
            if name != ADMISSION:
                await self.start_component(name)
        if ADMISSION in names:
            await self._await_webhooks(self._halves[ADMISSION].handle(ADMISSION))

    async def stop(self) -> None:
        """Stop all components; nothing is lost, since all truth is in the API server."""
        for name in list(self._halves):
            await self.stop_component(name)

    async def start_component(self, name: str) -> None:
        """Start `scheduler` (the agent's, too), `controllers`, `integrations` or `admission`; it knows only what the API server tells."""
        runtime = LocalRuntime(self.time, self._frames, self.activity)
        self._halves[name] = runtime

        def reach(part: str) -> Handle:
            return self._half_of(part, runtime).handle(part)

        place = Place(self._facts, runtime, self._transport, self.metrics, reach, self._registry)
        for part in components(self.settings)[name]:
            await build(place, part)

    async def stop_component(self, name: str) -> None:
        """Stop a component: it begins nothing more and waits for writes that are under way; admission takes its registration
        back, where the settings say so."""
        await self._halves.pop(name).stop()

    def _half_of(self, part: str, own: LocalRuntime) -> LocalRuntime:
        """The runtime of a part: that of the asker, unless another component that runs has it."""
        others = (each for each in self._halves.values() if each is not own)
        return next((each for each in (own, *others) if each.has(part)), own)

    def handles(self) -> list[Handle]:
        """All running actors."""
        return [handle for each in self._halves.values() for handle in each.handles()]

    async def round(self) -> Decisions:
        """One whole round now, its writes done; the scheduler must run in manual mode."""
        runtime = self._halves.get(SCHEDULER)
        if runtime is None:
            return Decisions(0)
        answer = await runtime.handle(COORDINATOR).ask(Round())
        assert isinstance(answer, RoundDone)
        return answer.decisions

    async def measured(self, usage: UsageTable) -> None:
        """Tell the scheduler what nodes really use, as a metrics source would."""
        runtime = self._halves.get(SCHEDULER)
        if runtime is not None:
            await runtime.handle(COORDINATOR).send(Measured(usage))

    async def room(self, wanted: Sequence[Wanted]) -> Sequence[int | None]:
        """How many of these pods would have a place now (`vcray.foresight.room`); empty while no scheduler runs."""
        runtime = self._halves.get(SCHEDULER)
        return () if runtime is None else await asks_room(runtime.handle)(wanted)

    async def reconfigure(self, text: str) -> Accepted:
        """Put a new configuration in force, or keep the last good one."""
        answer = await self._halves[SCHEDULER].handle(COORDINATOR).ask(Reconfigure(text))
        assert isinstance(answer, Accepted)
        if answer.in_force:
            self._facts = replace(self._facts, scheduler_conf=text)
        return answer

    def exposition(self) -> bytes:
        """The Prometheus text of all metrics."""
        return self.metrics.expose()

    def health(self) -> str:
        """Empty: what runs in this process runs."""
        return ""


class FleetPlane(_Plane):
    """The same parts in other processes, as the layout of the settings says."""

    def __init__(
        self, transport: Transport, facts: Facts, processes: Processes, connection: Connection
    ) -> None:
        super().__init__(transport, facts, WallTime())
        hosts = plan(self.settings.layout, self.settings)
        self.fleet = Fleet(processes, hosts, facts, connection, self.metrics, _say_line)

    async def start(self) -> None:
        """Start all hosts, and create the queues that must exist."""
        if not self.settings.admission:
            await self.ensure_queues()
        await self.fleet.start()
        if self.settings.admission:
            await self.ensure_queues()
            await self._await_webhooks(self.fleet.handle(ADMISSION))

    async def stop(self) -> None:
        """Close the hosts and end their processes."""
        await self.fleet.stop()

    def handles(self) -> list[Handle]:
        """All actors, with the statistics of the last look."""
        return list(self.fleet.handles())

    async def reconfigure(self, text: str) -> Accepted:
        """Put a new configuration in force, or keep the last good one; hosts opened from now on begin with it."""
        answer = await self.fleet.ask(COORDINATOR, Reconfigure(text))
        assert isinstance(answer, Accepted)
        if answer.in_force:
            self.fleet.facts = replace(self.fleet.facts, scheduler_conf=text)
        return answer

    def exposition(self) -> bytes:
        """The Prometheus text of all processes' metrics."""
        return self.fleet.exposition()

    def health(self) -> str:
        """Empty when all is well, else one sentence."""
        return self.fleet.health()


def _say_line(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _changed(settings: Settings | None, given: JsonObject) -> Settings:
    """The settings with some set anew. ConfigError VC0502."""
    return (settings or Settings()).model_copy(update=load_settings(given, {}).model_dump(include=set(given)))


def in_process(order: int = 0, settings: Settings | None = None, frames: bool = False) -> World:
    """A whole cluster in this process, for scenarios: rounds on demand, virtual time."""

    def make(
        transport: Transport, scheduler_conf: str, given: JsonObject, time: Time, activity: Activity
    ) -> ControlPlane:
        chosen = _changed(settings, given)
        return ControlPlane(transport, chosen, scheduler_conf, time, activity, manual=True, frames=frames)

    from vcray.sim.world import World

    return World(make, order)


def on_server(transport: Transport, settings: Settings | None = None) -> Callable[[int], RemoteWorld]:
    """Scenarios on a server beside us, one after the other: each order gives a world, to be used once."""

    def make(
        transport: Transport, scheduler_conf: str, given: JsonObject, time: Time, activity: Activity
    ) -> ControlPlane:
        return ControlPlane(transport, _changed(settings, given), scheduler_conf, time, activity, manual=True)

    from vcray.sim.remote import RemoteWorld

    return lambda order: RemoteWorld(make, transport, order)


async def run(
    settings: Settings,
    kubeconfig: Path | None = None,
    context: str | None = None,
    say: Callable[[str], None] = print,
    server: str | None = None,
) -> None:
    """`vcray run`: connect, take the lease if told to, run until SIGINT or SIGTERM. Raises VcrayError when it cannot start.

    `say` hears one line when all is ready; `server` is an address in place of the kubeconfig's."""
    transport = SubstitutingTransport(await load_transport(kubeconfig, context, server))
    try:
        source = await find_source(settings, KubeClient(transport, "vcray"))
        plane = _plane(transport, settings, source.text, Connection(kubeconfig, context, server))
        if settings.strict and plane.policy.problems:
            raise ConfigError(plane.policy.problems)
        await Service(plane, transport, source, say).run()
    finally:
        await transport.close()


def _plane(
    transport: Transport, settings: Settings, text: str, connection: Connection
) -> ControlPlane | FleetPlane:
    if settings.runtime == "local":
        return ControlPlane(paced(transport, settings.kube_api_qps, settings.kube_api_burst), settings, text)
    from vcray.actors.ray_ground import found_address
    from vcray.actors.ray_runtime import RayRuntime

    processes = RayRuntime(found_address(settings.ray_address, os.environ))
    return FleetPlane(transport, facts_of(settings, text), processes, connection)
