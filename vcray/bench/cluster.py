"""`vcray bench cluster`: what the embedded cluster takes a second, step by step, in one process.

Nodes are registered, pods created, bound in turn by a binder that decides nothing, and brought to Running by the simulated
kubelets, all through the transport that the parts of `vcray up` use; then the same again at once, as a steady stream. On wish
Volcano's jobs come last, from their submission until all of their pods run, by the scheduler and controllers on the local
runtime. Every step tells the wall time, the rate and the resident memory after it.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from vcray.api.meta import JsonObject
from vcray.api.resources import JOBS, NAMESPACES, PODS
from vcray.cluster.kubelet import Fleet, FleetOptions
from vcray.cluster.objects.store import Store
from vcray.cluster.server.inprocess import InProcessTransport
from vcray.kube.client import KubeClient

NAMESPACE = "bench"
_AT_ONCE = 16
_POLL_S = 0.02
_STREAM = 2000
"""Pods of the steady stream, at most."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step: how many things in how many seconds of wall time and of processor time.

    `rss_mib` is the process's memory afterwards.
    """

    name: str
    count: int
    seconds: float
    per_s: float
    cpu_s: float
    rss_mib: float


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is measured. `jobs` of Volcano's have `gang` pods each; none by default."""

    nodes: int
    pods: int
    watchers: int = 100
    jobs: int = 0
    gang: int = 8


def run_cluster(sizes: Sizes, note: Callable[[Step], None] | None = None) -> list[Step]:
    """Measure all steps; `note` hears of each as it ends. ValueError when a size is below 1, or below 0 for jobs."""
    if min(sizes.nodes, sizes.pods, sizes.watchers, sizes.gang) < 1 or sizes.jobs < 0:
        raise ValueError("nodes, pods, watchers and gang must be at least 1")
    return asyncio.run(_Bench(sizes, note or (lambda _: None)).run())


