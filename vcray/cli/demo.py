"""`vcray demo`: the main job of vcray, run and checked on a cluster of its own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from vcray.cli.demo_screens import Check, Screen

EXAMPLES = Path(__file__).parents[2] / "examples"
SPEED = 6.0


@click.command("demo")
@click.option(
    "--examples",
    type=click.Path(path_type=Path),
    default=EXAMPLES,
    help="Folder with the YAML files to submit; by default those of the repository.",
)
@click.option(
    "--runtime",
    type=click.Choice(["ray", "local"]),
    default="ray",
    show_default=True,
    help="What the control plane's actors run on.",
)
@click.option(
    "--speed",
    type=click.FloatRange(1, 60),
    default=SPEED,
    show_default=True,
    help="How much faster than life the containers run.",
)
def command(examples: Path, runtime: str, speed: float) -> int:
    """Start a cluster as `vcray up` does, submit plain YAML over HTTPS and check what becomes of it, within 90 seconds.

    Shown are a TensorFlow job as a gang, two gangs that fit only one after the other, a job over its queue's limit, and a
    Ray cluster as pods with a PodGroup. Nothing is left behind. Exit code 1 when a check fails.

    \b
    Examples:
      vcray demo
      vcray demo --runtime local
    """
    import asyncio

    from vcray.cli.demo_screens import screen_for
    from vcray.log import configure

    configure("ERROR")
    with screen_for(sys.stdout) as screen:
        checks = asyncio.run(_play(examples, screen, runtime, speed))
    failed = [check for check in checks if not check.ok]
    if failed:
        for check in failed:
            click.echo(f"demo: FAILED: {check.claim}: {check.found}", err=True)
        click.echo(f"demo: {len(failed)} of {len(checks)} checks failed")
        return 1
    click.echo(f"demo: all {len(checks)} checks passed")
    return 0


async def _play(examples: Path, screen: Screen, runtime: str, speed: float) -> list[Check]:
    """All scenes on a cluster that lives as long as they do; SIGTERM ends both."""
    import asyncio
    import signal

    playing = asyncio.current_task()
    assert playing is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, playing.cancel)
    from vcray.cli.demo_cluster import demo_cluster
    from vcray.cli.demo_scenes import SCENES
    from vcray.cli.demo_stage import Stage

    async with demo_cluster(runtime, speed, screen.say) as client:
        async with Stage(client, screen, examples) as stage:
            for scene in SCENES:
                await scene(stage)
        screen.say("taking the cluster down")
    return stage.checks
