"""The hosts of a layout as Ray actors: the only module that imports ray.

Each host is a named, supervised actor in a process of its own. Ray restarts a process that dies; the driver, which is
`vcray run`, opens its parts anew (`vcray.actors.fleet`). Without an address the driver starts a Ray of its own: a head and
one raylet on loopback, locked with a token, without dashboard, monitor and log files' monitor, in a folder that goes with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import logging
import os
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import monotonic
from typing import Any, Final, TypeVar

from vcray.actors import ray_environment  # noqa: F401  before ray, which reads its environment when it is imported

# isort: split
import numpy as np
import ray
from ray._private import ray_constants, services
from ray._private.node import Node
from ray._private.parameter import RayParams
from ray._raylet import (  # type: ignore[attr-defined]
    DASHBOARD_AGENT_LISTEN_PORT_NAME,
    METRICS_AGENT_PORT_NAME,
    METRICS_EXPORT_PORT_NAME,
    RUNTIME_ENV_AGENT_PORT_NAME,
    get_port_filename,
)
from ray.exceptions import RayError

from vcray.actors.door import Door, Reply, opened, raise_refusal
from vcray.actors.host import ALONE_S, Look, Lost, Opening, Stamp
from vcray.actors.ray_ground import Ground, kill_all, refusal, require_listener, take_signals_back
from vcray.core.pools import ScorersLost
from vcray.errors import Problem, ServerError
from vcray.log import get_logger
from vcray.memory import collect_rarely

log = get_logger("ray")

T = TypeVar("T")
R = TypeVar("R")

STORE_BYTES: Final = 128 * 2**20
"""Object store of a Ray of our own: it holds snapshots of rounds that fan out, nothing else."""
OPEN_S: Final = 60.0
CLOSE_S: Final = 20.0
SCORE_S: Final = 60.0
LOOK_S: Final = 5.0
WATCH_S: Final = 0.25
"""How often the processes of our own Ray are looked at."""
WATCH_JOINED_S: Final = 2.0
NOBODY: Final = 9
"""A port where nobody listens."""

_AGENT_PORTS: Final = (
    DASHBOARD_AGENT_LISTEN_PORT_NAME,
    METRICS_AGENT_PORT_NAME,
    METRICS_EXPORT_PORT_NAME,
    RUNTIME_ENV_AGENT_PORT_NAME,
)


class RayHost(Door):
    """One host, as an async actor."""

    def __init__(self) -> None:
        collect_rarely()
        self._link = _RayLink()
        super().__init__(self._link)

    async def meet(self, actors: dict[str, Any]) -> None:
        """Learn of the actors of all hosts."""
        self._link.actors = actors

    async def score(self, stamp: Stamp, part: str, request: bytes, snapshot: Any = None) -> Reply:
        """`snapshot` lies in the object store: what comes is a window on it."""
        return await super().score(stamp, part, request, None if snapshot is None else memoryview(snapshot))


class _RayLink:
    """Frames to other hosts as calls of their actors."""

    def __init__(self) -> None:
        self.actors: dict[str, Any] = {}

    async def post(self, host: str, stamp: Stamp, part: str, frames: Sequence[bytes]) -> None:
        opened(await reply(self.actor(host).post.remote(stamp, part, frames)))

    async def ask(self, host: str, stamp: Stamp, part: str, frame: bytes) -> bytes | None:
        return opened(await reply(self.actor(host).ask.remote(stamp, part, frame)))

    def scorers(self, stamp: Stamp, parts: Sequence[tuple[str, str]]) -> _RayScorers:
        return _RayScorers(stamp, [(self.actor(host), part) for host, part in parts])

    def actor(self, host: str) -> Any:
        """The actor of a host. Raises `Lost` when there is none."""
        actor = self.actors.get(host)
        if actor is None:
            raise Lost(f"no process of {host}")
        return actor


class _RayScorers:
    """Scorers in other processes, asked all at once; whoever asks blocks."""

    def __init__(self, stamp: Stamp, scorers: Sequence[tuple[Any, str]]) -> None:
        self._stamp = stamp
        self._scorers = scorers

    def __len__(self) -> int:
        return len(self._scorers)

    def begin(self, snapshot: bytes, requests: Sequence[bytes]) -> None:
        """The snapshot goes to the object store, where processes of one node share it."""
        self._all(requests, ray.put(np.frombuffer(snapshot, np.uint8)))

    def ask(self, requests: Sequence[bytes]) -> list[bytes]:
        return self._all(requests)

    def _all(self, requests: Sequence[bytes], *snapshot: Any) -> list[bytes]:
        calls = [
            actor.score.remote(self._stamp, part, request, *snapshot)
            for (actor, part), request in zip(self._scorers, requests, strict=True)
        ]
        try:
            return [opened(each) or b"" for each in ray.get(calls, timeout=SCORE_S)]
        except (RayError, Lost) as error:
            raise ScorersLost(_first_line(error)) from error


_waiting: set[asyncio.Future[Any]] = set()
"""Calls of this process that have not been answered: they are given up when Ray ends."""


async def reply(reference: Any) -> Any:
    """The result of a call. `Lost` when its process, or Ray, is not there any more."""
    future = asyncio.wrap_future(reference.future())
    _waiting.add(future)
    future.add_done_callback(_heard)
    try:
        return await asyncio.shield(future)
    except RayError as error:
        raise Lost(_first_line(error)) from error


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__


def _heard(future: asyncio.Future[Any]) -> None:
    _waiting.discard(future)
    if not future.cancelled():
        future.exception()


class OwnRay:
    """A head and one raylet on loopback, children of this process, and a folder for their files."""

    def __init__(self, cpus: int) -> None:
        self._ground = Ground()
        ray_constants.ENABLE_RAY_CLUSTER = (
            False  # else Ray swaps 127.0.0.1 for an address that others can reach
        )
        here = Path(services.RAY_PATH) / "_private" / "workers"
        parameters = RayParams(
            node_ip_address="127.0.0.1",
            num_cpus=cpus,
            num_gpus=0,
            resources={},
            object_store_memory=STORE_BYTES,
            temp_dir=str(self._ground.folder),
            include_dashboard=False,
            include_log_monitor=None,
            no_monitor=True,
            node_manager_port=0,
            worker_path=str(here / "default_worker.py"),
            setup_worker_path=str(here / "setup_worker.py"),
        )
        with raylet_without_agents(self._ground):
            # the kernel ends both processes when this one ends: that is what the reaper is asked for
            self._node = QuietNode(parameters, head=True, shutdown_at_exit=False, spawn_reaper=True)
        self.address = str(self._node.gcs_address)

    def pids(self) -> dict[str, int]:
        """Name of a process, as Ray names it -> its number."""
        return {kind: found[0].process.pid for kind, found in self._node.all_processes.items()}

    def dead(self) -> str:
        """Which process has ended; empty when all live."""
        return ", ".join(kind for kind, _ in self._node.dead_processes())  # type: ignore[no-untyped-call]

    def end(self, orphans: Iterable[int]) -> None:
        """Kill everything, also `orphans` that a dead raylet left, and remove the folder."""
        kill_all([*self.pids().values(), *orphans])
        self._node.kill_all_processes(check_alive=False, allow_graceful=False, wait=True)
        self._ground.remove()


class QuietNode(Node):
    """A Ray node without what nobody here asks: dashboard, autoscaler's monitor, log monitor."""

    def start_api_server(self, **_: object) -> None:
        self._webui_url = None

    def start_monitor(self) -> None:
        """Not started: nobody here asks it."""

    def start_log_monitor(self) -> None:
        """Not started: nobody here asks it."""


