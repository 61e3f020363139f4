"""What operators of Kubernetes' batch working group count of a pod: its requests, and nothing of its limits."""

from __future__ import annotations

from vcray.api.meta import JsonObject, JsonValue
from vcray.controllers import raw
from vcray.controllers.podusage import Usage, effective


def requests_of(spec: JsonObject) -> Usage:
    """What a pod asks for, without what its limits would add."""
    found: JsonObject = {**spec}
    for field in ("containers", "initContainers"):
        containers: list[JsonValue] = [_without_limits(each) for each in raw.tables(spec, field)]
        found[field] = containers
    return effective(found, "requests")


def _without_limits(container: JsonObject) -> JsonObject:
    return {**container, "resources": {"requests": raw.table(container, "resources", "requests")}}
