"""A queue among its relatives: parents that exist, not too deep, and resources that add up along the tree.

The queue under review is not in the view yet, or in its old form; its relatives are as last seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vcray.api import names
from vcray.api.jsonview import dig, dig_object, dig_str
from vcray.api.meta import JsonObject
from vcray.api.quantity import QuantityError, value
from vcray.webhooks.amounts import Amounts, amounts, falls_short, printed, printed_one
from vcray.webhooks.base import Look, name_of, queue_not_found

_TOP = ("", names.ROOT_QUEUE)
_SHARES = (("guarantee", ("spec", "guarantee", "resource")), ("deserved", ("spec", "deserved")))


def allocated_pods(queue: JsonObject) -> int:
    """How many pods the scheduler has placed for a queue, after its status."""
    pods = dig(queue, "status", "allocated", names.PODS)
    try:
        return value(pods) if isinstance(pods, str | int | float) else 0
    except QuantityError:
        return 0


def parent_problem(queue: JsonObject, look: Look, max_depth: int) -> str:
    """Why a queue cannot have the parent it names; empty when it can."""
    name, parent = name_of(queue), _parent(queue)
    if parent in _TOP:
        return ""
    if parent == name:
        return f"queue {name} cannot use itself as parent"
    problem = _chain_problem(name, parent, look, max_depth)
    if problem:
        return problem
    pods = allocated_pods(look.queue(parent) or {})
    if pods and not look.children(parent):
        return (
            f"queue {parent} cannot be the parent queue of queue {name} because it has allocated Pods: {pods}"
        )
    return ""


def resource_problem(queue: JsonObject, look: Look) -> str:
    """Why the resources of a queue other than root do not fit its relatives; empty when they do."""
    name, parent = name_of(queue), _parent(queue)
    if parent not in _TOP:
        above = look.queue(parent)
        if above is None:
            return f"parent queue {parent} not found: {queue_not_found(parent)}"
        siblings = [each for each in look.children(parent) if name_of(each) != name]
        problem = _over_ancestor(queue, look) or _sums_problem(
            f"parent queue {parent}", above, [*siblings, queue]
        )
        if problem:
            return problem
    children = look.children(name)
    if not children:
        return ""
    return _under_descendants(queue, children, look) or _sums_problem(f"queue {name}", queue, children)


def _parent(queue: JsonObject) -> str:
    return dig_str(queue, "spec", "parent")


def _chain_problem(name: str, parent: str, look: Look, max_depth: int) -> str:
    depth, above = 1, parent
    while above not in _TOP:
        depth += 1
        if depth > max_depth:
            return f"queue {name} exceeds the maximum allowed depth of {max_depth}"
        if above == name:
            return f"queue {name} cannot use its own descendant {parent} as parent"
        found = look.queue(above)
        if found is None:
            return f"failed to get parent queue {above} of queue {name}: {queue_not_found(above)}"
        above = _parent(found)
    return ""


def _capability(queue: JsonObject) -> Amounts:
    """What a queue may use at most; resources of which it gives none count as not given."""
    found = amounts(dig_object(queue, "spec", "capability"))
    order = sorted(found, key=lambda each: (each != names.CPU, each != names.MEMORY, each))
    return {resource: found[resource] for resource in order if found[resource] > 0}


def _ancestors(queue: JsonObject, look: Look) -> Iterator[JsonObject]:
    """Parent, its parent and so on below root, each once."""
    seen = {name_of(queue)}
    above = _parent(queue)
    while above not in _TOP and above not in seen:
        seen.add(above)
        found = look.queue(above)
        if found is None:
            return
        yield found
        above = _parent(found)


def _over_ancestor(queue: JsonObject, look: Look) -> str:
    for resource, amount in _capability(queue).items():
        limits = (_capability(above).get(resource, 0) for above in _ancestors(queue, look))
        limit = next(filter(None, limits), None)
        if limit is not None and amount > limit:
            mine, theirs = printed_one(resource, amount), printed_one(resource, limit)
            return f"queue {name_of(queue)} capability[{resource}]={mine} exceeds its ancestor's capability={theirs}"
    return ""


def _under_descendants(queue: JsonObject, children: Sequence[JsonObject], look: Look) -> str:
    for resource, amount in _capability(queue).items():
        seen = {name_of(queue)}
        most = max(_largest(child, resource, look, seen) for child in children)
        if amount < most:
            mine, theirs = printed_one(resource, amount), printed_one(resource, most)
            return (
                f"queue {name_of(queue)} capability[{resource}]={mine} is smaller than "
                f"its descendants' max capability={theirs}"
            )
    return ""


def _largest(queue: JsonObject, resource: str, look: Look, seen: set[str]) -> int:
    """The topmost capability on each branch from here, the largest of them."""
    name = name_of(queue)
    if name in seen:
        return 0
    seen.add(name)
    own = _capability(queue).get(resource, 0)
    return own or max((_largest(child, resource, look, seen) for child in look.children(name)), default=0)


def _sums_problem(who: str, parent: JsonObject, children: Sequence[JsonObject]) -> str:
    """The first child, in order, with which guarantee or deserved of the children goes over the parent's."""
    limits = {share: amounts(dig_object(parent, *path)) for share, path in _SHARES}
    sums: dict[str, Amounts] = {share: {} for share, _ in _SHARES}
    for child in children:
        for share, path in _SHARES:
            for resource, amount in amounts(dig_object(child, *path)).items():
                sums[share][resource] = sums[share].get(resource, 0) + amount
            if falls_short(limits[share], sums[share]):
                return (
                    f"{who} validation failed: sum of children's {share} ({printed(sums[share])}) "
                    f"exceeds parent's {share} limit ({printed(limits[share])})"
                )
    return ""