@contextlib.contextmanager
def raylet_without_agents(ground: Ground) -> Iterator[None]:
    """While it holds, a raylet is started with stand-ins for its agents, which are said to listen already."""
    start, node_start = services.start_ray_process, services.start_raylet

    def start_process(command: list[str], *arguments: Any, **options: Any) -> Any:
        return start(ground.without_agents(command), *arguments, **options)

    def start_raylet(*arguments: Any, **options: Any) -> Any:
        bound = inspect.signature(node_start).bind(*arguments, **options).arguments
        for port in _AGENT_PORTS:
            file = Path(bound["session_dir"]) / get_port_filename(bound["node_id"], port)
            file.write_text(str(NOBODY))
        return node_start(*arguments, **options)

    services.start_ray_process, services.start_raylet = start_process, start_raylet
    try:
        yield
    finally:
        services.start_ray_process, services.start_raylet = start, node_start


class RayRuntime:
    """Hosts as Ray actors (`vcray.actors.fleet.Processes`), on a Ray of our own or on the one at `address`."""

    def __init__(self, address: str | None = None, actor: type[RayHost] = RayHost) -> None:
        self._address = address
        self._actor_class = actor
        self._own: OwnRay | None = None
        self._link = _RayLink()
        self._pids: dict[str, int] = {}
        self._joined = self._left_joined = False
        self._namespace = f"vcray-{uuid.uuid4().hex[:8]}"
        # one thread for all that blocks; it must outlive what it starts, which dies with it
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="ray")

    @property
    def link(self) -> _RayLink:
        return self._link

    @property
    def own(self) -> OwnRay | None:
        """The Ray that was started here."""
        return self._own

    async def begin(self, hosts: Sequence[str]) -> None:
        if self._left_joined:  # what is left of our hosts there closes when nobody looks after it
            await asyncio.sleep(ALONE_S)
        await self._blocking(self._join, hosts)
        take_signals_back()

    async def open(self, opening: Opening) -> None:
        """A process that Ray is about to start again is waited for."""
        actor, late = self._link.actor(opening.host), monotonic() + OPEN_S
        while True:
            try:
                await self._within(OPEN_S, actor.meet.remote(self._link.actors))
                break
            except Lost:
                if monotonic() > late or (self._own is not None and self._own.dead()):
                    raise
                await asyncio.sleep(WATCH_S)
        refused = await self._within(OPEN_S, actor.open.remote(opening))
        if refused:
            raise_refusal(refused)

    async def close(self, host: str) -> None:
        await self._within(CLOSE_S, self._link.actor(host).close.remote())

    async def look(self, host: str) -> Look:
        look: Look = await asyncio.wait_for(reply(self._link.actor(host).look.remote()), LOOK_S)
        self._pids[host] = look.pid
        return look

    async def replace(self, host: str) -> None:
        await self._blocking(functools.partial(ray.kill, self._link.actor(host), no_restart=False))

    async def trouble(self) -> str:
        lives = [asyncio.ensure_future(reply(actor.live.remote())) for actor in self._link.actors.values()]
        try:
            while True:
                pause = WATCH_S if self._own is not None else WATCH_JOINED_S
                done, _ = await asyncio.wait(lives, timeout=pause, return_when=asyncio.FIRST_COMPLETED)
                dead = await refusal(self._address) if self._own is None else self._own.dead()
                if dead:
                    return f"ended: {dead}"
                if done:
                    return ""
        finally:
            for each in lives:
                each.cancel()
            await asyncio.gather(*lives, return_exceptions=True)

    async def end(self) -> None:
        await self._blocking(self._leave)
        for future in list(_waiting):
            if not future.done():
                future.set_exception(Lost("Ray has ended"))

    async def _within(self, seconds: float, reference: Any) -> Any:
        try:
            return await asyncio.wait_for(reply(reference), seconds)
        except TimeoutError:
            raise Lost(f"no answer in {seconds:g} s") from None

    async def _blocking(self, work: Callable[..., T], *arguments: object) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, *arguments)

    def _join(self, hosts: Sequence[str]) -> None:
        self._own = _joined(self._address, len(hosts), self._namespace)
        self._joined = True
        make = ray.remote(self._actor_class)
        self._link.actors = {
            name: make.options(
                name=name,
                namespace=self._namespace,
                num_cpus=0,
                max_restarts=-1,
                max_task_retries=0,
                max_concurrency=1000,
                scheduling_strategy="SPREAD",
            ).remote()
            for name in hosts
        }

    def _leave(self) -> None:
        self._link.actors = {}
        own, self._own = self._own, None
        if own is not None:
            own.end(self._pids.values())
        if self._joined:
            ray.shutdown()
            self._joined, self._left_joined = False, own is None
        self._pids = {}


