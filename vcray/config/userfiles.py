"""Plugins and actions of a user's own on disk: one Python file or package each, imported again when its content changed.

Volcano's --plugins-dir holds compiled Go; here it holds Python. The name is the file's, with - for _. A file is imported when
a configuration names it, under a module name of its own, so that it cannot hide a package that is installed.
"""

from __future__ import annotations

import importlib.util
import sys
import traceback
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from types import ModuleType

from vcray.errors import ConfigError, Problem

PREFIX = "vcray_user."
"""Module names of users' files begin with this."""

_loaded: dict[Path, tuple[str, ModuleType]] = {}


def found_in(folder: Path) -> dict[str, Path]:
    """Name -> file or package folder. ConfigError VC0503 when the folder cannot be read."""
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        raise ConfigError(Problem("VC0503", str(folder), f"cannot be read: {error.strerror}")) from error
    found: dict[str, Path] = {}
    problems = []
    for entry in filter(is_extension, entries):
        first = found.setdefault(name_of(entry), entry)
        if first is not entry:
            what = f"'{name_of(entry)}' is offered by {first.name} and by {entry.name}; rename one of them"
            problems.append(Problem("VC0110", str(folder), what))
    if problems:
        raise ConfigError(problems)
    return found


def is_extension(path: Path) -> bool:
    """Is this a Python file or package that may hold a plugin or an action?"""
    if path.name.startswith(("_", ".")):
        return False
    return path.suffix == ".py" if path.is_file() else (path / "__init__.py").is_file()


def name_of(path: Path) -> str:
    """The name that a configuration calls it by."""
    return path.stem.replace("_", "-")


def digest(path: Path) -> str:
    """A short text that changes with the content of a file, or of all Python files below a folder."""
    sink = blake2b(digest_size=16)
    for file in _sources(path):
        try:
            content = file.read_bytes()
        except OSError:  # it went away meanwhile: that is a change too
            content = b""
        sink.update(f"{file}\0{len(content)}\0".encode())
        sink.update(content)
    return sink.hexdigest()


def load(path: Path) -> ModuleType:
    """The module of a file or package, the same one until its content changes. ConfigError VC0110 with the line at fault when it
    cannot be imported; what was imported before is then untouched."""
    now = digest(path)
    known = _loaded.get(path)
    if known is not None and known[0] == now:
        return known[1]
    name = PREFIX + path.stem
    before = {each: module for each, module in sys.modules.items() if _is_part(each, name)}
    for each in before:
        del sys.modules[each]
    try:
        module = _import(path, name)
    except BaseException as error:
        for each in [each for each in sys.modules if _is_part(each, name)]:
            del sys.modules[each]
        sys.modules.update(before)
        if not isinstance(error, (Exception, SystemExit)):  # interrupted
            raise
        raise ConfigError(
            Problem("VC0110", _where(path, error), f"cannot be imported: {_said(error)}")
        ) from error
    _loaded[path] = (now, module)
    return module


def endless(path: Path, seconds: float, error: BaseException) -> Problem:
    """What is wrong with a file, or one of a folder's, whose import was interrupted by `error` (VC0110)."""
    what = f"was not imported within {seconds:g} s; look for a loop at its top level"
    return Problem("VC0110", _where(path, error), what)


def _import(path: Path, name: str) -> ModuleType:
    """Import from the source itself: compiled files are told apart by whole seconds, which a quick edit defeats."""
    package = path.is_dir()
    source = path / "__init__.py" if package else path
    where = [str(path)] if package else None
    spec = importlib.util.spec_from_file_location(name, source, submodule_search_locations=where)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        exec(compile(source.read_bytes(), str(source), "exec"), module.__dict__)
    finally:
        sys.dont_write_bytecode = writes
    return module


def _sources(path: Path) -> Iterator[Path]:
    if path.is_dir():
        yield from sorted(file for file in path.rglob("*.py") if file.is_file())
    else:
        yield path


def _is_part(module: str, name: str) -> bool:
    return module == name or module.startswith(f"{name}.")


def _where(path: Path, error: BaseException) -> str:
    """The file and line of the user's code at which it failed."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    inside = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).is_relative_to(path)
    ]
    return f"{inside[-1].filename}:{inside[-1].lineno}" if inside else str(path)


def _said(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return f"not Python: {error.msg}"
    if isinstance(error, ConfigError):
        return "; ".join(problem.what for problem in error.problems)
    return f"{type(error).__name__}: {error}"
