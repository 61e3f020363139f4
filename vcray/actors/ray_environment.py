"""What Ray is told before it is imported, for it reads its environment only then.

Nothing here is forced on a user who set a variable: our own Ray is locked with a token made for this process, sends no usage
statistics, and exports no metrics (ours are served by the driver).
"""

from __future__ import annotations

import os
import secrets
from typing import Final

DEFAULTS: Final = {
    "RAY_AUTH_MODE": "token",
    "RAY_DISABLE_FAILURE_SIGNAL_HANDLER": "1",  # else SIGTERM aborts the driver instead of asking it to stop
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_enable_metrics_collection": "false",
    "RAY_DEDUP_LOGS": "0",
    "RAY_COLOR_PREFIX": "0",
    "RAY_raylet_start_wait_time_s": "120",  # a busy machine needs more than Ray's 30 s
    "RAY_NUM_REDIS_GET_RETRIES": "1",
    "RAY_gcs_server_request_timeout_seconds": "10",
}


def prepare() -> None:
    """Set what is not set. Processes that Ray starts inherit it, and with it the token."""
    for name, value in DEFAULTS.items():
        os.environ.setdefault(name, value)
    if os.environ["RAY_AUTH_MODE"] == "token" and not (
        os.environ.get("RAY_AUTH_TOKEN") or os.environ.get("RAY_AUTH_TOKEN_PATH")
    ):
        os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)


prepare()
