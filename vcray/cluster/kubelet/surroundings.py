"""What a program of a simulated container sees: variables, files, dice. It notes what cannot be known before the pod runs.

A run that touched nothing of its pod is the same for every pod with the same containers, and need not be repeated.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, MutableMapping

Storage = MutableMapping[str, str]
"""The files of one volume, by path within it."""


class Surroundings:
    """Variables and files of one container.

    `late` are variables whose values depend on the pod, read when asked for. `mounts` are pairs of mount path and the
    files of that volume; what lies elsewhere lives as long as the container.
    """

    def __init__(
        self,
        variables: Mapping[str, str],
        late: Mapping[str, Callable[[], str]] | None = None,
        mounts: Iterable[tuple[str, Storage]] = (),
        seed: str = "",
    ) -> None:
        self._variables = dict(variables)
        self._late = dict(late or {})
        self._mounts = sorted(mounts, key=lambda mount: -len(mount[0]))
        self._own: Storage = {}
        self._dice = random.Random(seed)
        self.touched_pod = False
        self.touched_volume = False

    def variable(self, name: str) -> str:
        """The value of a variable, empty if it is not set."""
        if name == "RANDOM":
            self.touched_pod = True
            return str(self._dice.randrange(32768))
        if name in self._variables:
            return self._variables[name]
        if name in self._late:
            self.touched_pod = True
            return self._late[name]()
        return ""

    def assign(self, name: str, value: str) -> None:
        """Set a variable."""
        self._variables[name] = value

    def copy_variables(self) -> dict[str, str]:
        """The variables as they are, to be put back after a subshell."""
        return dict(self._variables)

    def restore(self, variables: dict[str, str]) -> None:
        """Put variables back."""
        self._variables = variables

    def exists(self, path: str) -> bool:
        """Whether there is a file or folder."""
        files, inner = self._place(path)
        if inner in ("", "/") or path in _FOLDERS:
            return True
        return inner in files or any(name.startswith(inner.rstrip("/") + "/") for name in files)

    def read(self, path: str) -> str | None:
        """The content of a file, None if it is not there."""
        files, inner = self._place(path)
        return files.get(inner)

    def write(self, path: str, content: str, append: bool = False) -> None:
        """Create or change a file."""
        if path == "/dev/null":
            return
        files, inner = self._place(path)
        files[inner] = (files.get(inner, "") if append else "") + content

    def remove(self, path: str) -> None:
        """Delete a file, or a folder with all in it."""
        files, inner = self._place(path)
        for name in [name for name in files if name == inner or name.startswith(inner.rstrip("/") + "/")]:
            del files[name]

    def listing(self, path: str) -> list[str]:
        """The names in a folder."""
        files, inner = self._place(path)
        prefix = inner.rstrip("/") + "/"
        return sorted({name[len(prefix) :].split("/")[0] for name in files if name.startswith(prefix)})

    def _place(self, path: str) -> tuple[Storage, str]:
        full = path if path.startswith("/") else f"/{path}"
        for mount, files in self._mounts:
            if full == mount or full.startswith(mount.rstrip("/") + "/"):
                self.touched_volume = True
                return files, full[len(mount.rstrip("/")) :] or "/"
        return self._own, full


_FOLDERS = frozenset({"/", "/tmp", "/etc", "/dev", "/var", "/bin", "/usr", "/proc", "/root", "/home", "/mnt"})
