"""Is a Ray cluster where the user says? Asked before anything starts: Ray itself tries for minutes."""

from __future__ import annotations

import os
import socket

from vcray.actors.ray_ground import found_address
from vcray.errors import InputError, Problem, ServerError

PATIENCE_S = 5.0


def check_ray_address(address: str, where: str = "--ray-address") -> None:
    """ServerError VC0605 when nobody answers at HOST:PORT, InputError VC0502 when it is no such address."""
    address = found_address(address, os.environ)
    host, colon, port = address.rpartition(":")
    if not colon or not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise InputError(
            Problem("VC0502", where, f"must be HOST:PORT, such as 127.0.0.1:6379, got {address!r}")
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), PATIENCE_S).close()
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
        what = f"no Ray cluster answers there ({reason}); start it with `ray start --head`, or leave the flag out"
        raise ServerError(Problem("VC0605", f"{where} {address}", what)) from error
