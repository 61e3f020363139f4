"""How many pods of a PodGroup start together."""

from __future__ import annotations

from vcray.api import names
from vcray.api.jsonview import dig_int, dig_str
from vcray.api.meta import JsonObject


def min_member(group: JsonObject) -> int:
    """spec.minMember; fewer where an annotation tells that its object makes the others only later (trap T12)."""
    least, noted = (
        dig_int(group, "spec", "minMember"),
        dig_str(group, "metadata", "annotations", names.MIN_MEMBER),
    )
    return min(least, int(noted)) if noted.isascii() and noted.isdecimal() else least
