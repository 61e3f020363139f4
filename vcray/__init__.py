"""Batch scheduling for machine learning on Kubernetes: Volcano's API, event-driven actors.

`vcray.connect()` gives programs a client of a cluster on which vcray runs; `vcray.connect_async()` one for an event loop.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from vcray.client import AsyncClient, Client

__all__ = ["connect", "connect_async"]


def connect(kubeconfig: Path | None = None, context: str | None = None, namespace: str = "") -> Client:
    """A client for scripts; use it in a `with`. Without `kubeconfig`: KUBECONFIG, ~/.kube/config, or the pod's service account.

    ServerError VC0403 when none of them can be used."""
    from vcray.client import Client

    return Client(kubeconfig, context, namespace)


def connect_async(
    kubeconfig: Path | None = None, context: str | None = None, namespace: str = ""
) -> AbstractAsyncContextManager[AsyncClient]:
    """The same for programs with an event loop; use it in an `async with`."""
    from vcray.client import connect_async as connected

    return connected(kubeconfig, context, namespace)
