"""/metrics of the API server: what dashboards and Kubernetes' own tests look for, in Prometheus' text format."""

from __future__ import annotations

from vcray.api.jsonview import dig_int, dig_str
from vcray.cluster.objects.storage import Storage
from vcray.cluster.server.bootstrap import PRIORITY_LEVELS

SEATS = 600
"""Requests in flight that a real server shares out among its priority levels (its defaults, 400 and 200)."""


def exposition(storage: Storage) -> str:
    """The figures of a server on this storage. Seats are told although nothing is ever queued here."""
    levels: dict[str, int] = {}
    for record in storage.scan(PRIORITY_LEVELS):
        level = record.decode()
        part = "limited" if dig_str(level, "spec", "type") == "Limited" else "exempt"
        levels[record.name] = dig_int(level, "spec", part, "nominalConcurrencyShares")
    total = sum(levels.values()) or 1
    lines = [
        "# HELP apiserver_flowcontrol_nominal_limit_seats Nominal number of execution seats of each priority level",
        "# TYPE apiserver_flowcontrol_nominal_limit_seats gauge",
    ]
    for name, shares in levels.items():
        seats = -(-SEATS * shares // total)
        lines.append(f'apiserver_flowcontrol_nominal_limit_seats{{priority_level="{name}"}} {seats}')
    lines += [
        "# HELP apiserver_storage_objects Number of stored objects by resource",
        "# TYPE apiserver_storage_objects gauge",
    ]
    for plural, count in sorted(storage.counts().items()):
        lines.append(f'apiserver_storage_objects{{resource="{plural}"}} {count}')
    return "\n".join(lines) + "\n"
