"""Progress bars on standard error, where that is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

Told: TypeAlias = Callable[[str], None]
"""Hears the name of each thing as it is begun."""
Reached: TypeAlias = Callable[[int, str], None]
"""Hears how many are done, and a word on what goes on."""


@contextmanager
def reached(total: int) -> Iterator[Reached]:
    """A bar that is gone when the work is done; nothing where nobody looks."""
    if not sys.stderr.isatty():
        yield lambda done, words: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda done, words: bar.update(task, completed=done, description=words)


@contextmanager
def each_told(total: int) -> Iterator[Told]:
    """A bar for `total` things that go one after the other."""
    begun = -1
    with reached(total) as tell:

        def next_one(name: str) -> None:
            nonlocal begun
            begun += 1
            tell(begun, name)

        yield next_one
