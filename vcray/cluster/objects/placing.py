"""The two pod subresources that a scheduler uses: binding and eviction."""

from __future__ import annotations

from collections.abc import Iterator

from vcray.api.jsonview import holds
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import PODDISRUPTIONBUDGETS, PODS
from vcray.clock import rfc3339
from vcray.cluster.objects import refusals
from vcray.cluster.objects.deletion import DeleteOptions, check_preconditions, read_options
from vcray.cluster.objects.record import Record, dig, entries, integer, section, strings, text
from vcray.cluster.objects.review import Moved, Steps
from vcray.cluster.objects.selectors import selector_matches
from vcray.cluster.objects.store import Store
from vcray.cluster.objects.verbs import CREATE
from vcray.cluster.objects.write import Write
from vcray.kube.errors import BadRequest, ServerFailure, TooManyRequests

_BUDGET = "Cannot evict pod as it would violate the pod's disruption budget."


def bind(store: Store, namespace: str, name: str, binding: JsonObject, write: Write) -> Steps[None]:
    """Assign a pod to a node. Conflict if it is assigned, gated, being deleted, or is not the pod that is meant."""
    if text(dig(binding, "metadata", "name")) != name:
        raise BadRequest("name in URL does not match name in Binding object")
    record = store.read(PODS, namespace, name)
    node = text(dig(binding, "target", "name"))
    _check_target(text(dig(binding, "target", "kind")), node)
    uid = text(dig(binding, "metadata", "uid"))
    if uid and uid != record.uid:
        why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {record.uid}"
        raise refusals.conflict(PODS, name, why)
    pod = record.decode()
    why_not = _cannot_bind(name, pod)
    if why_not:
        raise refusals.conflict(PODS, name, why_not, "binding")
    review = store.verbs.asked(CREATE, PODS, namespace, name, binding, write)
    yield from store.verbs.mutated(review)
    yield from store.verbs.validated(review)
    if store.storage.get(PODS, namespace, name) is not record:
        raise Moved
    if write.dry_run:
        return
    section(pod, "spec")["nodeName"] = node
    for field in ("annotations", "labels"):
        added = strings(dig(binding, "metadata", field))
        if added:
            section(section(pod, "metadata"), field).update(added)
    set_condition(pod, {"type": "PodScheduled", "status": "True"}, rfc3339(store.clock.now()))
    store.storage.put(PODS, pod)  # a binding makes nobody a manager of the pod's fields


def _check_target(kind: str, node: str) -> None:
    """Refuse a binding to anything but a node; a real server does so with a bare 500."""
    faults = []
    if kind not in ("", "Node"):
        faults.append(f'target.kind: Unsupported value: "{kind}": supported values: "Node", "<empty>"')
    if not node:
        faults.append("target.name: Required value")
    if faults:
        raise ServerFailure(faults[0] if len(faults) == 1 else f"[{', '.join(faults)}]", reason="")


def _cannot_bind(name: str, pod: JsonObject) -> str:
    if dig(pod, "metadata", "deletionTimestamp"):
        return f"pod {name} is being deleted, cannot be assigned to a host"
    node = text(dig(pod, "spec", "nodeName"))
    if node:
        return f'pod {name} is already assigned to node "{node}"'
    if dig(pod, "spec", "schedulingGates"):
        return f"pod {name} has non-empty .spec.schedulingGates"
    return ""


def evict(store: Store, namespace: str, name: str, eviction: JsonObject, write: Write) -> Steps[None]:
    """Delete a pod unless a disruption budget forbids it now (TooManyRequests)."""
    record = store.read(PODS, namespace, name)
    body = eviction.get("deleteOptions")
    options = read_options(body if isinstance(body, dict) else {})
    check_preconditions(record, options)
    review = store.verbs.asked(CREATE, PODS, namespace, name, eviction, write)
    yield from store.verbs.mutated(review)
    yield from store.verbs.validated(review)
    if store.storage.get(PODS, namespace, name) is not record:
        raise Moved
    pod = record.decode()
    spent: list[Record] = []
    if dig(pod, "status", "phase") == "Running":
        budgets = list(_budgets(store, record))
        if len(budgets) > 1:
            raise BadRequest(
                "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
            )
        spent = [budget for budget in budgets if _needs_room(budget.decode(), pod)]
    if options.dry_run or write.dry_run:
        return
    for budget in spent:
        _spend(store, budget, name)
    if not dig(pod, "metadata", "deletionTimestamp"):
        condition: JsonObject = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "EvictionByEvictionAPI",
            "message": "Eviction API: evicting",
        }
        set_condition(pod, condition, rfc3339(store.clock.now()))
        record = store.storage.put(PODS, pod)
    store.delete_record(record, DeleteOptions(options.grace_seconds, options.propagation))


def _budgets(store: Store, pod: Record) -> Iterator[Record]:
    for record in store.storage.scan(PODDISRUPTIONBUDGETS, pod.namespace):
        if selector_matches(dig(record.decode(), "spec", "selector"), pod.labels):
            yield record


def _needs_room(budget: JsonObject, pod: JsonObject) -> bool:
    """Whether the eviction uses the budget up by one. TooManyRequests if there is no room.

    A pod that is not ready may go without counting while enough others are healthy. A budget that no controller has
    looked at yet has no figures and does not bind here.
    """
    allowed = dig(budget, "status", "disruptionsAllowed")
    if not isinstance(allowed, int):
        return False
    if not _is_ready(pod):
        healthy, wanted = dig(budget, "status", "currentHealthy"), dig(budget, "status", "desiredHealthy")
        enough = integer(healthy) >= integer(wanted) > 0
        if enough or dig(budget, "spec", "unhealthyPodEvictionPolicy") == "AlwaysAllow":
            return False
    if allowed > 0:
        return True
    name = text(dig(budget, "metadata", "name"))
    message = f"The disruption budget {name} allows no disruption now"
    raise TooManyRequests(_BUDGET, details={"causes": [{"reason": "DisruptionBudget", "message": message}]})


def _spend(store: Store, budget: Record, pod: str) -> None:
    """Count the disruption until the controller counts anew."""
    now = rfc3339(store.clock.now())

    def count(obj: JsonObject) -> bool:
        status = section(obj, "status")
        status["disruptionsAllowed"] = integer(status.get("disruptionsAllowed")) - 1
        section(status, "disruptedPods")[pod] = now
        return True

    store.rewrite(budget, count)


def _is_ready(pod: JsonObject) -> bool:
    return holds(pod, "Ready")


def set_condition(pod: JsonObject, condition: JsonObject, now: str) -> None:
    """Add or replace the pod condition of that type; its transition time moves only when its status does."""
    status = section(pod, "status")
    conditions: list[JsonValue] = [*entries(status.get("conditions"))]
    status["conditions"] = conditions
    fresh: JsonObject = {"lastProbeTime": None, "lastTransitionTime": now, **condition}
    for index, present in enumerate(entries(conditions)):
        if present.get("type") == condition["type"]:
            if present.get("status") == condition["status"]:
                fresh["lastTransitionTime"] = present.get("lastTransitionTime")
            conditions[index] = fresh
            return
    conditions.append(fresh)
