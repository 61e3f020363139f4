"""Names inside arguments: keys of a map, and keys that end in the name of a resource.

Volcano decodes maps with mapstructure, which takes a key in any case and passes over those that it does not know; here each of
these is told.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from pydantic import JsonValue

from vcray.errors import Problem, did_you_mean


def known_keys(
    table: Mapping[str, JsonValue], known: Collection[str]
) -> tuple[dict[str, JsonValue], dict[str, str]]:
    """A map under the keys that are known, in whatever case they are written; and key -> what is wrong with it."""
    spelled = {name.lower(): name for name in known}
    found: dict[str, JsonValue] = {}
    wrong: dict[str, str] = {}
    for key, value in table.items():
        name = spelled.get(key.lower())
        if name is None:
            wrong[key] = unknown_key(key, known)
        else:
            found[name] = value
    return found, wrong


def unknown_key(key: str, known: Iterable[str]) -> str:
    """The sentence about a key that nobody reads."""
    return f"unknown key '{key}' has no effect{did_you_mean(key, known)}"


def unlisted(names: Iterable[str], listed: Collection[str], where: str) -> dict[str, str]:
    """Name -> the sentence, for what is said of a name that the list of names (`where`) does not hold."""
    return {
        name: f"has no effect: {where} does not name '{name}'{did_you_mean(name, listed)}"
        for name in names
        if name not in listed
    }


def unlisted_weights(keys: Iterable[str], family: str, text: str, of: str, where: str) -> list[Problem]:
    """What is wrong with keys `FAMILY<resource>`, below `where`, whose resource the list `text` of argument `of` does not name."""
    wrong = unlisted((key.removeprefix(family) for key in keys), listed_names(text), of)
    return [Problem("VC0108", f"{where}.{family}{name}", what) for name, what in wrong.items()]


def listed_names(text: str) -> tuple[str, ...]:
    """The names of a list that is written with commas."""
    return tuple(dict.fromkeys(name for part in text.split(",") if (name := part.strip())))
