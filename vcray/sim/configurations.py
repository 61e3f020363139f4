"""Named scheduler configurations for scenario files: `config: KA`.

The names are those of our collection of public bug reports; each is a complete volcano-scheduler.conf.
"""

from __future__ import annotations

from collections.abc import Sequence

import yaml

from vcray.api.meta import JsonObject, JsonValue

_FIRST = ("priority", "gang", "conformance")
_SECOND = ("drf", "predicates", "proportion", "nodeorder", "binpack")


def _conf(actions: str, tiers: Sequence[Sequence[JsonValue]]) -> str:
    document: JsonObject = {
        "actions": actions,
        "tiers": [
            {"plugins": [each if isinstance(each, dict) else {"name": each} for each in tier]}
            for tier in tiers
        ],
    }
    return yaml.safe_dump(document, sort_keys=False)


def _flags(name: str, **flags: JsonValue) -> JsonObject:
    return {"name": name, **flags}


_QUIET = {"enablePreemptable": False}
_GANG_OFF = _flags("gang", enableReclaimable=False, enablePreemptable=False)
_REST = ("drf", "predicates", "nodeorder", "binpack")

CONFIGURATIONS: dict[str, str] = {
    "K0": _conf("enqueue, allocate, backfill", [_FIRST, ("overcommit", *_SECOND)]),
    "KA": _conf("allocate, backfill", [_FIRST, _SECOND]),
    "KP": _conf(
        "allocate, preempt, backfill",
        [
            ("priority", _flags("gang", **_QUIET), "conformance"),
            (_flags("drf", **_QUIET), "predicates", "proportion", "nodeorder", "binpack"),
        ],
    ),
    "KR": _conf("allocate, reclaim, backfill", [("priority", _GANG_OFF, "conformance", "proportion"), _REST]),
    "KC": _conf("allocate, reclaim, backfill", [("priority", _GANG_OFF, "conformance", "capacity"), _REST]),
    "KH": _conf(
        "allocate, reclaim, backfill",
        [("priority", _GANG_OFF, "conformance", _flags("capacity", enableHierarchy=True)), _REST],
    ),
    "KT": _conf("allocate, backfill", [_FIRST, (*_SECOND, "network-topology-aware")]),
    "KN": _conf("allocate, backfill", [_FIRST, (*_SECOND, "numa-aware")]),
    "KV": _conf(
        "allocate, backfill",
        [_FIRST, (*_SECOND, _flags("deviceshare", arguments={"deviceshare.VGPUEnable": True}))],
    ),
}
