"""Manifests as users misspell them: lines of the examples lost, doubled, moved, indented, or with another value."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any, Final

import yaml

from tests.fuzz.drawn import ODD
from vcray.api.meta import JsonObject

TEXTS: Final = tuple(
    path.read_text() for path in sorted((Path(__file__).parents[2] / "examples").glob("*.yaml"))
)


def mutated(seed: int) -> list[JsonObject]:
    """The documents of one example after up to four mistakes; none where they left no YAML."""
    dice = Random(seed)
    lines = dice.choice(TEXTS).splitlines()
    for _ in range(dice.randint(1, 4)):
        at = dice.randrange(len(lines))
        match dice.randrange(5):
            case 0:
                del lines[at]
            case 1:
                lines.insert(at, lines[at])
            case 2:
                lines[at] = dice.choice(("  ", " ", "- ", "\t")) + lines[at]
            case 3:
                lines[at] = lines[at].lstrip()
            case _:
                key, colon, _ = lines[at].partition(":")
                lines[at] = (
                    f"{key}{colon} {dice.choice((*ODD, '~', '[]', '{}', '-1', '!!binary x', '2027-01-01'))}"
                )
        lines = lines or [""]
    try:
        documents: list[Any] = list(yaml.safe_load_all("\n".join(lines)))
    except (yaml.YAMLError, ValueError, RecursionError):
        return []
    return [_plain(each) for each in documents if isinstance(each, dict)]


def _plain(value: Any) -> Any:
    """As kubectl sends it: text for keys, and for what JSON has no form."""
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)
