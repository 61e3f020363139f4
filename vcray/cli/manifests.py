"""YAML files with Kubernetes objects, read so that a fault names its file and line."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from vcray.api.jsontypes import JsonObject
from vcray.errors import InputError, Problem


def read_objects(file: str | Path) -> list[JsonObject]:
    """All objects of a file, `---` between them. InputError VC0503, VC0201, VC0202 with the place of the fault."""
    return [_checked(each, file, number) for number, each in enumerate(_documents(file), 1)]


def read_one(file: str | Path) -> JsonObject:
    """The first map of a file, whatever it says it is. InputError when there is none."""
    first = next(iter(_documents(file)), None)
    if not isinstance(first, dict):
        raise InputError(Problem("VC0202", str(file), "the file holds no object"))
    return first


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a file: where it begins, and the map that it is or what is wrong with it."""

    where: str
    body: JsonObject = field(default_factory=dict)
    fault: InputError | None = None


def read_apart(file: str | Path) -> list[Document]:
    """Each document of a file by itself, so that one's fault hides no others; empty ones are left out.

    InputError VC0503 when the file cannot be read."""
    parts: list[tuple[int, list[str]]] = [(0, [])]
    for number, line in enumerate(_text(file).split("\n")):
        if _MARKER.match(line):
            parts.append((number, [line.removeprefix("---")]))
        else:
            parts[-1][1].append(line)
    read = (_read_alone(file, first, "\n".join(lines)) for first, lines in parts)
    return [each for each in read if each]


_MARKER = re.compile(r"---(\s|$)")
"""Where a document begins: three hyphens mean so even within a block of text."""


def _read_alone(file: str | Path, first_line: int, text: str) -> Document | None:
    where = f"{file}:{first_line + 1}"
    try:
        documents = _parsed(file, text, first_line)
    except InputError as error:
        return Document(where, fault=error)
    if not documents:
        return None
    if not isinstance(documents[0], dict):
        return Document(where, fault=InputError(Problem("VC0202", where, "an object is a map")))
    return Document(where, documents[0])


def _documents(file: str | Path) -> list[object]:
    return _parsed(file, _text(file))


def _text(file: str | Path) -> str:
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(Problem("VC0503", str(file), f"cannot be read: {reason}")) from error


def _parsed(file: str | Path, text: str, first_line: int = 0) -> list[object]:
    """The documents of a text that begins at that line of the file, counted from 0; empty ones left out."""
    try:
        return [each for each in yaml.safe_load_all(text) if each is not None]
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{file}:{first_line + mark.line + 1}" if mark else str(file)
        what = f"not YAML: {getattr(error, 'problem', None) or error}; mend this line"
        raise InputError(Problem("VC0201", where, what)) from error


def _checked(document: object, file: str | Path, number: int) -> JsonObject:
    where = f"{file}, document {number}"
    if not isinstance(document, dict):
        raise InputError(Problem("VC0202", where, "an object is a map with apiVersion, kind and metadata"))
    missing = [key for key in ("apiVersion", "kind") if not isinstance(document.get(key), str)]
    if missing:
        raise InputError(Problem("VC0202", where, f"{' and '.join(missing)} must be given as text"))
    return document
