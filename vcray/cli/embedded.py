"""What of a local cluster lives in the process of `vcray up`: API server, definitions, workload controllers, simulated nodes."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path

from vcray.api.crds import all_crds
from vcray.api.resources import CUSTOMRESOURCEDEFINITIONS
from vcray.cli.hosting import ClusterOptions
from vcray.cli.runtime_folder import write_atomically
from vcray.cluster.objects.persistence import Database
from vcray.cluster.objects.review import User
from vcray.cluster.objects.store import Store
from vcray.cluster.server.https import EmbeddedServer, ServerOptions
from vcray.cluster.server.tokens import ADMIN, new_token
from vcray.errors import InputError, Problem
from vcray.kube.client import KubeClient
from vcray.kube.errors import AlreadyExists

TOKEN = "token"
"""The file of a data directory that keeps the administrator's token."""


async def start_server(
    options: ClusterOptions, stack: AsyncExitStack, fail: Callable[[str], None]
) -> EmbeddedServer:
    """The API server, on what the data directory keeps if there is one. InputError VC0602 for a port that is taken."""
    database: Database | None = None
    tokens: dict[str, User] = {}
    if options.data_dir is not None:
        database = Database(options.data_dir, fail)
        stack.callback(database.close)
        tokens[_kept_token(options.data_dir)] = ADMIN
    store = Store(seed=secrets.randbits(62), database=database)
    server = EmbeddedServer(
        ServerOptions(port=options.port, store=store, folder=options.data_dir, tokens=tokens)
    )
    stack.push_async_callback(server.stop)
    try:
        await server.start()
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        what = f"{reason}; stop what listens there, or let --port 0 pick a free one"
        raise InputError(Problem("VC0602", f"--port {options.port}", what)) from error
    await _install_definitions(KubeClient(server.transport, "vcray"))
    return server


def _kept_token(data_dir: Path) -> str:
    """The administrator's token of a data directory, made when it has none."""
    file = data_dir / TOKEN
    try:
        token = file.read_text().strip() if file.exists() else ""
        if not token:
            token = new_token()
            write_atomically(file, token.encode())
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(Problem("VC0603", str(file), f"cannot be read: {error}")) from error
    return token


async def _install_definitions(client: KubeClient) -> None:
    """Volcano's definitions; those of an earlier run are brought up to date."""
    for definition in all_crds():
        try:
            await client.create(CUSTOMRESOURCEDEFINITIONS, None, definition)
        except AlreadyExists:
            metadata = definition["metadata"]
            assert isinstance(metadata, dict)
            patch = {"spec": definition["spec"]}
            await client.patch(CUSTOMRESOURCEDEFINITIONS, None, str(metadata["name"]), patch)
