"""`vcray nodes`: simulated nodes on a cluster, until Ctrl-C."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from vcray.api.meta import JsonObject
    from vcray.cluster.kubelet import FleetOptions, NodeShape


@click.command("nodes")
@click.option(
    "--kubeconfig",
    type=click.Path(path_type=Path),
    help="The kubeconfig file; without it KUBECONFIG, then ~/.kube/config, then the pod's service account.",
)
@click.option("--context", help="The context of the kubeconfig; without it the current one.")
@click.option("--count", type=click.IntRange(1, 30000), default=3, show_default=True, help="How many nodes.")
@click.option(
    "--prefix", default="node", show_default=True, help="How their names begin: PREFIX-0, PREFIX-1."
)
@click.option("--cpu", default="8", show_default=True, help="CPUs of each node.")
@click.option("--memory", default="16Gi", show_default=True, help="Memory of each node.")
@click.option(
    "--pods", type=click.IntRange(1), default=110, show_default=True, help="Most pods of each node."
)
@click.option("--gpu", type=click.IntRange(0), default=0, show_default=True, help="GPUs of each node.")
@click.option("--gpu-resource", default="nvidia.com/gpu", show_default=True, help="What GPUs are called.")
@click.option("--resource", "resources", multiple=True, metavar="NAME=AMOUNT", help="A further resource.")
@click.option("--label", "labels", multiple=True, metavar="NAME=VALUE", help="A label of each node.")
@click.option("--taint", "taints", multiple=True, metavar="NAME=VALUE:EFFECT", help="A taint of each node.")
@click.option(
    "--start-seconds",
    type=click.FloatRange(0),
    default=1.0,
    show_default=True,
    help="From binding to Running.",
)
@click.option(
    "--lease-seconds",
    type=click.FloatRange(0),
    default=10.0,
    show_default=True,
    help="Between renewals of a node's lease; 0 for no leases.",
)
@click.option("--keep", is_flag=True, help="Leave the nodes in place at the end.")
def command(
    kubeconfig: Path | None,
    context: str | None,
    count: int,
    prefix: str,
    cpu: str,
    memory: str,
    pods: int,
    gpu: int,
    gpu_resource: str,
    resources: tuple[str, ...],
    labels: tuple[str, ...],
    taints: tuple[str, ...],
    start_seconds: float,
    lease_seconds: float,
    keep: bool,
) -> None:
    """Add simulated nodes to any cluster, real or embedded, and play their kubelets until SIGINT or SIGTERM.

    Pods that are bound to them become Running, run their commands in simulated time, and end as their commands end;
    nothing is executed. The nodes go at the end. `kubectl annotate node NAME vcray.io/stopped=true` cuts one's power.

    \b
    Examples:
      vcray nodes --count 100 --gpu 8
      vcray nodes --kubeconfig ~/.kube/config --prefix gpu --label pool=gpu --taint gpu=yes:NoSchedule
    """
    import asyncio

    from vcray.cli.amounts import amount
    from vcray.cluster.kubelet import FleetOptions, NodeShape
    from vcray.log import configure

    configure("info")
    shape = NodeShape(
        cpu=amount("--cpu", cpu),
        memory=amount("--memory", memory),
        pods=pods,
        gpu=gpu,
        gpu_resource=gpu_resource,
        extra={name: amount("--resource", value) for name, value in map(_Pair("--resource"), resources)},
        labels=dict(map(_Pair("--label"), labels)),
        taints=tuple(map(_taint, taints)),
    )
    options = FleetOptions(prefix, prefix, start_seconds, lease_seconds)
    asyncio.run(_run(kubeconfig, context, count, shape, options, keep))


async def _run(
    kubeconfig: Path | None,
    context: str | None,
    count: int,
    shape: NodeShape,
    options: FleetOptions,
    keep: bool,
) -> None:
    import asyncio
    import signal

    from vcray.cluster.kubelet import Fleet
    from vcray.errors import InputError, Problem
    from vcray.kube.auth import load

    stop = asyncio.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(name, stop.set)
    transport = await load(kubeconfig, context)
    fleet = Fleet(transport, count, shape, options)
    try:
        played = await fleet.played()
        if played:
            what = f"somebody plays {played[0]}, as its lease tells; choose another --prefix, or end that one first"
            raise InputError(Problem("VC0502", f"--prefix {options.prefix}", what))
        await fleet.start()
        click.echo(
            f"{count} nodes {options.prefix}-0 to {options.prefix}-{count - 1} are Ready; Ctrl-C ends them"
        )
        await stop.wait()
    finally:
        await fleet.stop(remove=not keep)
        await transport.close()


class _Pair:
    """Reads `NAME=VALUE`."""

    def __init__(self, flag: str) -> None:
        self._flag = flag

    def __call__(self, text: str) -> tuple[str, str]:
        from vcray.errors import InputError, Problem

        name, equals, value = text.partition("=")
        if not name or not equals:
            raise InputError(Problem("VC0502", self._flag, f"must be NAME=VALUE, got '{text}'"))
        return name, value


def _taint(text: str) -> JsonObject:
    from vcray.errors import InputError, Problem

    pair, _, effect = text.rpartition(":")
    if effect not in ("NoSchedule", "PreferNoSchedule", "NoExecute") or not pair:
        raise InputError(
            Problem("VC0502", "--taint", f"must be NAME=VALUE:EFFECT with a taint effect, got '{text}'")
        )
    key, _, value = pair.partition("=")
    return {"key": key, "value": value, "effect": effect}
