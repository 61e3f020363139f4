"""`vcray up`: a cluster on this machine, with the control plane on it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vcray.api.names import AGENT_SCHEDULER_NAME, DEFAULT_SCHEDULER_NAME

if TYPE_CHECKING:
    from vcray.cli.hosting import Cluster, ClusterOptions
    from vcray.cli.runtime_folder import RuntimeFolder

DEFAULT_PORT = 6443

_PASSED_ON = ("runtime", "layout", "ray_address", "scheduler_conf", "metrics_port", "log_level")
"""Flags that go to `vcray run` as they are."""


@click.command("up")
@click.option("--name", default="default", show_default=True, help="Name of the cluster; each runs once.")
@click.option(
    "--nodes", type=click.IntRange(0, 100_000), default=3, show_default=True, help="Simulated nodes."
)
@click.option("--node-cpu", default="16", show_default=True, help="Cores of each node.")
@click.option("--node-memory", default="64Gi", show_default=True, help="Memory of each node.")
@click.option(
    "--node-gpu", type=click.IntRange(0), default=0, show_default=True, help="nvidia.com/gpu of each node."
)
@click.option(
    "--node-pods", type=click.IntRange(1), default=110, show_default=True, help="Pods that a node takes."
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=DEFAULT_PORT,
    show_default=True,
    help="Port of the API server on loopback; 0 picks a free one.",
)
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path),
    help="Folder that keeps the cluster over restarts; without it all is in memory.",
)
@click.option(
    "--kubeconfig-out",
    type=click.Path(path_type=Path),
    help="Also write the kubeconfig here, when all is ready; removed at the end.",
)
@click.option(
    "--operators",
    default="",
    metavar="NAMES",
    help="Stand-ins for other operators, with commas between (kuberay, training-operator, ...) or all; NAME=volcano has one make PodGroups itself.",
)
@click.option("--cluster-only", is_flag=True, help="Start no control plane.")
@click.option(
    "--no-default-scheduler", is_flag=True, help="Leave pods that name no scheduler to one of your own."
)
@click.option(
    "--service-accounts",
    is_flag=True,
    help="Admit pods by their ServiceAccounts, and give them tokens, as a real API server does.",
)
@click.option(
    "--runtime",
    type=click.Choice(["ray", "local"]),
    default="ray",
    show_default=True,
    help="What the control plane's actors run on.",
)
@click.option("--layout", help="Which actors share a process on Ray: small, standard or huge.")
@click.option("--ray-address", help="A Ray cluster to join; without it one is started.")
@click.option("--scheduler-conf", type=click.Path(path_type=Path), help="A volcano-scheduler.conf.")
@click.option("--metrics-port", default="0", help="Port of /metrics; 0 picks one, -1 none. [default: 0]")
@click.option("--log-level", help="Least level that the control plane logs.")
def command(
    name: str,
    nodes: int,
    node_cpu: str,
    node_memory: str,
    node_gpu: int,
    node_pods: int,
    port: int,
    data_dir: Path | None,
    kubeconfig_out: Path | None,
    operators: str,
    cluster_only: bool,
    no_default_scheduler: bool,
    service_accounts: bool,
    **passed_on: object,
) -> int:
    """Start a cluster on this machine, API server, simulated nodes and control plane, until Ctrl-C or `vcray down`.

    It prints how to point kubectl at it. Nothing is left behind at the end but the data directory, if one is named.
    Settings of the control plane that have no flag here are read from their environment variables (docs/settings.md).

    \b
    Examples:
      vcray up
      vcray up --runtime local --nodes 100 --node-gpu 8 --data-dir ~/.vcray
      vcray up --operators kuberay
    """
    import asyncio

    from vcray.cli.amounts import amount
    from vcray.cli.hosting import ClusterOptions
    from vcray.cli.rayaddress import check_ray_address
    from vcray.cli.runtime_folder import RuntimeFolder
    from vcray.errors import InputError, Problem

    if passed_on.get("ray_address") is not None:
        if passed_on["runtime"] != "ray":
            raise InputError(Problem("VC0502", "--ray-address", "goes with --runtime ray alone"))
        check_ray_address(str(passed_on["ray_address"]))
    options = ClusterOptions(
        port=port,
        nodes=nodes,
        node_cpu=amount("--node-cpu", node_cpu),
        node_memory=amount("--node-memory", node_memory),
        node_gpu=node_gpu,
        node_pods=node_pods,
        data_dir=data_dir,
        kubeconfig_out=kubeconfig_out,
        operators=_stand_ins(operators),
        control_plane=() if cluster_only else control_plane_command(passed_on, not no_default_scheduler),
        default_scheduler=cluster_only and not no_default_scheduler,
        service_accounts=service_accounts,
    )
    return asyncio.run(_run(options, RuntimeFolder(name)))


def _stand_ins(spelled: str) -> dict[str, str]:
    """Operators by name, each with its gang support. InputError VC0502."""
    if not spelled:
        return {}
    from vcray.cluster.operators.base import VOLCANO
    from vcray.cluster.operators.table import STAND_INS
    from vcray.config.language import unknown_name
    from vcray.errors import InputError, Problem

    chosen: dict[str, str] = {}
    for each in spelled.split(","):
        name, _, gang = each.strip().partition("=")
        if name != "all" and name not in STAND_INS:
            what = unknown_name("stand-in operator", name, tuple(STAND_INS))
            raise InputError(Problem("VC0502", "--operators", what))
        if gang not in ("", VOLCANO):
            what = f"{name}={gang}: an operator makes PodGroups itself with ={VOLCANO}, or none"
            raise InputError(Problem("VC0502", "--operators", what))
        chosen |= dict.fromkeys(STAND_INS if name == "all" else [name], gang)
    return chosen


def control_plane_command(flags: dict[str, object], default_scheduler: bool = True) -> list[str]:
    """The command line of the control plane, with `{kubeconfig}` for the file.

    With `default_scheduler` its fast path for single pods takes those that name no scheduler too.
    """
    command = [sys.executable, "-m", "vcray.cli.preloaded", "run", "--kubeconfig", "{kubeconfig}"]
    command += ["--admission", "--admission-port", "0"]
    if default_scheduler:
        command += ["--agent-scheduler-names", _single_pods(os.environ)]
    for name in _PASSED_ON:
        if flags.get(name) is not None:
            command += [f"--{name.replace('_', '-')}", str(flags[name]).replace("{", "{{").replace("}", "}}")]
    return command


def _single_pods(environment: Mapping[str, str]) -> str:
    """The names of the fast path, as `--agent-scheduler-names` takes them: those it has anyway, and the default one."""
    given = environment.get("VCRAY_AGENT_SCHEDULER_NAMES", AGENT_SCHEDULER_NAME).split(",")
    return ",".join(dict.fromkeys([*filter(None, map(str.strip, given)), DEFAULT_SCHEDULER_NAME]))


async def _run(options: ClusterOptions, folder: RuntimeFolder) -> int:
    """Bring it up, wait for a signal, take it down. The exit code."""
    import asyncio
    import signal

    from vcray.cli.hosting import hosted
    from vcray.errors import Problem, ServerError

    stop, reasons = asyncio.Event(), list[str]()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)

    def fail(why: str) -> None:
        reasons.append(why)
        stop.set()

    async def serve() -> None:
        with _progress() as progress:
            async with hosted(options, folder, _tell, fail, progress) as cluster:
                progress("")
                _welcome(cluster, options, folder)
                await stop.wait()
                progress("end")

    serving, stopped = asyncio.create_task(serve()), asyncio.create_task(stop.wait())
    await asyncio.wait({serving, stopped}, return_when=asyncio.FIRST_COMPLETED)
    if not folder.ready:
        serving.cancel()
    stopped.cancel()
    try:
        await serving
    except asyncio.CancelledError:
        _tell("stopped before it was ready")
    if reasons:
        raise ServerError(Problem("VC0603", "", reasons[0]))
    return 0


def _tell(line: str) -> None:
    click.echo(f"vcray: {line}", err=True)


def _welcome(cluster: Cluster, options: ClusterOptions, folder: RuntimeFolder) -> None:
    nodes = f"{options.nodes} simulated node{'' if options.nodes == 1 else 's'}"
    plane = "with the control plane" if cluster.child else "without a control plane"
    click.echo(f"vcray: cluster '{folder.name}' is ready: {cluster.url}, {nodes}, {plane}")
    click.echo(f"  export KUBECONFIG={options.kubeconfig_out or cluster.kubeconfig}")
    click.echo("  kubectl get nodes")
    other = "" if folder.name == "default" else f" --name {folder.name}"
    click.echo(f"Ctrl-C or `vcray down{other}` stops it.")
    sys.stdout.flush()


@contextmanager
def _progress() -> Iterator[Callable[[str], None]]:
    """What is being done, on a terminal; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda step: None
        return
    from rich.console import Console

    with Console(stderr=True).status("starting the API server") as status:

        def show(step: str) -> None:
            if step:
                status.update("stopping" if step == "end" else f"starting: {step}")
                status.start()
            else:
                status.stop()

        yield show
