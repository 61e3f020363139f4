"""An embedded API server as a process of its own, for tests: `python -m vcray.cluster.server.main --folder D`.

`D/kubeconfig` appears when it answers; SIGTERM or SIGINT ends it.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
from pathlib import Path

from vcray.cluster.objects.review import User
from vcray.cluster.server.https import ServerOptions, serve
from vcray.cluster.server.tokens import read_tokens


async def _run(port: int, folder: Path, tokens: dict[str, User]) -> None:
    server = await serve(ServerOptions(port=port, folder=folder, tokens=tokens))
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    unfinished = folder / "kubeconfig.tmp"
    unfinished.write_text(server.kubeconfig())
    os.replace(unfinished, folder / "kubeconfig")
    await ended.wait()
    await server.stop()


def main() -> None:
    """Read the flags and serve until a signal comes."""
    parser = argparse.ArgumentParser(prog="python -m vcray.cluster.server.main", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; 0 means any free one")
    parser.add_argument("--folder", type=Path, required=True, help="where kubeconfig and certificates go")
    parser.add_argument(
        "--token-file", type=Path, help="users by token, as kube-apiserver's --token-auth-file"
    )
    asked = parser.parse_args()
    tokens = read_tokens(asked.token_file.read_text()) if asked.token_file else {}
    asyncio.run(_run(asked.port, asked.folder, tokens))


if __name__ == "__main__":
    main()
