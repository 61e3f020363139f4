"""The PodGroups that the training-operator makes with --gang-scheduler-name=volcano, with its own arithmetic (integrations.md 2.1):
all replicas whatever elasticPolicy says; limits count only in a container without any requests; no class is ever looked up, so types
count in the order in which they stand."""

from __future__ import annotations

from collections.abc import Iterable

from vcray.api import names
from vcray.api.meta import JsonObject
from vcray.controllers import raw
from vcray.controllers.podusage import Usage, add_usage, effective, usage_json


def spec_of(job: JsonObject, roles: Iterable[tuple[int, JsonObject]], queue: str) -> JsonObject:
    """spec of a job's PodGroup. `roles`: replicas and template of each type; `queue`: that of the group there is, if any."""
    chosen = raw.table(job, "spec", "runPolicy", "schedulingPolicy")
    listed = list(roles)
    members = raw.number(chosen, "minAvailable", default=sum(replicas for replicas, _ in listed))
    spec: JsonObject = {
        "minMember": members,
        "queue": queue or raw.text(chosen, "queue") or names.DEFAULT_QUEUE,
        "minResources": raw.table(chosen, "minResources") or usage_json(_first(listed, members)),
    }
    if raw.text(chosen, "priorityClass"):
        spec["priorityClassName"] = raw.text(chosen, "priorityClass")
    return spec


def _first(roles: Iterable[tuple[int, JsonObject]], members: int) -> Usage:
    total: Usage = {}
    for replicas, template in roles:
        taken = max(0, min(replicas, members))
        members -= taken
        for container in raw.tables(template, "spec", "containers"):
            given = raw.table(container, "resources")
            side = "limits" if raw.at(given, "requests") is None else "requests"
            alone: JsonObject = {"containers": [{"resources": {side: raw.table(given, side)}}]}
            add_usage(total, effective(alone, side), taken)
    return {name: amount for name, amount in total.items() if amount}