def _joined(address: str | None, cpus: int, namespace: str | None = None) -> OwnRay | None:
    """Join the Ray at an address, or start one and join that; then it is returned. ServerError (VC0605)."""
    if address is None or address.startswith(("127.", "localhost:")):
        # else Ray swaps a loopback address for one that others can reach
        ray_constants.ENABLE_RAY_CLUSTER = False
    own = None
    if address is None:
        own = OwnRay(max(2, cpus))
    else:
        require_listener(address)
    try:
        ray.init(
            address if own is None else own.address,
            namespace=namespace,
            log_to_driver=False,
            logging_level=logging.ERROR,
            _node_ip_address=None if own is None else "127.0.0.1",
        )
    except (RayError, ConnectionError, ValueError, RuntimeError) as error:
        if own is not None:
            own.end(())
        what = f"Ray cannot be joined there: {_first_line(error)}"
        raise ServerError(Problem("VC0605", f"--ray-address {address or ''}".strip(), what)) from error
    return own


def sweep(function: Callable[[T], R], items: Sequence[T], address: str | None = None) -> Iterator[R]:
    """The function of each item, in order of the items, as plain Ray tasks: on the Ray at an address, or on one that is
    started for it. `function` must be a module's own. Raises what it raises."""
    own = _joined(address, os.cpu_count() or 2)
    try:
        task = ray.remote(function)
        for reference in [task.remote(item) for item in items]:
            yield ray.get(reference)
    finally:
        ray.shutdown()
        if own is not None:
            own.end(())


__all__ = ["OwnRay", "RayHost", "RayRuntime", "sweep"]