class _Bench:
    def __init__(self, sizes: Sizes, note: Callable[[Step], None]) -> None:
        self._sizes = sizes
        self._nodes, self._pods, self._watchers = sizes.nodes, sizes.pods, sizes.watchers
        self._note = note
        self._steps: list[Step] = []
        self._store = Store()
        self._transport = InProcessTransport(self._store)
        self._client = KubeClient(self._transport, "bench")
        self._fleet = Fleet(
            InProcessTransport(self._store),
            self._nodes,
            options=FleetOptions(start_s=0.0, lease_period_s=0.0),
        )

    async def run(self) -> list[Step]:
        await self._client.create(NAMESPACES, None, {"metadata": {"name": NAMESPACE}})
        try:
            await self._timed("nodes registered", self._nodes, self._fleet.start)
            await self._timed("pods created", self._pods, lambda: self._create("pod", self._pods))
            await self._timed("pods bound", self._pods, lambda: self._bind("pod", self._pods))
            await self._timed("pods Running", self._pods, lambda: self._running(self._pods))
            extra = min(self._pods, _STREAM)
            await self._timed("created, bound, Running", extra, lambda: self._stream(extra))
            await self._timed(f"events to {self._watchers} watchers", 0, self._fan_out)
            if self._sizes.jobs:
                await self._with_control_plane()
        finally:
            await self._fleet.stop()
            await self._transport.close()
        return self._steps

    async def _timed(self, name: str, count: int, work: Callable[[], Awaitable[int | None]]) -> None:
        gc.collect()
        started, cpu = time.perf_counter(), time.process_time()
        counted = await work() or count
        seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
        rate = round(counted / seconds, 1)
        step = Step(name, counted, round(seconds, 3), rate, round(cpu, 3), round(_rss_mib(), 1))
        self._steps.append(step)
        self._note(step)

    # -- steps ------------------------------------------------------------------------------------------------

    async def _create(self, prefix: str, count: int) -> None:
        await _each(count, lambda i: self._create_one(f"{prefix}-{i}"))

    async def _create_one(self, name: str) -> None:
        body: JsonObject = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": _SPEC}
        await self._client.request("POST", PODS.path(NAMESPACE), None, body)

    async def _bind(self, prefix: str, count: int) -> None:
        await _each(count, lambda i: self._bind_one(f"{prefix}-{i}", i))

    async def _bind_one(self, name: str, number: int) -> None:
        await self._client.bind(NAMESPACE, name, f"node-{number % self._nodes}")

    async def _running(self, writes: int) -> None:
        kubelets = self._fleet.pods
        while kubelets.writes < writes or not kubelets.queue.idle:  # noqa: ASYNC110
            await asyncio.sleep(_POLL_S)

    async def _stream(self, count: int) -> None:
        async def one(i: int) -> None:
            await self._create_one(f"stream-{i}")
            await self._bind_one(f"stream-{i}", i)

        before = self._fleet.statistics().writes
        await _each(count, one)
        await self._running(before + count)

    async def _with_control_plane(self) -> None:
        from vcray.app import ControlPlane
        from vcray.config.settings import Settings

        plane = ControlPlane(InProcessTransport(self._store), Settings(admission=False, metrics_port=-1))
        await plane.start()
        try:
            pods = self._sizes.jobs * self._sizes.gang
            name = f"pods of vcjobs of {self._sizes.gang} Running"
            await self._timed(name, pods, lambda: self._run_jobs(pods))
        finally:
            await plane.stop()

    async def _run_jobs(self, pods: int) -> None:
        before = self._fleet.pods.writes
        await _each(self._sizes.jobs, self._submit)
        await self._running(before + pods)

    async def _submit(self, number: int) -> None:
        size = self._sizes.gang
        pod: JsonObject = {**_SPEC, "schedulerName": "volcano"}
        task: JsonObject = {
            "name": "worker",
            "replicas": size,
            "minAvailable": size,
            "template": {"spec": pod},
        }
        spec: JsonObject = {
            "schedulerName": "volcano",
            "queue": "default",
            "minAvailable": size,
            "tasks": [task],
        }
        await self._client.create(JOBS, NAMESPACE, {"metadata": {"name": f"job-{number}"}, "spec": spec})

    async def _fan_out(self) -> int:
        """Pods that change, heard by many watchers; counts the lines that arrive."""
        changes = 20
        heard = 0
        full = asyncio.Event()

        async def listen(lines: AsyncGenerator[bytes, None]) -> None:
            nonlocal heard
            async for _ in lines:
                heard += 1
                if heard >= changes * self._watchers:
                    full.set()

        version = str(self._store.storage.version)
        query = {"watch": "true", "resourceVersion": version}
        tasks = [
            asyncio.create_task(listen(self._transport.stream(PODS.path(NAMESPACE), query)))
            for _ in range(self._watchers)
        ]
        await asyncio.sleep(0)
        for number in range(changes):
            patch: JsonObject = {"metadata": {"labels": {"round": str(number)}}}
            await self._client.patch(PODS, NAMESPACE, "pod-0", patch)
        await full.wait()
        for task in tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        return heard


_SPEC: JsonObject = {
    "schedulerName": "bench",
    "restartPolicy": "Never",
    "containers": [
        {
            "name": "worker",
            "image": "example.com/trainer:1",
            "command": ["sh", "-c", "sleep infinity"],
            "env": [{"name": "RANK", "value": "0"}],
            "resources": {
                "requests": {"cpu": "500m", "memory": "1Gi"},
                "limits": {"cpu": "1", "memory": "1Gi"},
            },
        }
    ],
}


async def _each(count: int, act: Callable[[int], Awaitable[None]]) -> None:
    """Act on all numbers below `count`, several at a time, leaving others a turn."""
    numbers = iter(range(count))

    async def worker() -> None:
        for number in numbers:
            await act(number)
            await asyncio.sleep(0)

    await asyncio.gather(*(worker() for _ in range(_AT_ONCE)))


def _rss_mib() -> float:
    """Resident memory of this process now."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0
