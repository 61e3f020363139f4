"""`vcray version`."""

from __future__ import annotations

import click


@click.command("version")
def command() -> None:
    """Print the version of vcray, and of Python below it.

    \b
    Example:
      vcray version
    """
    import platform
    from importlib.metadata import version

    click.echo(f"vcray {version('vcray')} (Python {platform.python_version()})")
