"""A whole local cluster, brought up in order and taken down in the opposite one.

This process holds the API server, the workload controllers and the simulated nodes; the control plane is a child of its own,
as it would be on any other cluster. Whatever fails on the way up, all that had been started is stopped again.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from vcray.cli.child import Child
from vcray.cli.runtime_folder import Running, RuntimeFolder
from vcray.errors import InputError, Problem, VcrayError
from vcray.files import write_atomically


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """What `vcray up` is told. `control_plane` is the command to run, with `{kubeconfig}` in it; empty means none.
    `operators`: stand-ins that run, each with its gang support. `default_scheduler`: pods that name no scheduler are bound here, as no control plane does it.
    `service_accounts`: pods are admitted by their accounts and get tokens.

    Each of the `nodes` simulated nodes has what `node_cpu` and `node_memory` (quantities), `node_gpu` and `node_pods` say; their containers live `speed` times faster.
    """

    port: int = 0
    nodes: int = 0
    node_cpu: str = "16"
    node_memory: str = "64Gi"
    node_gpu: int = 0
    node_pods: int = 110
    speed: float = 1.0
    data_dir: Path | None = None
    kubeconfig_out: Path | None = None
    operators: Mapping[str, str] = field(default_factory=dict)
    control_plane: Sequence[str] = ()
    default_scheduler: bool = False
    service_accounts: bool = False


@dataclass(frozen=True, slots=True)
class Cluster:
    """A running cluster. `told` is the control plane's ready line; `child` is None without one."""

    url: str
    kubeconfig: Path
    told: str
    child: Child | None


@asynccontextmanager
async def hosted(
    options: ClusterOptions,
    folder: RuntimeFolder,
    tell: Callable[[str], None],
    fail: Callable[[str], None],
    progress: Callable[[str], None] = lambda step: None,
) -> AsyncIterator[Cluster]:
    """A cluster that is ready, until the block ends. Raises VcrayError when it cannot start.

    `tell` hears what happens to it, `fail` why it cannot go on, `progress` what is being started.
    """
    async with AsyncExitStack() as stack:
        folder.acquire()
        stack.callback(folder.release)
        if options.kubeconfig_out is not None:
            _check_writable(options.kubeconfig_out)
        child, told = await _prepared(options, folder, tell, stack), ""
        from vcray.cli.embedded import Embedded  # as long as the child's own imports, which run meanwhile

        embedded = Embedded(options, stack, fail)
        server = await embedded.start_server()
        here = Running(os.getpid(), False, server.url, str(options.data_dir or ""))
        folder.write(here)
        write_atomically(folder.kubeconfig, server.kubeconfig().encode())
        await embedded.start_workloads()
        if options.operators:
            progress("operators")
            await embedded.start_operators()
        if options.nodes:
            progress(f"{options.nodes} nodes")
            await embedded.start_nodes()
        if child is not None:
            progress("the control plane")
            told = await child.start()
            keeping = asyncio.create_task(child.keep(), name="keep the control plane")
            stack.push_async_callback(child.stop)  # before the server, which it says goodbye to
            stack.push_async_callback(_cancel, keeping)
        if options.kubeconfig_out is not None:
            _hand_out(options.kubeconfig_out, folder.kubeconfig, stack)
        folder.write(Running(here.pid, True, here.url, here.data_dir))
        yield Cluster(server.url, folder.kubeconfig, told, child)


async def _prepared(
    options: ClusterOptions, folder: RuntimeFolder, tell: Callable[[str], None], stack: AsyncExitStack
) -> Child | None:
    if not options.control_plane:
        return None
    command = [each.format(kubeconfig=folder.kubeconfig) for each in options.control_plane]
    child = Child(command, folder.log, tell)
    stack.push_async_callback(child.stop)
    await child.prepare()
    return child


async def _cancel(task: asyncio.Task[None]) -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


# -- the kubeconfig for others ----------------------------------------------------------------------------------


def _check_writable(file: Path) -> None:
    try:
        if file.is_dir():
            raise IsADirectoryError(0, "it is a folder")
        tempfile.TemporaryFile(dir=file.parent).close()
    except OSError as error:
        raise _not_written(file, error) from error


def _hand_out(file: Path, kubeconfig: Path, stack: AsyncExitStack) -> None:
    """Write the user's copy; at the end it goes away, unless somebody has changed it."""
    content = kubeconfig.read_bytes()
    try:
        write_atomically(file, content)
    except OSError as error:
        raise _not_written(file, error) from error

    def take_back() -> None:
        with contextlib.suppress(OSError):
            if file.read_bytes() == content:
                file.unlink()

    stack.callback(take_back)


def _not_written(file: Path, error: OSError) -> VcrayError:
    what = f"cannot be written: {error.strerror or error}; name a file in a folder of yours"
    return InputError(Problem("VC0503", f"--kubeconfig-out {file}", what))
