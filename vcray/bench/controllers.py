"""`vcray bench controllers`: many small vcjobs from their submission to their completion, on an API server over HTTPS.

The scheduler and the simulated nodes are processes of their own, the controllers have a thread with a loop of its own here,
whose processor time is taken. The server is an embedded one in a process beside us, or any other by its kubeconfig, which must
have Volcano's definitions and no control plane.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from vcray.api.meta import JsonObject
from vcray.api.resources import JOBS, NAMESPACES, NODES
from vcray.app import ControlPlane
from vcray.bench.writes import CountingTransport
from vcray.cluster.kubelet.nodes import FLEET_LABEL
from vcray.config.roles import CONTROLLERS
from vcray.config.settings import Settings
from vcray.errors import Problem, ServerError
from vcray.kube.auth import load
from vcray.kube.client import KubeClient
from vcray.kube.watch import watch_objects

T = TypeVar("T")

SERVER_S: Final = 60.0
"""How long to wait for the server that we start."""
_AT_ONCE: Final = 16
_FINAL: Final = frozenset({"Completed", "Failed", "Aborted", "Terminated"})


@dataclass(frozen=True, slots=True)
class Sizes:
    """`jobs` vcjobs of `pods` pods each on `nodes` nodes; a pod runs for `run_s` seconds. A wait ends after `patience_s`."""

    jobs: int
    pods: int
    nodes: int
    run_s: int = 1
    patience_s: float = 3600.0


@dataclass(frozen=True, slots=True)
class ControllersResult:
    """Times in seconds. `cpu_ms_per_job` is processor time of the controllers' thread, `writes` theirs by verb and resource.

    `unchanged` are writes that changed nothing, `refused` those that the server answered with an error.
    """

    server: str
    jobs: int
    pods: int
    completed: int
    wall_s: float
    jobs_per_s: float
    cpu_s: float
    cpu_ms_per_job: float
    writes_per_job: float
    writes: dict[str, int]
    unchanged: dict[str, int]
    refused: dict[str, int]


def run_controllers(sizes: Sizes, kubeconfig: Path | None = None) -> ControllersResult:
    """Measure on the server of a kubeconfig, or on an embedded one. ValueError when a size is below 1; ServerError VC0604
    when no server comes up."""
    if min(sizes.jobs, sizes.pods, sizes.nodes) < 1:
        raise ValueError("jobs, pods and nodes must be at least 1")
    with _server() if kubeconfig is None else contextlib.nullcontext(kubeconfig) as file:
        return asyncio.run(_measure(sizes, file, "embedded" if kubeconfig is None else "given"))


async def _measure(sizes: Sizes, kubeconfig: Path, server: str) -> ControllersResult:
    async with AsyncExitStack() as stack:
        transport = await load(kubeconfig)
        stack.push_async_callback(transport.close)
        client = KubeClient(transport, "bench")
        namespace = f"bench-{secrets.token_hex(4)}"
        await client.create(NAMESPACES, None, {"metadata": {"name": namespace}})
        stack.push_async_callback(client.delete, NAMESPACES, None, namespace)
        for command in (_scheduler(kubeconfig), _nodes(sizes, kubeconfig)):
            stack.enter_context(_process(command))
        controllers = await stack.enter_async_context(_loop_thread("controllers"))
        counting = await controllers.run(_start_controllers(controllers, kubeconfig))
        await _nodes_there(client, sizes)
        counting.forget()

        cpu, began = await controllers.run(_thread_time()), time.perf_counter()
        phases = await _run_jobs(client, namespace, sizes)
        wall = time.perf_counter() - began
        cpu = await controllers.run(_thread_time()) - cpu
        return ControllersResult(
            server=server,
            jobs=sizes.jobs,
            pods=sizes.pods,
            completed=phases["Completed"],
            wall_s=round(wall, 2),
            jobs_per_s=round(sizes.jobs / wall, 1),
            cpu_s=round(cpu, 2),
            cpu_ms_per_job=round(cpu / sizes.jobs * 1e3, 2),
            writes_per_job=round(counting.writes.total() / sizes.jobs, 2),
            writes=dict(counting.writes.most_common()),
            unchanged=dict(counting.unchanged),
            refused=dict(counting.refused),
        )


async def _run_jobs(client: KubeClient, namespace: str, sizes: Sizes) -> Counter[str]:
    """Submit all jobs, wait until each is in a final phase or patience ends; how many are in which."""
    phases: dict[str, str] = {}

    async def follow() -> None:
        async for event in watch_objects(client, JOBS, namespace=namespace):
            if event.object is not None:
                phases[event.key] = phase_of(event.object)
            if len(phases) == sizes.jobs and _FINAL.issuperset(phases.values()):
                return

    numbers = iter(range(sizes.jobs))

    async def submit() -> None:
        for number in numbers:
            await client.create(JOBS, namespace, _job(f"job-{number}", sizes))

    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(sizes.patience_s):
            await asyncio.gather(follow(), *(submit() for _ in range(_AT_ONCE)))
    return Counter(phases.values())


def phase_of(job: JsonObject) -> str:
    """The phase of a vcjob; empty before it has one."""
    status = job.get("status")
    state = status.get("state") if isinstance(status, dict) else None
    return str(state.get("phase", "")) if isinstance(state, dict) else ""


def _job(name: str, sizes: Sizes) -> JsonObject:
    container: JsonObject = {
        "name": "worker",
        "image": "example.com/trainer:1",
        "command": ["sh", "-c", f"sleep {sizes.run_s}"],
        "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}},
    }
    task: JsonObject = {
        "name": "worker",
        "replicas": sizes.pods,
        "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
    }
    spec: JsonObject = {"schedulerName": "volcano", "minAvailable": sizes.pods, "tasks": [task]}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": spec,
    }


# -- the parts ------------------------------------------------------------------------------------------------


class LoopThread:
    """A thread with an event loop of its own."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()
        self.stack = AsyncExitStack()

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Let something run there and wait for it here."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    async def stop(self) -> None:
        """Undo what `stack` holds, then end the thread."""
        await self.run(self.stack.aclose())
        self._loop.call_soon_threadsafe(self._loop.stop)
        await asyncio.to_thread(self._thread.join)
        self._loop.close()


