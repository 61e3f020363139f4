"""`vcray down`: stop what `vcray up` started."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from vcray.cli.runtime_folder import RuntimeFolder

PATIENCE_S = 60.0
_LOOK_S = 0.05


@click.command("down")
@click.option("--name", default="default", show_default=True, help="Name of the cluster.")
def command(name: str) -> None:
    """Stop a cluster that `vcray up` started, and wait until nothing of it is left.

    A data directory stays as it is; the next `vcray up --data-dir` goes on with it.

    \b
    Example:
      vcray down
    """
    from vcray.cli.runtime_folder import RuntimeFolder

    folder = RuntimeFolder(name)
    if not folder.held():
        folder.sweep()
        click.echo(f"vcray: no cluster '{name}' runs")
        return
    stop(folder)
    click.echo(f"vcray: cluster '{name}' is stopped")


def stop(folder: RuntimeFolder) -> None:
    """Tell the cluster to end, by force after a while, and wait until its folder is free."""
    import os
    import signal
    from contextlib import suppress

    deadline, number = time.monotonic() + PATIENCE_S, signal.SIGTERM
    told = 0
    while folder.held():
        running = folder.running()
        if running is not None and running.pid != told:
            told = running.pid
            with suppress(ProcessLookupError):
                os.kill(running.pid, number)
        if time.monotonic() > deadline and number is not signal.SIGKILL:
            number, told = signal.SIGKILL, 0
        time.sleep(_LOOK_S)
    folder.sweep()
