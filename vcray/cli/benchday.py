"""`vcray bench day`."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

import click


@click.command("day")
@click.option("--jobs", type=click.IntRange(0), default=500, show_default=True, help="vcjobs.")
@click.option("--ray", type=click.IntRange(0), default=200, show_default=True, help="RayClusters.")
@click.option("--pytorch", type=click.IntRange(0), default=200, show_default=True, help="PyTorchJobs.")
@click.option("--spark", type=click.IntRange(0), default=100, show_default=True, help="SparkApplications.")
@click.option(
    "--queues", type=click.IntRange(1), default=6, show_default=True, help="Queues, of weights 1, 2, 3, ..."
)
@click.option("--nodes", type=click.IntRange(1), default=500, show_default=True, help="Nodes of eight cores.")
@click.option("--seed", type=int, default=0, show_default=True, help="Another seed is another day.")
@click.option("--json", "only_json", is_flag=True, help="Print the JSON line only.")
def day(
    jobs: int, ray: int, pytorch: int, spark: int, queues: int, nodes: int, seed: int, only_json: bool
) -> int:
    """Play a mixed day of a platform in virtual time: objects of four kinds, queues, nodes that fail.

    What ended, what is left behind, and how far each queue's share was from its weight's while all had demand. The exit code is 1
    when something did not end or was left. The last line is one JSON object.

    \b
    Example:
      vcray bench day --jobs 20 --ray 8 --pytorch 8 --spark 4 --nodes 40 --queues 2
    """
    from vcray.bench.day import run_day
    from vcray.bench.dayplan import plan_of
    from vcray.cli.output import print_table
    from vcray.cli.progress import reached

    counts = {"Job": jobs, "RayCluster": ray, "PyTorchJob": pytorch, "SparkApplication": spark}
    with reached(sum(counts.values())) as tell:
        result = run_day(plan_of(counts, queues, nodes, seed=seed), tell=tell)
    if not only_json:
        rows = [
            [kind, f"{count:,}", f"{result.finished.get(kind, 0):,}", f"{result.failed.get(kind, 0):,}"]
            for kind, count in result.submitted.items()
        ]
        print_table(["kind", "submitted", "ended", "failed"], rows, sys.stdout)
        shares = [[queue, f"{error:+.1%}"] for queue, error in result.share_error.items()]
        print_table(["queue", "share against its weight"], shares, sys.stdout)
    click.echo(json.dumps(asdict(result)))
    return 0 if result.clean else 1
