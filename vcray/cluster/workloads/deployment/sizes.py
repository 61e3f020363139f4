"""How many replicas each ReplicaSet of a deployment gets: the arithmetic of rolling updates and of scaling amid one. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from vcray.api.jsonview import dig, dig_int, dig_str, dig_strings
from vcray.api.meta import JsonObject, JsonValue

DESIRED, MOST = "deployment.kubernetes.io/desired-replicas", "deployment.kubernetes.io/max-replicas"


def replicas(obj: JsonObject) -> int:
    """What a deployment's or a set's spec asks for."""
    return dig_int(obj, "spec", "replicas", default=1)


def available(replica_set: JsonObject) -> int:
    """Available pods of a set."""
    return dig_int(replica_set, "status", "availableReplicas")


def rolls(deployment: JsonObject) -> bool:
    """Whether its strategy is RollingUpdate."""
    return dig_str(deployment, "spec", "strategy", "type") in ("", "RollingUpdate")


def scaled(value: JsonValue, whole: int, up: bool) -> int:
    """A number, or a percentage of `whole` rounded up or down."""
    if isinstance(value, str) and value.endswith("%") and value[:-1].isdigit():
        share = whole * int(value[:-1]) / 100
        return math.ceil(share) if up else math.floor(share)
    return value if isinstance(value, int) else 0


def bounds(deployment: JsonObject) -> tuple[int, int]:
    """How many pods may be there too many, and how many too few; not both zero. (0, 0) without rolling updates."""
    if not rolls(deployment):
        return 0, 0
    rolling, wanted = dig(deployment, "spec", "strategy", "rollingUpdate"), replicas(deployment)
    surge = scaled(dig(rolling, "maxSurge"), wanted, up=True)
    missing = scaled(dig(rolling, "maxUnavailable"), wanted, up=False)
    if not surge and not missing:
        missing = 1
    return surge, min(missing, wanted)


def new_size(deployment: JsonObject, sets: Sequence[JsonObject], present: int) -> int:
    """The size of the newest set, which is `present` now and counted among `sets`."""
    wanted = replicas(deployment)
    if not rolls(deployment) or present >= wanted:
        return wanted
    room = wanted + bounds(deployment)[0] - sum(map(replicas, sets))
    return present if room <= 0 else present + min(room, wanted - present)


def shrunk(deployment: JsonObject, old: Sequence[JsonObject], new: JsonObject) -> dict[str, int]:
    """New sizes of old sets in a rolling update, by name: unhealthy pods go first, then as many as availability allows."""
    total = sum(map(replicas, old)) + replicas(new)
    floor = replicas(deployment) - bounds(deployment)[1]
    most = total - floor - (replicas(new) - available(new))
    sizes = {dig_str(each, "metadata", "name"): replicas(each) for each in old}
    if most <= 0 or not sum(sizes.values()):
        return {}
    before = dict(sizes)
    for each in old:
        name = dig_str(each, "metadata", "name")
        cut = min(most, max(0, sizes[name] - available(each)))
        sizes[name] -= cut
        most -= cut
    spare = available(new) + sum(map(available, old)) - floor
    for each in old:
        name = dig_str(each, "metadata", "name")
        cut = max(0, min(spare, sizes[name]))
        sizes[name] -= cut
        spare -= cut
    return {name: size for name, size in sizes.items() if size != before[name]}


def proportional(deployment: JsonObject, sets: Sequence[JsonObject]) -> dict[str, int]:
    """Sizes of all active sets when a deployment is scaled amid a rolling update, shared by what they are now."""
    wanted = replicas(deployment)
    allowed = wanted + bounds(deployment)[0] if wanted else 0
    change = allowed - sum(map(replicas, sets))
    ordered = sorted(sets, key=_created, reverse=change > 0)
    ordered.sort(key=replicas, reverse=True)
    sizes: dict[str, int] = {}
    given = 0
    for each in ordered:
        share = _share(deployment, each) if change and change != given and replicas(each) else 0
        left = change - given
        share = min(share, left) if change > 0 else max(share, left)
        sizes[dig_str(each, "metadata", "name")] = replicas(each) + share
        given += share
    if ordered and change != given:
        first = dig_str(ordered[0], "metadata", "name")
        sizes[first] = max(0, sizes[first] + change - given)
    return sizes


def _share(deployment: JsonObject, replica_set: JsonObject) -> int:
    if not replicas(deployment):
        return -replicas(replica_set)
    noted = dig_strings(replica_set, "metadata", "annotations").get(MOST, "")
    before = int(noted) if noted.isdigit() and int(noted) else dig_int(deployment, "status", "replicas")
    if not before:
        return 0
    size = replicas(replica_set) * (replicas(deployment) + bounds(deployment)[0]) / before
    return math.floor(size + 0.5) - replicas(replica_set)


def _created(replica_set: JsonObject) -> str:
    return dig_str(replica_set, "metadata", "creationTimestamp")
