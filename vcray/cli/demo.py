"""`vcray demo`: the main job of vcray, run and checked on a cluster inside this process."""

from __future__ import annotations

import sys
from pathlib import Path

import click

EXAMPLES = Path(__file__).parents[2] / "examples"


@click.command("demo")
@click.option(
    "--examples",
    type=click.Path(path_type=Path),
    default=EXAMPLES,
    help="Folder with the YAML files to submit; by default those of the repository.",
)
@click.option(
    "--pace",
    type=click.FloatRange(0, 5),
    help="Seconds to wait after each scheduling round; 0.15 on a terminal, else 0.",
)
def command(examples: Path, pace: float | None) -> int:
    """Submit plain YAML to an embedded cluster and check what becomes of it, in about ten seconds.

    Shown are a TensorFlow job as a gang, two gangs that fit only one after the other, a job over its queue's limit, and a
    Ray cluster as pods with a PodGroup. Nothing outside this process is touched. Exit code 1 when a check fails.

    \b
    Examples:
      vcray demo
      vcray demo --pace 1
    """
    import asyncio

    from vcray.cli.demo_scenes import play
    from vcray.cli.demo_stage import screen_for
    from vcray.log import configure

    configure("ERROR")
    waits = pace if pace is not None else 0.15 if sys.stdout.isatty() else 0.0
    with screen_for(sys.stdout) as screen:
        checks = asyncio.run(play(examples, screen, waits))
    failed = [check for check in checks if not check.ok]
    if failed:
        for check in failed:
            click.echo(f"demo: FAILED: {check.claim}: {check.found}", err=True)
        click.echo(f"demo: {len(failed)} of {len(checks)} checks failed")
        return 1
    click.echo(f"demo: all {len(checks)} checks passed")
    return 0
