"""What tests ask of an API server, whichever it is: an address, a client, a kubeconfig, kubectl, namespaces.

Everything lives in one temporary folder (on the RAM disk where there is one), which goes away with the processes.
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.conformance.harness.client import Client
from tests.conformance.harness.process import Child, ServerStartError

ADMIN_TOKEN = "admin-token"
STRANGER_TOKEN = "stranger-token"  # a known user without any right
START_TIMEOUT_S = 60.0
POLL_S = 0.05


def temporary_folder() -> Path:
    """A new empty folder, in memory where the machine offers that."""
    memory = Path("/dev/shm")
    parent = memory if memory.is_dir() and os.access(memory, os.W_OK) else None
    return Path(tempfile.mkdtemp(prefix="vcray-apiserver-", dir=parent))


def wait_until(condition: Callable[[], bool], what: str, timeout_s: float = 30.0) -> None:
    """Poll `condition` until it holds; raises TimeoutError naming `what` after `timeout_s` seconds."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {timeout_s:.0f} s for {what}")
        time.sleep(POLL_S)


@dataclass
class Server(ABC):
    """One API server with what surrounds it; use it as a context manager, or call `start` and `stop`.

    `programs` is the folder of kubectl and, for the real one, of the servers.
    """

    programs: Path
    controller_manager: bool = False
    folder: Path = field(default_factory=temporary_folder, kw_only=True)

    # -- life ---------------------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @abstractmethod
    def start(self) -> None:
        """Start every program and return when all are ready. Raises ServerStartError; leaves nothing then."""

    @abstractmethod
    def stop(self) -> None:
        """End every program and remove the folder."""

    @abstractmethod
    def stop_apiserver(self) -> None:
        """Take the API server away; it will remember the objects."""

    @abstractmethod
    def start_apiserver(self) -> None:
        """Bring the API server back at its old address; older watches are answered with 410 Gone."""

    # -- what tests use -----------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def url(self) -> str:
        """The address of the API server."""

    @property
    @abstractmethod
    def certificate_authority(self) -> Path:
        """The certificate that vouches for the API server."""

    @property
    def kubeconfig(self) -> Path:
        """A kubeconfig file with the rights of system:masters."""
        return self.folder / "kubeconfig"

    @property
    def client(self) -> Client:
        """A client with the rights of system:masters."""
        return self.client_for(ADMIN_TOKEN)

    def client_for(self, token: str) -> Client:
        """A client that shows `token`."""
        return Client(self.url, token, self.certificate_authority)

    def kubectl(self, *arguments: str | Path, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run kubectl against this server; the exit code is the caller's to judge."""
        command = [self.programs / "kubectl", "--kubeconfig", self.kubeconfig, *arguments]
        return subprocess.run(
            [str(word) for word in command],
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            env={**os.environ, "HOME": str(self.folder)},
        )

    def create_namespace(self, prefix: str = "test") -> str:
        """Create a namespace with a name of its own and return the name."""
        name = f"{prefix}-{secrets.token_hex(4)}"
        self.client.create(
            "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        )
        if self.controller_manager:
            account = f"/api/v1/namespaces/{name}/serviceaccounts/default"
            wait_until(lambda: self.client.exists(account), f"the default service account of {name}")
        return name

    # -- parts --------------------------------------------------------------------------------------------------

    def _write_kubeconfig(self) -> None:
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "clusters": [
                {
                    "name": "test",
                    "cluster": {
                        "server": self.url,
                        "certificate-authority": str(self.certificate_authority),
                    },
                }
            ],
            "users": [{"name": "admin", "user": {"token": ADMIN_TOKEN}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "admin"}}],
        }
        self.kubeconfig.write_text(json.dumps(config, indent=1))

    def _await(self, child: Child, ready: Callable[[], bool]) -> None:
        def alive_and_ready() -> bool:
            child.require_running()
            return ready()

        try:
            wait_until(alive_and_ready, f"{child.name} to be ready", START_TIMEOUT_S)
        except TimeoutError as error:
            raise ServerStartError(f"{error}:\n{child.log_tail()}") from None
