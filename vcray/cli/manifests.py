"""YAML files with Kubernetes objects, read so that a fault names its file and line."""

from __future__ import annotations

from pathlib import Path

import yaml

from vcray.api.meta import JsonObject
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


def _documents(file: str | Path) -> list[object]:
    try:
        text = Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(Problem("VC0503", str(file), f"cannot be read: {reason}")) from error
    try:
        return [each for each in yaml.safe_load_all(text) if each is not None]
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"{file}:{mark.line + 1}" if mark else str(file)
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
