"""`vcray crds`."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("crds")
@click.option(
    "--write",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write one file a definition into this folder instead of printing.",
)
def command(folder: Path | None) -> None:
    """Print or write the CustomResourceDefinitions of all Volcano kinds, generated from the models.

    \b
    Examples:
      vcray crds | kubectl apply --server-side -f -
      vcray crds --write deploy/crds
    """
    from vcray.api.crds import all_crds, crd_yaml, write_crds
    from vcray.errors import InputError, Problem

    if folder is None:
        for crd in all_crds():
            click.echo(crd_yaml(crd), nl=False)
        return
    try:
        written = write_crds(folder)
    except OSError as error:
        raise InputError(Problem("VC0503", str(folder), f"cannot be written: {error.strerror}")) from error
    for file in written:
        click.echo(file)
