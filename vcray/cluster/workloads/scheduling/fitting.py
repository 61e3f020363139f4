"""Whether a pod fits a node, in kube-scheduler's order of filters and its sentences. Pure.

It knows cordons, taints, node selectors and affinity, host ports and resources. Affinity between pods and spreading are left
to the scheduler of the control plane.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from vcray.api.jsonview import dig, dig_object, dig_objects, dig_str, dig_strings
from vcray.api.meta import JsonObject
from vcray.api.podresources import resource_amounts
from vcray.cache.podspec import ANY_IP, PodForm
from vcray.core.selectors import BLOCKING, UNSCHEDULABLE, satisfies, tolerates
from vcray.core.tables import HostPort, NodeTerm, Requirement, Taint
from vcray.plugins.predicates import PORTS
from vcray.plugins.predicates.node_rules import AFFINITY, CORDONED, TAINTED


@dataclass(slots=True)
class Load:
    """What the pods of a node take, in the units of `podresources`."""

    amounts: dict[str, int] = field(default_factory=dict)
    ports: set[HostPort] = field(default_factory=set)

    def add(self, form: PodForm) -> None:
        """One more pod."""
        for name, amount in form.requests:
            self.amounts[name] = self.amounts.get(name, 0) + amount
        self.ports |= set(form.ports)


def refusals(form: PodForm, node: JsonObject, load: Load) -> list[str]:
    """Why the pod may not go to the node: what the first filter that refuses says; empty if none does."""
    taints = taints_of(node)
    if dig(node, "spec", "unschedulable") is True and not tolerated(form, UNSCHEDULABLE):
        return [CORDONED]
    if any(taint.effect in BLOCKING and not tolerated(form, taint) for taint in taints):
        return [TAINTED]
    if not wanted(form, node):
        return [AFFINITY]
    if any(_clash(port, taken) for port in form.ports for taken in load.ports):
        return [PORTS]
    return _short(form, node, load)


def dislike(form: PodForm, node: JsonObject, load: Load) -> tuple[int, int, int]:
    """How little the pod likes a node that it fits: taints to be avoided, preferred affinity, pods there already."""
    avoided = sum(
        taint.effect == "PreferNoSchedule" and not tolerated(form, taint) for taint in taints_of(node)
    )
    liked = sum(term.weight for term in form.node_preferred if holds(term, node))
    return avoided, -liked, load.amounts.get("pods", 0)


def reaches(terms: Iterable[NodeTerm], node: JsonObject) -> bool:
    """Whether a node meets any of the terms."""
    return any(holds(term, node) for term in terms)


def holds(term: NodeTerm, node: JsonObject) -> bool:
    """Whether a node meets all requirements of a term; one without any matches nothing."""
    labels, name = dig_strings(node, "metadata", "labels"), dig_str(node, "metadata", "name")
    return bool(term.requirements) and all(_meets(each, labels, name) for each in term.requirements)


def _meets(requirement: Requirement, labels: Mapping[str, str], name: str) -> bool:
    if requirement.field:
        return requirement.key == "metadata.name" and satisfies(
            [Requirement("name", requirement.operator, requirement.values)], {"name": name}
        )
    if requirement.operator not in ("Gt", "Lt"):
        return satisfies([requirement], labels)
    try:
        [bound], value = requirement.values, int(labels.get(requirement.key, ""))
        return value > int(bound) if requirement.operator == "Gt" else value < int(bound)
    except ValueError:
        return False


def wanted(form: PodForm, node: JsonObject) -> bool:
    """Whether a node meets the pod's node selector and one term of its required node affinity, if it has any."""
    labels = dig_strings(node, "metadata", "labels")
    if any(labels.get(key) != value for key, value in form.node_selector):
        return False
    return form.node_required is None or reaches(form.node_required, node)


def taints_of(node: JsonObject) -> list[Taint]:
    """The taints of a node, in its order."""
    return [
        Taint(dig_str(each, "key"), dig_str(each, "value"), dig_str(each, "effect"))
        for each in dig_objects(node, "spec", "taints")
    ]


def tolerated(form: PodForm, taint: Taint) -> bool:
    """Whether one of the pod's tolerations covers a taint."""
    return any(tolerates(each, taint) for each in form.tolerations)


def _clash(port: HostPort, taken: HostPort) -> bool:
    same = (port.port, port.protocol) == (taken.port, taken.protocol)
    return same and (port.ip == taken.ip or ANY_IP in (port.ip, taken.ip))


def _short(form: PodForm, node: JsonObject, load: Load) -> list[str]:
    listed = dig_object(node, "status", "allocatable")
    offered = resource_amounts({name: str(amount) for name, amount in listed.items()})
    return [
        "Too many pods" if name == "pods" else f"Insufficient {name}"
        for name, amount in form.requests
        if amount and load.amounts.get(name, 0) + amount > offered.get(name, 0)
    ]
