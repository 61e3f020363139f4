"""The composition root: the only place that knows concrete classes.

A `ControlPlane` is a scheduler and controllers on one API server. Each half has a runtime of its own, so that either can be
stopped as a crash would stop it and started anew.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import sys
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from vcray.actors.conf_source import ConfSource, Herald, find_source, follower_of
from vcray.actors.deployment import ADMISSION, CONTROLLERS, COORDINATOR, SCHEDULER, components, plan
from vcray.actors.fleet import Connection, Fleet, Processes
from vcray.actors.local_runtime import ActiveTransport, Activity, LocalRuntime
from vcray.actors.messages import Accepted, Measured, Reconfigure, Round, RoundDone
from vcray.actors.metrics_server import MetricsServer
from vcray.actors.parts import Facts, Place, build, facts_of
from vcray.actors.policies import policy_from
from vcray.actors.readiness import registered_within
from vcray.actors.runtime import Handle, Time
from vcray.actors.supervisor import Supervisor
from vcray.actors.timekeeping import WallTime
from vcray.api.meta import JsonObject
from vcray.api.resources import QUEUES
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
from vcray.kube.lease import Leadership, Timing
from vcray.kube.pace import paced
from vcray.kube.transport import Transport
from vcray.log import get_logger
from vcray.metrics import Metrics
from vcray.registry import discover

if TYPE_CHECKING:  # a control plane that serves a cluster needs no embedded one, whose import takes its time
    from vcray.sim.remote import RemoteWorld
    from vcray.sim.world import World

__all__ = ["CONTROLLERS", "SCHEDULER", "ControlPlane", "FleetPlane", "in_process", "on_server", "run"]

log = get_logger("app")

WEBHOOK_PATIENCE_S = 30.0
WEBHOOK_ATTEMPTS, WEBHOOK_PAUSE_S = 40, 0.25
"""How long to wait for webhooks that a killed process left registered and ours are about to serve."""


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
        """Create `root` and the default queue where they are missing; a webhook that is not yet served is waited for."""
        client = self._client()
        for queue in initial_queues(self.settings.default_queue):
            for attempt in range(WEBHOOK_ATTEMPTS):
                try:
                    await client.create(QUEUES, None, queue)
                except AlreadyExists:
                    pass
                except ResourceMissing as error:
                    raise ServerError(Problem("VC0404", self._transport.address, NOT_INSTALLED)) from error
                except ApiError as error:
                    if error.code < 500 or attempt == WEBHOOK_ATTEMPTS - 1 or not self.settings.admission:
                        raise
                    await self.time.sleep(WEBHOOK_PAUSE_S)
                    continue
                break

    async def _await_webhooks(self, admission: Handle) -> None:
        """Until the API server knows of the webhooks: what is created before gets no defaults. ServerError VC0604."""
        if not await registered_within(admission, self.time, WEBHOOK_PATIENCE_S):
            what = f"the webhooks are not registered after {WEBHOOK_PATIENCE_S:.0f} s; the log says why"
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
        first, *others = components(self.settings)
        if first != ADMISSION:
            await self.ensure_queues()
        await self.start_component(first)
        if first == ADMISSION:
            await self.ensure_queues()
        for name in others:
            await self.start_component(name)
        if first == ADMISSION:
            await self._await_webhooks(self._halves[ADMISSION].handle(ADMISSION))

    async def stop(self) -> None:
        """Stop all components; nothing is lost, since all truth is in the API server."""
        for name in list(self._halves):
            await self.stop_component(name)

    async def start_component(self, name: str) -> None:
        """Start `scheduler`, `controllers` or `admission`; it knows only what the API server tells."""
        runtime = LocalRuntime(self.time, self._frames, self.activity)
        self._halves[name] = runtime
        place = Place(self._facts, runtime, self._transport, self.metrics, runtime.handle, self._registry)
        for part in components(self.settings)[name]:
            await build(place, part)

    async def stop_component(self, name: str) -> None:
        """Stop a component without a word, as a crash would."""
        await self._halves.pop(name).stop()

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
    transport = await load_transport(kubeconfig, context, server)
    try:
        source = await find_source(settings, KubeClient(transport, "vcray"))
        plane = _plane(transport, settings, source.text, Connection(kubeconfig, context, server))
        if settings.strict and plane.policy.problems:
            raise ConfigError(plane.policy.problems)
        await _Service(plane, transport, source, say).run()
    finally:
        await transport.close()


def _plane(
    transport: Transport, settings: Settings, text: str, connection: Connection
) -> ControlPlane | FleetPlane:
    if settings.runtime == "local":
        return ControlPlane(paced(transport, settings.kube_api_qps, settings.kube_api_burst), settings, text)
    from vcray.actors.ray_runtime import RayRuntime

    return FleetPlane(transport, facts_of(settings, text), RayRuntime(settings.ray_address), connection)


class _Service:
    """A control plane with what surrounds it in a process: lease, metrics, configuration file, signals."""

    def __init__(
        self,
        plane: ControlPlane | FleetPlane,
        transport: Transport,
        source: ConfSource,
        say: Callable[[str], None],
    ) -> None:
        self._plane = plane
        self._transport = transport
        self._settings = source.settings
        self._source = source
        self._say = say
        self._stop = asyncio.Event()
        self._client = KubeClient(transport, "vcray")

    async def run(self) -> None:
        for name in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(name, self._stop.set)
        version = str((await self._client.version()).get("gitVersion"))
        supervisor = Supervisor(self._plane.handles, self._plane.time, self._plane.metrics)
        server = MetricsServer(
            self._plane.exposition, supervisor.look, lambda: supervisor.health() or self._plane.health()
        )
        health = MetricsServer(
            None, supervisor.look, lambda: supervisor.health() or self._plane.health(), "--health-port"
        )
        work: list[asyncio.Task[None]] = []
        try:
            if self._settings.metrics_port >= 0:
                await server.start(self._settings.metrics_address, self._settings.metrics_port)
            if self._settings.health_port >= 0:
                await health.start(self._settings.health_address, self._settings.health_port)
            if self._settings.leader_elect:
                work.append(await self._lead())
            if self._stop.is_set():
                return
            await self._plane.start()
            work.append(asyncio.create_task(supervisor.run(), name="supervisor"))
            await self._follow_conf(work)
            where = f", metrics on port {server.port}" if server.port else ""
            self._say(f"vcray: running against {self._transport.address} ({version}){where}")
            await self._stop.wait()
        finally:
            for task in work:
                task.cancel()
            await asyncio.gather(*work, return_exceptions=True)
            await self._plane.stop()
            await server.stop()
            await health.stop()

    async def _lead(self) -> asyncio.Task[None]:
        """Wait for the lease (or the signal to stop), then keep it; losing it stops the process, as in Volcano."""
        settings = self._settings
        identity = f"{socket.gethostname()}_{uuid.uuid4()}"
        timing = Timing(
            settings.lease_duration_s, settings.lease_renew_deadline_s, settings.lease_retry_period_s
        )
        leadership = Leadership(self._client, settings.lease_namespace, settings.lease_name, identity, timing)
        acquired, stopped = asyncio.create_task(leadership.acquire()), asyncio.create_task(self._stop.wait())
        await asyncio.wait({acquired, stopped}, return_when=asyncio.FIRST_COMPLETED)
        stopped.cancel()

        async def keep() -> None:
            try:
                if acquired.done():
                    await leadership.keep()
                    log.error("the lease is lost", lease=f"{settings.lease_namespace}/{settings.lease_name}")
                    self._stop.set()
            finally:
                acquired.cancel()
                with contextlib.suppress(VcrayError):
                    await leadership.release()

        return asyncio.create_task(keep(), name="lease")

    async def _follow_conf(self, work: list[asyncio.Task[None]]) -> None:
        plane = self._plane
        herald = Herald(plane.metrics, plane.tell)
        follower = follower_of(self._source, plane.reconfigure, herald)
        await herald.told(self._source)(True, tuple(map(str, plane.policy.problems)))
        following = self._source.follow(self._client, follower, plane.time)
        work += [asyncio.create_task(follow(), name="configuration") for follow in following]
