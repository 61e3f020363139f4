"""The embedded API server as a process, behind the same face as the real one."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.conformance.harness.base import ADMIN_TOKEN, STRANGER_TOKEN, Server
from tests.conformance.harness.client import ApiError
from tests.conformance.harness.process import Child, free_port


@dataclass
class EmbeddedServer(Server):
    """`python -m vcray.cluster.server.main`; with `controller_manager` the embedded cluster's controllers too.

    `flags` are added to the program's. Its objects are kept in the folder, so that it can be taken away and come back.
    """

    flags: Sequence[str] = ()

    def __post_init__(self) -> None:
        self._child: Child | None = None
        self._port = 0

    def start(self) -> None:
        """Start the server and return when it is ready. Raises ServerStartError; leaves nothing then."""
        try:
            (self.folder / "tokens.csv").write_text(
                f'{ADMIN_TOKEN},admin,admin,"system:masters"\n{STRANGER_TOKEN},stranger,stranger\n'
            )
            self._port = free_port()
            self.start_apiserver()
            self._write_kubeconfig()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End the server and remove the folder."""
        if self._child is not None:
            self._child.kill()
            self._child = None
        shutil.rmtree(self.folder, ignore_errors=True)

    def stop_apiserver(self) -> None:
        """Take the server away; its folder keeps the objects."""
        assert self._child is not None
        self._child.stop()
        self._child = None

    def start_apiserver(self) -> None:
        """Bring the server back at its old address."""
        command: list[str | Path] = [sys.executable, "-m", "vcray.cluster.server.main"]
        command += [
            "--port",
            str(self._port),
            "--folder",
            self.folder,
            "--token-file",
            self.folder / "tokens.csv",
        ]
        command += ["--controllers"] if self.controller_manager else []
        self._child = Child([*command, *self.flags], self.folder / "server.log")
        self._await(self._child, self._readyz)

    @property
    def pid(self) -> int:
        """The process of the server."""
        assert self._child is not None
        return self._child.pid

    @property
    def url(self) -> str:
        """The address of the API server."""
        return f"https://127.0.0.1:{self._port}"

    @property
    def certificate_authority(self) -> Path:
        """The certificate that vouches for the API server."""
        return self.folder / "ca.crt"

    def _readyz(self) -> bool:
        if not self.certificate_authority.exists():
            return False
        try:
            return self.client.raw("GET", "/readyz")[0] == b"ok"
        except (ApiError, OSError):
            return False
