"""Admission of Queues: defaults, quantities that fit each other, states, and who may be deleted.

Texts and order after Volcano's `/queues/mutate` and `/queues/validate`; what concerns other queues is in `queue_tree`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from vcray.api import names
from vcray.api.formats import aggregate, invalid
from vcray.api.jsonview import dig, dig_int, dig_object, dig_str
from vcray.api.meta import JsonObject
from vcray.api.quantity import Quantity, QuantityError, canonical, milli, parse_quantity
from vcray.api.scheduling import QueueState
from vcray.webhooks import queue_tree
from vcray.webhooks.amounts import is_counted_in_wholes, same_amounts
from vcray.webhooks.base import (
    Answer,
    Look,
    Request,
    add,
    annotation_path,
    annotations_of,
    name_of,
    queue_not_found,
)

_STATES: Final = (QueueState.OPEN, QueueState.CLOSED)
_BODY: Final = "requestBody"


# -- mutating -----------------------------------------------------------------------------------------------------


def mutate(request: Request) -> Answer:
    """On CREATE: a hierarchy begins at the root, a queue is reclaimable and weighs 1 unless it says otherwise."""
    if request.operation != "CREATE":
        return Answer(f"invalid operation `{request.operation}`, expect operation to be `CREATE`")
    return Answer(patch=tuple(_defaults(request.new)))


def _defaults(queue: JsonObject) -> Iterator[JsonObject]:
    annotations = annotations_of(queue)
    path, weights = annotations.get(names.HIERARCHY, ""), annotations.get(names.HIERARCHY_WEIGHTS, "")
    if path and weights and not path.startswith("root"):
        yield add(annotation_path(names.HIERARCHY), f"root/{path}")
        yield add(annotation_path(names.HIERARCHY_WEIGHTS), f"1/{weights}")
    if not isinstance(queue.get("spec"), dict):
        yield add("/spec", {})
    if dig(queue, "spec", "reclaimable") is None:
        yield add("/spec/reclaimable", True)
    if not dig_int(queue, "spec", "weight"):
        yield add("/spec/weight", 1)


# -- validating ---------------------------------------------------------------------------------------------------


def validate(request: Request) -> Answer:
    """On CREATE, UPDATE and DELETE: the first rule that is broken."""
    if request.operation == "DELETE":
        return Answer(_deletion(request))
    if request.operation not in ("CREATE", "UPDATE"):
        return Answer(
            f"invalid operation `{request.operation}`, expect operation to be `CREATE`, `UPDATE` or `DELETE`"
        )
    checks: tuple[Callable[[Request], str], ...] = (_itself, _parent, _root, _resources)
    return Answer(next(filter(None, (check(request) for check in checks)), ""))


def _itself(request: Request) -> str:
    queue = request.new
    errors = [*_quantities(queue), *_state(queue), *_hierarchy(queue, request.look)]
    return aggregate(errors)


def _parent(request: Request) -> str:
    moved = dig_str(request.new, "spec", "parent") != dig_str(request.old, "spec", "parent")
    if request.operation == "UPDATE" and not moved:
        return ""
    return queue_tree.parent_problem(request.new, request.look, request.rules.max_queue_depth)


def _root(request: Request) -> str:
    protects = request.rules.protect_root_queue and request.operation == "UPDATE"
    if not protects or name_of(request.new) != names.ROOT_QUEUE or not _changed(request):
        return ""
    return "root queue's resource attributes (capability, deserved, guarantee) cannot be modified"


def _resources(request: Request) -> str:
    queue = request.new
    if name_of(queue) == names.ROOT_QUEUE:
        return ""
    moved = dig_str(queue, "spec", "parent") != dig_str(request.old, "spec", "parent")
    if request.operation == "UPDATE" and not moved and not _changed(request):
        return ""
    return queue_tree.resource_problem(queue, request.look)


def _changed(request: Request) -> bool:
    """Do the resource attributes differ from the old ones?"""
    return any(
        not same_amounts(dig_object(request.new, *path), dig_object(request.old, *path))
        for path in (("spec", "capability"), ("spec", "deserved"), ("spec", "guarantee", "resource"))
    )


def _deletion(request: Request) -> str:
    name = request.name
    if name in (names.DEFAULT_QUEUE, names.ROOT_QUEUE):
        return f"`{name}` queue can not be deleted"
    queue = request.look.queue(name)
    if queue is None:
        return queue_not_found(name)
    pods = queue_tree.allocated_pods(queue)
    if request.rules.check_allocated_pods and pods:
        return f"queue {name} cannot be deleted because it has allocated Pods: {pods}"
    children = [name_of(child) for child in request.look.children(name)]
    if children:
        listed = ", ".join(children)
        return f"queue {name} can not be deleted because it has {len(children)} child queues: {listed}"
    return ""


# -- the queue by itself --------------------------------------------------------------------------------------------


def _quantities(queue: JsonObject) -> list[str]:
    capability = _amounts(queue, "spec", "capability")
    deserved = _amounts(queue, "spec", "deserved")
    guarantee = _amounts(queue, "spec", "guarantee", "resource")
    errors = [*_each("capability", capability), *_each("deserved", deserved)]
    for resource, least in guarantee.items():
        errors += _each("guarantee.resource", {resource: least})
        errors += _below_guarantee(resource, least, deserved)
    for resource, wanted in deserved.items():
        most = capability.get(resource)
        if most is not None and parse_quantity(wanted) > parse_quantity(most):
            errors.append(
                invalid(
                    f"{_BODY}.spec.deserved.{resource}",
                    canonical(wanted),
                    f"deserved[{resource}]={canonical(wanted)} must be <= capability[{resource}]={canonical(most)}",
                )
            )
    return errors


def _below_guarantee(resource: str, least: Quantity, deserved: dict[str, Quantity]) -> list[str]:
    path, wanted = f"{_BODY}.spec.deserved.{resource}", deserved.get(resource)
    must = f"must be >= guarantee[{resource}]={canonical(least)}"
    if wanted is None:
        return [invalid(path, "<nil>", f"deserved[{resource}] {must}")]
    if parse_quantity(wanted) < parse_quantity(least):
        return [invalid(path, canonical(wanted), f"deserved[{resource}]={canonical(wanted)} {must}")]
    return []


def _each(field: str, amounts: dict[str, Quantity]) -> Iterator[str]:
    """Amounts that are negative, or not whole where only wholes exist."""
    for resource, amount in amounts.items():
        path = f"{_BODY}.spec.{field}.{resource}"
        if parse_quantity(amount) < 0:
            yield invalid(path, canonical(amount), "must be greater than or equal to 0")
        if is_counted_in_wholes(resource) and milli(amount) % 1000:
            yield invalid(path, canonical(amount), "must be an integer")


def _amounts(queue: JsonObject, *path: str) -> dict[str, Quantity]:
    """A ResourceList in the order of its names; what is no quantity the schema refuses."""
    found: dict[str, Quantity] = {}
    for resource, amount in sorted(dig_object(queue, *path).items()):
        if isinstance(amount, str | int | float):
            try:
                parse_quantity(amount)
            except QuantityError:
                continue
            found[resource] = amount
    return found


def _state(queue: JsonObject) -> list[str]:
    state = dig_str(queue, "status", "state")
    if not state or state in _STATES:
        return []
    return [
        invalid(f"{_BODY}.spec.state", state, f"queue state must be in [{' '.join(_STATES)}]"),
    ]


def _hierarchy(queue: JsonObject, look: Look) -> list[str]:
    annotations = annotations_of(queue)
    path, weights = annotations.get(names.HIERARCHY, ""), annotations.get(names.HIERARCHY_WEIGHTS, "")
    if not path and not weights:
        return []
    where = f"{_BODY}.metadata.annotations"
    if path.count("/") != weights.count("/"):
        return [
            invalid(
                where, path, f"{names.HIERARCHY} must have the same length with {names.HIERARCHY_WEIGHTS}"
            )
        ]
    for weight in weights.split("/"):
        problem = _weight_problem(weight)
        if problem:
            return [invalid(where, weights, f"{weight} in the {weights} {problem}")]
    for other in look.queues():
        below = annotations_of(other).get(names.HIERARCHY, "")
        if name_of(other) != name_of(queue) and below.startswith(f"{path}/"):
            detail = f"{path} is not allowed to be in the sub path of {below} of queue {name_of(other)}"
            return [invalid(where, path, detail)]
    return []


def _weight_problem(weight: str) -> str:
    try:
        number = float(weight) if weight.strip() == weight and "_" not in weight else None
    except ValueError:
        number = None
    if number is None:
        return f'is invalid number: strconv.ParseFloat: parsing "{weight}": invalid syntax'
    if abs(number) == float("inf") and "inf" not in weight.lower():
        return f'is invalid number: strconv.ParseFloat: parsing "{weight}": value out of range'
    return "must be larger than 0" if number <= 0 else ""
