"""What surrounds a control plane in its process: signals, lease, metrics and health, the configuration that is followed.

It stops in the order that keeps two of them apart: the components first, with the writes that are under way, and only then
the lease is given up.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import ssl
import uuid
from collections.abc import Callable, Coroutine, Sequence
from typing import Protocol

from vcray.actors.conf_source import ConfSource, Herald, follower_of
from vcray.actors.messages import Accepted
from vcray.actors.metrics_server import MetricsServer, tls_context
from vcray.actors.runtime import Handle, Time
from vcray.actors.supervisor import Supervisor
from vcray.config.roles import AGENT_SCHEDULER, CONTROLLERS, SCHEDULER
from vcray.config.settings import Settings
from vcray.core.policy import Policy
from vcray.errors import Problem, ServerError
from vcray.kube.client import KubeClient
from vcray.kube.events import Involved
from vcray.kube.lease import Leadership, Timing
from vcray.kube.transport import Transport
from vcray.log import get_logger
from vcray.metrics import Metrics

log = get_logger("app")


class Plane(Protocol):
    """A control plane as its process sees it."""

    time: Time
    metrics: Metrics
    policy: Policy

    async def start(self) -> None: ...

    async def stop(self) -> None: ...

    def handles(self) -> list[Handle]: ...

    def exposition(self) -> bytes: ...

    def health(self) -> str: ...

    async def reconfigure(self, text: str) -> Accepted: ...

    async def tell(self, problems: Sequence[str], about: Involved) -> None: ...


class Service:
    """One control plane until a signal, or until its lease is lost. `say` hears one line when all is ready."""

    def __init__(
        self, plane: Plane, transport: Transport, source: ConfSource, say: Callable[[str], None]
    ) -> None:
        self._plane = plane
        self._transport = transport
        self._settings = source.settings
        self._source = source
        self._say = say
        self._stop = asyncio.Event()
        self._lost = False
        self._unready = "starting"
        self._client = KubeClient(transport, "vcray")
        self._supervisor = Supervisor(plane.handles, plane.time, plane.metrics)

    async def run(self) -> None:
        """Serve. ServerError VC0405 when the lease was lost, any VcrayError that keeps it from starting."""
        for name in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(name, self._stop.set)
        version = str((await self._client.version()).get("gitVersion"))
        async with contextlib.AsyncExitStack() as stack:
            port = await self._listen(stack)
            if self._settings.leader_elect and self._acts():
                await self._lead(stack)
            if self._stop.is_set():
                return
            stack.push_async_callback(self._plane.stop)
            await self._unless_stopped(self._plane.start())
            if self._stop.is_set():
                return
            self._background(self._supervisor.run(), "supervisor", stack)
            await self._follow_conf(stack)
            where = f", metrics on port {port}" if port else ""
            self._unready = ""
            self._say(f"vcray: running against {self._transport.address} ({version}){where}")
            await self._stop.wait()
            self._unready = "stopping"
        if self._lost:
            where = f"lease {self._settings.lease_namespace}/{self._settings.lease_name}"
            what = "was lost, and another control plane may act by now; start this one again, and it waits for its turn"
            raise ServerError(Problem("VC0405", where, what))

    def _acts(self) -> bool:
        """Is there anything that two processes must not do at once? Webhooks are answered by all of them."""
        return any(map(self._settings.runs, (SCHEDULER, AGENT_SCHEDULER, CONTROLLERS)))

    async def _unless_stopped(self, work: Coroutine[object, object, None]) -> None:
        """Do it, or leave it when the signal to stop comes."""
        doing, stopped = asyncio.create_task(work), asyncio.create_task(self._stop.wait())
        try:
            await asyncio.wait({doing, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if doing.done():
                doing.result()
        finally:
            for task in (doing, stopped):
                task.cancel()
            await asyncio.gather(doing, stopped, return_exceptions=True)

    def _background(
        self, work: Coroutine[object, object, None], name: str, stack: contextlib.AsyncExitStack
    ) -> None:
        task = asyncio.create_task(work, name=name)

        async def end() -> None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

        stack.push_async_callback(end)

    # -- ports ------------------------------------------------------------------------------------------------------

    async def _listen(self, stack: contextlib.AsyncExitStack) -> int:
        """Serve metrics and health where they are wanted; the port of the metrics."""
        settings, look = self._settings, self._supervisor.look
        server = MetricsServer(self._plane.exposition, look, self._health, ready=lambda: self._unready)
        health = MetricsServer(None, look, self._health, "--health-port", lambda: self._unready)
        for each in (server, health):
            stack.push_async_callback(each.stop)
        if settings.metrics_port >= 0:
            await server.start(settings.metrics_address, settings.metrics_port)
        if settings.health_port >= 0:
            await health.start(settings.health_address, settings.health_port, _tls(settings))
        return server.port

    def _health(self) -> str:
        return self._supervisor.health() or self._plane.health()

    # -- lease ------------------------------------------------------------------------------------------------------

    async def _lead(self, stack: contextlib.AsyncExitStack) -> None:
        """Wait for the lease (or the signal to stop), then keep it; losing it stops the process, as in Volcano."""
        settings = self._settings
        identity = f"{socket.gethostname()}_{uuid.uuid4()}"
        timing = Timing(
            settings.lease_duration_s, settings.lease_renew_deadline_s, settings.lease_retry_period_s
        )
        leadership = Leadership(self._client, settings.lease_namespace, settings.lease_name, identity, timing)

        async def keep() -> None:
            await leadership.keep()
            log.error("the lease is lost", lease=f"{settings.lease_namespace}/{settings.lease_name}")
            self._lost = True
            self._stop.set()

        stack.push_async_callback(leadership.release)
        self._unready = ""  # whoever stands by is as ready as it can be
        await self._unless_stopped(leadership.acquire())
        self._unready = "starting"
        if not self._stop.is_set():
            self._background(keep(), "lease", stack)

    # -- configuration ----------------------------------------------------------------------------------------------

    async def _follow_conf(self, stack: contextlib.AsyncExitStack) -> None:
        plane = self._plane
        if not self._settings.runs(SCHEDULER):
            return
        herald = Herald(plane.metrics, plane.tell)
        follower = follower_of(self._source, plane.reconfigure, herald)
        await herald.told(self._source)(True, tuple(map(str, plane.policy.problems)))
        for follow in self._source.follow(self._client, follower, plane.time):
            self._background(follow(), "configuration", stack)


def _tls(settings: Settings) -> ssl.SSLContext | None:
    files = settings.health_cert_file, settings.health_key_file, settings.health_ca_file
    certificate, key, authority = files
    if certificate is None or key is None or authority is None:
        return None
    return tls_context(certificate, key, authority)
