"""Where a running local cluster keeps its state: one folder a cluster, below a folder of the user's own.

The folder is locked as long as `vcray up` runs, so a second one is told at once, and what a killed one left behind is known
to be nobody's. It goes away with the cluster, and the folder above it with the last one.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
import stat
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from vcray.errors import InputError, Problem
from vcray.files import write_atomically

STATE = "state.json"
KUBECONFIG = "kubeconfig"
LOG = "control-plane.log"
DEFAULT_NAME = "default"
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class Running:
    """What a cluster tells of itself. `ready` is False while it starts; `pid` is the process to stop."""

    pid: int
    ready: bool = False
    url: str = ""
    data_dir: str = ""


def runtime_root() -> Path:
    """The folder of all local clusters of this user."""
    given = os.environ.get("XDG_RUNTIME_DIR", "")
    if given and Path(given).is_dir():
        return Path(given) / "vcray"
    return Path(tempfile.gettempdir()) / f"vcray-{os.getuid()}"


class RuntimeFolder:
    """The folder of one cluster. InputError VC0502 when the name cannot be one."""

    def __init__(self, name: str = DEFAULT_NAME) -> None:
        if _NAME.fullmatch(name) is None:
            what = f"must be lower-case letters, digits and '-', at most 32, got {name!r}"
            raise InputError(Problem("VC0502", "--name", what))
        self.name = name
        self.path = runtime_root() / name
        self.ready = False
        self._lock: int | None = None

    @property
    def kubeconfig(self) -> Path:
        """The kubeconfig of the running cluster."""
        return self.path / KUBECONFIG

    @property
    def log(self) -> Path:
        """What the control plane says."""
        return self.path / LOG

    def acquire(self) -> None:
        """Take the folder, emptied of what a killed cluster left. InputError VC0601 when a cluster of this name runs."""
        try:
            _make_private(self.path.parent)
            while not self._lock_it():
                pass
        except OSError as error:
            what = f"the folder of running clusters cannot be used: {error.strerror or error}"
            raise InputError(Problem("VC0503", str(self.path), what)) from error
        for left in self.path.iterdir():
            shutil.rmtree(left) if left.is_dir() and not left.is_symlink() else left.unlink()
        self.write(Running(os.getpid()))

    def _lock_it(self) -> bool:
        """Lock the folder; False when it went away meanwhile, as the folder of a cluster that just stopped does."""
        _make_private(self.path)
        lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            raise self._taken() from None
        if not _same(lock, self.path):
            os.close(lock)
            return False
        self._lock = lock
        return True

    def _taken(self) -> InputError:
        there = self.running()
        who = f" (process {there.pid}{f', {there.url}' if there.url else ''})" if there else ""
        other = "" if self.name == DEFAULT_NAME else f" --name {self.name}"
        what = f"runs already{who}; stop it with `vcray down{other}`, or start another one with --name"
        return InputError(Problem("VC0601", f"cluster '{self.name}'", what))

    def write(self, state: Running) -> None:
        """Tell others how the cluster stands."""
        self.ready = state.ready
        write_atomically(self.path / STATE, json.dumps(asdict(state)).encode())

    def release(self) -> None:
        """Remove the folder and let go of its name. Safe to call twice, and before `acquire`."""
        if self._lock is None:
            return
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)
        self._lock = None
        with contextlib.suppress(OSError):
            self.path.parent.rmdir()

    def sweep(self) -> None:
        """Remove what a killed cluster left; nothing happens while one runs."""
        if self.path.exists():
            with contextlib.suppress(InputError):
                self.acquire()
        self.release()

    def running(self) -> Running | None:
        """The state of the cluster that holds the folder; None when none does, or it has said nothing yet."""
        if not self.held():
            return None
        try:
            told = json.loads((self.path / STATE).read_text())
            return Running(**told)
        except (OSError, ValueError, TypeError):
            return None

    def held(self) -> bool:
        """Does a process hold the folder?"""
        try:
            probe = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(probe, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(probe)
        return False


def _make_private(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.stat()
    if found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) & 0o022:
        raise PermissionError(0, "it belongs to somebody else, or others may write to it")


def _same(lock: int, path: Path) -> bool:
    try:
        return os.fstat(lock).st_ino == path.stat().st_ino
    except FileNotFoundError:
        return False