@asynccontextmanager
async def _loop_thread(name: str) -> AsyncIterator[LoopThread]:
    thread = LoopThread(name)
    try:
        yield thread
    finally:
        await thread.stop()


async def _start_controllers(thread: LoopThread, kubeconfig: Path) -> CountingTransport:
    """Start the controllers; what they write is counted."""
    transport = CountingTransport(await load(kubeconfig))
    thread.stack.push_async_callback(transport.close)
    plane = ControlPlane(transport, Settings(metrics_port=-1))
    thread.stack.push_async_callback(plane.stop)
    await plane.ensure_queues()
    await plane.start_component(CONTROLLERS)
    return transport


async def _nodes_there(client: KubeClient, sizes: Sizes) -> None:
    """Wait until the simulated nodes are registered. ServerError VC0604 when they do not come."""
    deadline = time.monotonic() + SERVER_S
    while (found := len((await client.list(NODES, label_selector=FLEET_LABEL)).items)) < sizes.nodes:
        if time.monotonic() > deadline:
            what = f"{found} of {sizes.nodes} simulated nodes came within {SERVER_S:.0f} s"
            raise ServerError(Problem("VC0604", "bench controllers", what))
        await asyncio.sleep(0.2)


async def _thread_time() -> float:
    return time.thread_time()


def _scheduler(kubeconfig: Path) -> list[str]:
    return ["run", "--only", "scheduler", "--metrics-port", "-1", "--kubeconfig", str(kubeconfig)]


def _nodes(sizes: Sizes, kubeconfig: Path) -> list[str]:
    flags = [
        "--count",
        str(sizes.nodes),
        "--prefix",
        "bench",
        "--cpu",
        "64",
        "--memory",
        "256Gi",
        "--pods",
        "1000",
    ]
    return ["nodes", *flags, "--start-seconds", "0", "--lease-seconds", "0", "--kubeconfig", str(kubeconfig)]


@contextlib.contextmanager
def _process(arguments: list[str], log: Path | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """A command of vcray while the block runs; what it says goes to `log`, or nowhere."""
    with (log or Path(os.devnull)).open("wb") as out:
        command = [sys.executable, "-m", "vcray.cli.main", *arguments]
        with subprocess.Popen(command, stdout=out, stderr=out) as child:
            try:
                yield child
            finally:
                child.terminate()


@contextlib.contextmanager
def _server() -> Iterator[Path]:
    """An embedded API server in a process of its own; its kubeconfig."""
    with tempfile.TemporaryDirectory(prefix="vcray-bench-") as folder:
        file, log = Path(folder) / "kubeconfig", Path(folder) / "log"
        flags = ["--cluster-only", "--no-default-scheduler", "--nodes", "0", "--port", "0"]
        flags += ["--name", f"bench-{secrets.token_hex(4)}", "--kubeconfig-out", str(file)]
        with _process(["up", *flags], log) as child:
            _await_file(file, child, log)
            yield file


def _await_file(file: Path, child: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + SERVER_S
    while not file.exists():
        if child.poll() is not None or time.monotonic() > deadline:
            said = log.read_text(errors="replace").strip() or "it said nothing"
            raise ServerError(Problem("VC0604", "bench controllers", f"the API server did not start: {said}"))
        time.sleep(0.1)
