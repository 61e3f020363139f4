"""How commands print: rich tables on a terminal, plain aligned text in a pipe, data on demand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TextIO

from vcray.api.jsontypes import JsonValue

GAP = 3
NOTHING = "No resources found"
"""What Volcano prints in place of a table without rows."""


def is_terminal(out: TextIO) -> bool:
    """Does somebody watch this stream?"""
    return out.isatty()


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]], out: TextIO) -> None:
    """Print rows under their columns; in a pipe each column is as wide as its longest cell and three spaces."""
    if is_terminal(out):
        _print_rich(columns, rows, out)
    else:
        out.write(plain_table(columns, rows))


def plain_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The table as plain text without trailing spaces, columns in upper case as kubectl has them."""
    lines = [[column.upper() for column in columns], *rows]
    widths = [max(len(line[index]) for line in lines) + GAP for index in range(len(columns))]
    return "".join(
        "".join(f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True)).rstrip() + "\n"
        for line in lines
    )


def padded_table(rows: Sequence[Sequence[str]], widths: Sequence[int]) -> str:
    """Rows, the titles first, as Volcano prints them: cells to the left, every column padded, the last one too.

    A cell that is too long pushes the rest of its line."""
    return "".join(
        "".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)) + "\n" for row in rows
    )


def _print_rich(columns: Sequence[str], rows: Sequence[Sequence[str]], out: TextIO) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, GAP, 0, 0))
    for column in columns:
        table.add_column(column.upper(), overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell, _STYLES.get(cell, "")) for cell in row))
    Console(file=out).print(table)


_STYLES = {
    "holds": "green",
    "fails": "bold red",
    "ok": "green",
    "FAILED": "bold red",
    "FAULT": "bold red",
    "skipped": "dim",
}


def print_data(data: JsonValue, form: str, out: TextIO) -> None:
    """Print data as `json` (two spaces of indentation) or `yaml`."""
    if form == "yaml":
        import yaml

        yaml.safe_dump(data, out, sort_keys=False, allow_unicode=True, width=110)
    else:
        json.dump(data, out, indent=2, ensure_ascii=False)
        out.write("\n")
