"""`vcray bench`: measurements of decisions and of the embedded cluster."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vcray.cli.benchday import day

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def _show(measure: Callable[[], DataclassInstance], name: str, only_json: bool) -> None:
    """Run a measurement and print its figures, the last line as JSON. A ValueError of it is told as VC0502."""
    from vcray.cli.output import print_table
    from vcray.errors import InputError, Problem

    try:
        result = measure()
    except ValueError as error:
        raise InputError(Problem("VC0502", name, str(error))) from error
    figures = asdict(result)
    if not only_json:
        rows = [[figure, f"{value:,}"] for figure, value in figures.items()]
        print_table(["figure", "value"], rows, sys.stdout)
    click.echo(json.dumps(figures))


@click.group("bench")
def command() -> None:
    """Measure scheduling decisions and the embedded cluster.

    \b
    Examples:
      vcray bench allocate --nodes 10000 --pods 10000 --gang 64 --shapes 20
      vcray bench stuck --nodes 10000 --gangs 1000
      vcray bench reclaim --nodes 500 --pods 4000
      vcray bench agent --nodes 10000
      vcray bench admission --queues 1000
      vcray bench hierarchy --nodes 10000 --pods 10000 --queues 50
      vcray bench cluster --nodes 1000 --pods 10000
      vcray bench controllers --jobs 1000 --pods 10
      vcray bench day --jobs 20 --ray 8 --pytorch 8 --spark 4 --nodes 40 --queues 2
    """


@command.command("allocate")
@click.option("--nodes", type=click.IntRange(1), default=1000, show_default=True, help="Nodes, all empty.")
@click.option("--pods", type=click.IntRange(1), default=1000, show_default=True, help="Pods to place.")
@click.option(
    "--gang",
    type=click.IntRange(1),
    default=64,
    show_default=True,
    help="Pods of a gang; the last takes the rest.",
)
@click.option(
    "--shapes", type=click.IntRange(1), default=20, show_default=True, help="Different kinds of pods."
)
@click.option("--json", "only_json", is_flag=True, help="Print the JSON line only.")
def allocate(nodes: int, pods: int, gang: int, shapes: int, only_json: bool) -> None:
    """Measure one decision that places gangs on an empty cluster.

    Measured is the wall time of the decision with the actions enqueue, allocate, backfill and the configuration that
    Volcano's Helm chart installs, over a prepared snapshot; one warm-up is discarded. The last line is one JSON object.

    \b
    Example:
      vcray bench allocate --nodes 10000 --pods 10000 --gang 64 --shapes 20
    """
    from vcray.bench import run_allocate

    _show(lambda: run_allocate(nodes, pods, gang, shapes), "bench allocate", only_json)


@command.command("stuck")
@click.option("--nodes", type=click.IntRange(1), default=1000, show_default=True, help="Nodes, nearly full.")
@click.option(
    "--gangs", type=click.IntRange(1), default=100, show_default=True, help="Gangs that cannot fit."
)
@click.option("--gang", type=click.IntRange(1), default=8, show_default=True, help="Pods of each gang.")
@click.option(
    "--shapes", type=click.IntRange(1), default=20, show_default=True, help="Different kinds of pods."
)
@click.option("--json", "only_json", is_flag=True, help="Print the JSON line only.")
def stuck(nodes: int, gangs: int, gang: int, shapes: int, only_json: bool) -> None:
    """Measure rounds in which gangs wait for room that nobody frees.

    Milliseconds of processor time a round: the first, one after a node lost room, one after nothing changed, and the same
    without the gangs. The last line is one JSON object.

    \b
    Example:
      vcray bench stuck --nodes 10000 --gangs 1000 --gang 8 --shapes 20
    """
    from vcray.bench.stuck import run_stuck

    _show(lambda: run_stuck(nodes, gangs, gang, shapes), "bench stuck", only_json)


@command.command("hierarchy")
@click.option("--nodes", type=click.IntRange(1), default=1000, show_default=True, help="Nodes, all empty.")
@click.option("--pods", type=click.IntRange(1), default=1000, show_default=True, help="Pods to place.")
@click.option("--gang", type=click.IntRange(1), default=8, show_default=True, help="Pods of a gang.")
@click.option(
    "--shapes", type=click.IntRange(1), default=20, show_default=True, help="Different kinds of pods."
)
@click.option(
    "--queues", type=click.IntRange(1), default=50, show_default=True, help="Leaf queues, in three levels."
)
@click.option("--json", "only_json", is_flag=True, help="Print the JSON line only.")
def hierarchy(nodes: int, pods: int, gang: int, shapes: int, queues: int, only_json: bool) -> None:
    """Measure what a tree of queues costs, against the same queues side by side.

    Processor time of a decision with hierarchical capacity, of one with proportion over the leaf queues alone, and the first
    over the second. The last line is one JSON object.

    \b
    Example:
      vcray bench hierarchy --nodes 10000 --pods 10000 --queues 50
    """
    from vcray.bench.hierarchy import run_hierarchy

    _show(lambda: run_hierarchy(nodes, pods, gang, shapes, queues), "bench hierarchy", only_json)


@command.command("preempt")
@click.option("--nodes", type=click.IntRange(1), default=500, show_default=True, help="Nodes, all full.")
@click.option("--pods", type=click.IntRange(1), default=4000, show_default=True, help="Pods that claim.")
@click.option("--json", "only_json", is_flag=True, help="Print the JSON line only.")
def preempt(nodes: int, pods: int, only_json: bool) -> None:
    """Measure one decision in which jobs of high priority take GPUs from jobs of low priority.

    Each node runs eight one-GPU jobs; as many as are asked for wait in the same queue. Measured is the wall time of the
    decision, one warm-up discarded. The last line is one JSON object.

    \b
    Example:
      vcray bench preempt --nodes 500 --pods 4000
    """
    from vcray.bench.crowded import run_crowded

    _show(lambda: run_crowded("preempt", nodes, pods), "bench preempt", only_json)


@command.command("reclaim")
@click.option("--nodes", type=click.IntRange(1), default=500, show_default=True, help="Nodes, all full.")
@click.option("--pods", type=click.IntRange(1), default=4000, show_default=True, help="Pods that claim.")
@click.option("--json", "only_json", is_flag=True, help="Print the JSON line only.")
def reclaim(nodes: int, pods: int, only_json: bool) -> None:
    """Measure one decision in which a queue takes its half of a full cluster back.

    Each node runs eight one-GPU jobs of one queue; as many as are asked for wait in another queue of equal weight. Measured
    is the wall time of the decision, one warm-up discarded. The last line is one JSON object.

    \b
    Example:
      vcray bench reclaim --nodes 500 --pods 4000
    """
    from vcray.bench.crowded import run_crowded

    _show(lambda: run_crowded("reclaim", nodes, pods), "bench reclaim", only_json)


@command.command("mixed")
@click.option("--nodes", type=click.IntRange(1), default=500, show_default=True, help="Nodes.")
@click.option("--rounds", type=click.IntRange(6), default=30, show_default=True, help="Rounds.")
@click.option("--arrivals", type=click.IntRange(1), default=110, show_default=True, help="New jobs a round.")
@click.option("--json", "only_json", is_flag=True, help="Print the JSON line only.")
def mixed(nodes: int, rounds: int, arrivals: int, only_json: bool) -> None:
    """Measure a busy cluster over many rounds: jobs of every size come, wait, run, are preempted, reclaimed, and end.

    Milliseconds of processor time a round for each of its parts. The last line is one JSON object.

    \b
    Example:
      vcray bench mixed --nodes 1000 --rounds 40 --arrivals 220
    """
    from vcray.bench.mixed import run_mixed

    _show(lambda: run_mixed(nodes, rounds, arrivals), "bench mixed", only_json)


@command.command("cluster")
@click.option("--nodes", type=click.IntRange(1), default=1000, show_default=True, help="Simulated nodes.")
@click.option("--pods", type=click.IntRange(1), default=5000, show_default=True, help="Pods to run.")
@click.option(
    "--watchers", type=click.IntRange(1), default=100, show_default=True, help="Watches of the last step."
)
@click.option(
    "--jobs", type=click.IntRange(0), default=0, show_default=True, help="vcjobs, scheduled as gangs."
)
@click.option("--gang", type=click.IntRange(1), default=8, show_default=True, help="Pods of each vcjob.")
@click.option("--json", "only_json", is_flag=True, help="Print the JSON line only.")
def cluster(nodes: int, pods: int, watchers: int, jobs: int, gang: int, only_json: bool) -> None:
    """Measure the embedded cluster: nodes, pods created, bound and Running, watches, memory.

    All runs in this process; the binder decides nothing and the kubelets start containers at once. The last line is one
    JSON object.

    \b
    Examples:
      vcray bench cluster --nodes 10000 --pods 100000
      vcray bench cluster --nodes 1000 --pods 1000 --jobs 100 --gang 8
    """
    from vcray.bench.cluster import Sizes, Step, run_cluster
    from vcray.cli.output import print_table

    def tell(step: Step) -> None:
        if not only_json:
            click.echo(f"{step.name}: {step.per_s:,.0f} a second", err=True)

    steps = run_cluster(Sizes(nodes, pods, watchers, jobs, gang), tell)
    if not only_json:
        rows = [
            [s.name, f"{s.count:,}", f"{s.seconds:,}", f"{s.per_s:,}", f"{s.cpu_s:,}", f"{s.rss_mib:,}"]
            for s in steps
        ]
        print_table(["step", "count", "seconds", "a second", "CPU seconds", "MiB"], rows, sys.stdout)
    click.echo(json.dumps({"nodes": nodes, "pods": pods, "steps": [asdict(step) for step in steps]}))


@command.command("controllers")
@click.option("--jobs", type=click.IntRange(1), default=100, show_default=True, help="vcjobs to run.")
@click.option("--pods", type=click.IntRange(1), default=10, show_default=True, help="Pods of each vcjob.")
@click.option("--nodes", type=click.IntRange(1), default=100, show_default=True, help="Simulated nodes.")
@click.option(
    "--kubeconfig",
    type=click.Path(path_type=Path),
    help="A cluster with Volcano's definitions and no control plane; without it an embedded one is started.",
)
@click.option("--json", "only_json", is_flag=True, help="Print the JSON line only.")
def controllers(jobs: int, pods: int, nodes: int, kubeconfig: Path | None, only_json: bool) -> int:
    """Measure the controllers: vcjobs from their submission until all are complete, over HTTPS.

    Processor time of the controllers alone, their writes by verb and resource, and writes that changed nothing. The exit code
    is 1 when a job does not complete. The last line is one JSON object.

    \b
    Examples:
      vcray bench controllers --jobs 1000 --pods 10
      vcray bench controllers --kubeconfig ~/.kube/config --jobs 200
    """
    from vcray.bench.controllers import Sizes, run_controllers
    from vcray.cli.output import print_table
    from vcray.errors import InputError, Problem

    try:
        result = run_controllers(Sizes(jobs, pods, nodes), kubeconfig)
    except ValueError as error:
        raise InputError(Problem("VC0502", "bench controllers", str(error))) from error
    if not only_json:
        rows = [
            [figure, f"{value:,}"]
            for figure, value in asdict(result).items()
            if isinstance(value, int | float)
        ]
        rows += [[f"writes: {call}", f"{count:,}"] for call, count in result.writes.items()]
        rows += [[f"changed nothing: {call}", f"{count:,}"] for call, count in result.unchanged.items()]
        rows += [[f"refused: {call}", f"{count:,}"] for call, count in result.refused.items()]
        print_table(["figure", "value"], rows, sys.stdout)
    click.echo(json.dumps(asdict(result)))
    return 0 if result.completed == jobs else 1


@command.command("agent")
@click.option("--nodes", type=click.IntRange(1), default=1000, show_default=True, help="Nodes.")
@click.option("--running", type=click.IntRange(0), default=1000, show_default=True, help="Pods that run.")
@click.option(
    "--pods", type=click.IntRange(1), default=200, show_default=True, help="Single pods, one by one."
)
@click.option(
    "--shapes", type=click.IntRange(1), default=5, show_default=True, help="Different kinds of pods."
)
@click.option("--json", "only_json", is_flag=True, help="Print the JSON line only.")
def agent(nodes: int, running: int, pods: int, shapes: int, only_json: bool) -> None:
    """Measure single pods at the agent's fast path, from the watch event to the decision.

    Milliseconds of wall time a pod: the event becomes a row, the cache takes it in, a turn decides. The last line is one
    JSON object.

    \b
    Example:
      vcray bench agent --nodes 10000 --running 10000
    """
    from vcray.bench.agent import run_agent

    _show(lambda: run_agent(nodes, running, pods, shapes), "bench agent", only_json)


@command.command("admission")
@click.option("--queues", type=click.IntRange(1), default=1000, show_default=True, help="Queues that exist.")
@click.option("--tasks", type=click.IntRange(1), default=4, show_default=True, help="Tasks of a job.")
@click.option(
    "--reviews", type=click.IntRange(1), default=500, show_default=True, help="Reviews of each path."
)
@click.option("--clients", type=click.IntRange(1), default=4, show_default=True, help="Reviews at once.")
@click.option("--json", "only_json", is_flag=True, help="Print the JSON line only.")
def admission(queues: int, tasks: int, reviews: int, clients: int, only_json: bool) -> None:
    """Measure each webhook: how long a review takes over HTTPS, with several at once, and in the rule alone.

    Milliseconds of wall time, and of processor time a review (CPU); clients and server share this process. The last line is one JSON object.

    \b
    Example:
      vcray bench admission --queues 1000 --clients 4
    """
    from vcray.bench.admission import run_admission
    from vcray.cli.output import print_table

    results = run_admission(queues, tasks, reviews, clients)
    if not only_json:
        rows = [
            [r.path, *(f"{ms:,}" for ms in (r.p50_ms, r.p99_ms, r.cpu_ms, r.rule_p50_ms, r.rule_p99_ms))]
            for r in results
        ]
        heads = ["path", "p50 ms", "p99 ms", "CPU ms", "rule p50 ms", "rule p99 ms"]
        print_table(heads, rows, sys.stdout)
    click.echo(json.dumps({"paths": [asdict(result) for result in results]}))


@command.command("topology")
@click.option("--nodes", type=click.IntRange(2), default=1000, show_default=True, help="Nodes, in racks.")
@click.option("--pods", type=click.IntRange(1), default=1000, show_default=True, help="Pods to place.")
@click.option("--gang", type=click.IntRange(1), default=32, show_default=True, help="Pods of a gang.")
@click.option(
    "--shapes", type=click.IntRange(1), default=20, show_default=True, help="Different kinds of pods."
)
@click.option("--load", "loads", multiple=True, help="Only this load; may be given several times.")
@click.option("--json", "only_json", is_flag=True, help="Print the JSON line only.")
def topology(nodes: int, pods: int, gang: int, shapes: int, loads: tuple[str, ...], only_json: bool) -> None:
    """Measure what the network costs: one decision a load, on an empty cluster of racks and spines.

    Loads: off, normal (pods packed by HyperNode), hard and soft gangs, groups (sub-groups of 8), stuck (gangs that cannot fit). The
    last line is one JSON object.

    \b
    Example:
      vcray bench topology --nodes 10000 --pods 5000
    """
    from vcray.bench.topology import LOADS, run_topology
    from vcray.cli.output import print_table
    from vcray.errors import InputError, Problem

    try:
        results = run_topology(nodes, pods, gang, shapes, loads or tuple(LOADS))
    except ValueError as error:
        raise InputError(Problem("VC0502", "bench topology", str(error))) from error
    if not only_json:
        rows = [
            [r.load, f"{r.placed:,}", f"{r.wall_s:,}", f"{r.cpu_s:,}", f"{r.pods_per_s:,}"] for r in results
        ]
        print_table(["load", "placed", "seconds", "CPU seconds", "pods a second"], rows, sys.stdout)
    click.echo(json.dumps([asdict(result) for result in results]))


command.add_command(day)
