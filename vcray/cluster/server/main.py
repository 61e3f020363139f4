"""An embedded API server as a process of its own, for tests: `python -m vcray.cluster.server.main --folder D`.

`D/kubeconfig` appears when it answers; SIGTERM or SIGINT ends it.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
from collections.abc import Mapping
from pathlib import Path

from vcray.cluster.kubelet import Fleet
from vcray.cluster.objects.review import User
from vcray.cluster.server.https import ServerOptions, serve
from vcray.cluster.server.tokens import read_tokens
from vcray.cluster.workloads import Workloads


async def _run(
    port: int, folder: Path, tokens: dict[str, User], controllers: bool, nodes: int, accounts: bool
) -> None:
    fleet: Fleet | None = None

    def read_log(namespace: str, name: str, container: str, _: Mapping[str, str]) -> bytes | None:
        text = fleet.log(namespace, name, container) if fleet is not None else None
        return None if text is None else text.encode()

    server = await serve(
        ServerOptions(port=port, folder=folder, tokens=tokens, read_log=read_log, service_accounts=accounts)
    )
    workloads = Workloads(
        server.transport, certificate_authority=server.ca.decode(), default_scheduler=nodes > 0
    )
    fleet = Fleet(server.transport, nodes)
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    if controllers:
        await workloads.start()
    if nodes:
        await fleet.start()
    unfinished = folder / "kubeconfig.tmp"
    unfinished.write_text(server.kubeconfig())
    os.replace(unfinished, folder / "kubeconfig")
    await ended.wait()
    await fleet.stop()
    await workloads.stop()
    await server.stop()


def main() -> None:
    """Read the flags and serve until a signal comes."""
    parser = argparse.ArgumentParser(prog="python -m vcray.cluster.server.main", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; 0 means any free one")
    parser.add_argument("--folder", type=Path, required=True, help="where kubeconfig and certificates go")
    parser.add_argument(
        "--token-file", type=Path, help="users by token, as kube-apiserver's --token-auth-file"
    )
    parser.add_argument("--controllers", action="store_true", help="run the controllers of workloads too")
    parser.add_argument("--nodes", type=int, default=0, help="simulated nodes")
    parser.add_argument(
        "--service-accounts",
        action="store_true",
        help="give each pod an account and its token, as --controllers does too",
    )
    asked = parser.parse_args()
    tokens = read_tokens(asked.token_file.read_text()) if asked.token_file else {}
    asyncio.run(
        _run(
            asked.port,
            asked.folder,
            tokens,
            asked.controllers,
            asked.nodes,
            asked.service_accounts or asked.controllers,
        )
    )


if __name__ == "__main__":
    main()
