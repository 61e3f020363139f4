"""Admission of PodGroups: the queue that a namespace is tied to, and a queue that takes work.

Texts and order after Volcano's `/podgroups/mutate` and `/podgroups/validate`.
"""

from __future__ import annotations

from vcray.api import names
from vcray.api.jsonview import dig, dig_objects, dig_str
from vcray.api.meta import JsonObject
from vcray.api.scheduling import QueueState
from vcray.webhooks.base import Answer, Look, Request, add, annotations_of, queue_not_found

BOTH_TIERS = "must not specify 'highestTierAllowed' and 'highestTierName' in networkTopology simultaneously"


def mutate(request: Request) -> Answer:
    """On CREATE: a group that would wait in the default queue waits in its namespace's, where an annotation names one."""
    if request.operation != "CREATE":
        return Answer(f"invalid operation `{request.operation}`, expect operation to be `CREATE`")
    if dig_str(request.new, "spec", "queue") != names.DEFAULT_QUEUE:
        return Answer()
    namespace = request.look.namespace(request.namespace)
    queue = annotations_of(namespace or {}).get(names.POD_QUEUE_NAME)
    return Answer() if queue is None else Answer(patch=(add("/spec/queue", queue),))


def validate(request: Request) -> Answer:
    """On CREATE: the queue exists and is open, and a topology names its tier in one way."""
    if request.operation != "CREATE":
        return Answer(f"unsupported operation {request.operation}")
    problems = (
        _queue_problem(dig_str(request.new, "spec", "queue"), request.look),
        _tier_problems(request.new),
    )
    return Answer("; ".join(filter(None, problems)))


def names_both_tiers(topology: object) -> bool:
    """Does a networkTopology give both the number and the name of its highest tier?"""
    return (
        isinstance(topology, dict)
        and topology.get("highestTierAllowed") is not None
        and bool(topology.get("highestTierName"))
    )


def _queue_problem(name: str, look: Look) -> str:
    if not name:
        return ""
    queue = look.queue(name)
    if queue is None:
        return f"unable to find queue: {queue_not_found(name)}"
    state = dig_str(queue, "status", "state")
    if state != QueueState.OPEN:
        return f"can only submit PodGroup to queue with state `Open`, queue `{name}` status is `{state}`."
    return ""


def _tier_problems(group: JsonObject) -> str:
    problems = [f"{BOTH_TIERS}."] if names_both_tiers(dig(group, "spec", "networkTopology")) else []
    for policy in dig_objects(group, "spec", "subGroupPolicy"):
        if names_both_tiers(policy.get("networkTopology")):
            problems.append(f"in subGroupPolicy '{dig_str(policy, 'name')}': {BOTH_TIERS}.")
            break
    return " ".join(problems)
