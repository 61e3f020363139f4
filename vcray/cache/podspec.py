"""Pod -> form: all that placement reads of a pod, as plain values, before anything of the cluster is known.

A form becomes a shape once selectors have rows, namespace selectors have names, and claims and Services are known
(`vcray.cache.resolve`). Labels stay beside the form: they belong to a shape only where a live selector reads them,
else every job would have shapes of its own and nothing could be shared.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from vcray.api import devices
from vcray.api.names import CPU, MEMORY
from vcray.api.podresources import nonzero_requests, pod_requests, resource_amounts
from vcray.api.wire import (
    NodeSelectorTerm,
    Pod,
    PodAffinityTerm,
    TopologySpreadConstraint,
)
from vcray.cache.amounts import MOST, Amounts, bounded
from vcray.cache.asks import asks_of, pinned_of
from vcray.cache.labels import (
    Labels,
    fold_keys,
    labels_of,
    normalise,
    notes_of,
    requirement_of,
    requirements_of,
)
from vcray.core.tables import ContainerAsk, HostPort, NodeTerm, Notes, Requirement, Toleration

ANY_IP: Final = "0.0.0.0"


@dataclass(frozen=True, slots=True)
class TermForm:
    """A pod (anti-)affinity term. `namespaces` are names; `namespace_selector` adds those it selects: None adds none,
    no requirements add all. `weight` is negative for preferred anti-affinity."""

    namespaces: tuple[str, ...]
    namespace_selector: tuple[Requirement, ...] | None
    requirements: tuple[Requirement, ...]
    key: str
    weight: int = 0


@dataclass(frozen=True, slots=True)
class SpreadForm:
    """A topology spread constraint over pods of `namespace`; matchLabelKeys are folded in."""

    namespace: str
    requirements: tuple[Requirement, ...]
    key: str
    max_skew: int
    hard: bool
    min_domains: int
    honor_affinity: bool
    honor_taints: bool


@dataclass(frozen=True, slots=True)
class PodForm:
    """What equal pods share, labels apart. Amounts in the units of `core.space`; see `core.tables.ShapeSpec`."""

    requests: Amounts
    floor: tuple[int, int]
    node_selector: Labels = ()
    node_required: tuple[NodeTerm, ...] | None = None
    node_preferred: tuple[NodeTerm, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    ports: tuple[HostPort, ...] = ()
    affinity: tuple[TermForm, ...] = ()
    anti_affinity: tuple[TermForm, ...] = ()
    preferred: tuple[TermForm, ...] = ()
    spread: tuple[SpreadForm, ...] = ()
    images: tuple[str, ...] = ()
    containers: int = 1
    notes: Notes = ()
    asks: tuple[ContainerAsk, ...] = ()
    pinned: tuple[int, ...] = ()
    limits: tuple[int, int] = (0, 0)


def waiting_form(pod: Pod) -> PodForm:
    """The form of a pod that still needs a node: everything. Raises QuantityError."""
    spec = pod.spec
    required, preferred = _node_affinity(pod)
    images = [container.image for container in (*spec.init_containers, *spec.containers)]
    return replace(
        resident_form(pod),
        node_selector=labels_of(spec.node_selector),
        node_required=required,
        node_preferred=preferred,
        tolerations=_tolerations(pod),
        affinity=_affinity(pod),
        spread=tuple(_spread(pod, constraint) for constraint in spec.topology_spread_constraints),
        images=tuple(sorted(normalised_image(image) for image in images if image)),
        containers=len(images),
        notes=notes_of(devices.PLACEMENT_KEYS, pod.metadata.annotations, pod.metadata.labels),
    )


def resident_form(pod: Pod) -> PodForm:
    """The form of a pod that has a node: only what others feel of it. Raises QuantityError.

    Resources, ports, required anti-affinity and preferred terms; where it wanted to go is past."""
    requests, floor = _amounts(pod)
    return PodForm(
        requests=requests,
        floor=floor,
        ports=_ports(pod),
        anti_affinity=_anti_affinity(pod),
        preferred=_preferred(pod),
        asks=asks_of(pod),
        pinned=pinned_of(pod),
        limits=_limits(pod, requests),
    )


def bare_form(pod: Pod) -> PodForm:
    """The form of a pod that neither waits nor occupies a node: its requests. Raises QuantityError."""
    requests, floor = _amounts(pod)
    return PodForm(requests=requests, floor=floor)


def settled(form: PodForm) -> PodForm:
    """The resident form of a waiting one, for a pod whose binding is on its way."""
    return PodForm(
        requests=form.requests,
        floor=form.floor,
        ports=form.ports,
        anti_affinity=form.anti_affinity,
        preferred=form.preferred,
        asks=form.asks,
        pinned=form.pinned,
        limits=form.limits,
    )


def normalised_image(name: str) -> str:
    """An image name with `:latest` where it has neither tag nor digest, as kube-scheduler compares them."""
    return name if name.rfind(":") > name.rfind("/") else f"{name}:latest"


def claims_of(pod: Pod) -> tuple[tuple[str, bool], ...]:
    """Names of the volume claims in the order of the volumes; True for one that comes with the pod (ephemeral)."""
    claims: list[tuple[str, bool]] = []
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            claims.append((volume.persistent_volume_claim.claim_name, False))
        elif volume.ephemeral is not None:
            claims.append((f"{pod.metadata.name}-{volume.name}", True))
    return tuple(claims)


def devices_of(pod: Pod) -> tuple[str, ...]:
    """Names of the pod's ResourceClaims in order; empty for one that is to be made from a template and is not yet there.

    A template for which the controller made nothing (the status has no name) asks for nothing."""
    made = {item.name: item.resource_claim_name for item in pod.status.resource_claim_statuses}
    found: list[str] = []
    for claim in pod.spec.resource_claims:
        if claim.resource_claim_name:
            found.append(claim.resource_claim_name)
        elif claim.name not in made:
            found.append("")
        elif made[claim.name]:
            found.append(made[claim.name] or "")
    return tuple(found)


def _limits(pod: Pod, requests: Amounts) -> tuple[int, int]:
    """Limits of cpu and memory where they are above the requests, else 0: pods without such a limit share a shape."""
    containers, init = pod.spec.containers, pod.spec.init_containers
    if all(
        not container.resources.limits or container.resources.limits == container.resources.requests
        for container in (*containers, *init)
    ):
        return 0, 0
    total = [0, 0]
    for container in containers:
        stated = resource_amounts(container.resources.limits)
        total = [total[0] + stated.get(CPU, 0), total[1] + stated.get(MEMORY, 0)]
    for container in init:
        stated = resource_amounts(container.resources.limits)
        total = [max(total[0], stated.get(CPU, 0)), max(total[1], stated.get(MEMORY, 0))]
    asked = dict(requests)
    cpu, memory = (min(limit, MOST) for limit in total)
    return cpu if cpu > asked.get(CPU, 0) else 0, memory if memory > asked.get(MEMORY, 0) else 0


def _amounts(pod: Pod) -> tuple[Amounts, tuple[int, int]]:
    """Requests, and the two that scoring defaults where a container states none; mostly every container states both."""
    requests = pod_requests(pod)
    stated = not pod.status.conditions or all(
        item.type != "PodResizePending" for item in pod.status.conditions
    )
    for container in (*pod.spec.containers, *pod.spec.init_containers):
        asked = container.resources.requests
        stated = stated and CPU in asked and MEMORY in asked
    floor = (requests[CPU], requests[MEMORY]) if stated and pod.spec.containers else nonzero_requests(pod)
    return bounded(requests), (min(floor[0], MOST), min(floor[1], MOST))


def node_term(term: NodeSelectorTerm, weight: int = 0) -> NodeTerm:
    """A node selector term."""
    expressions = [requirement_of(expression) for expression in term.match_expressions]
    fields = [requirement_of(expression, True) for expression in term.match_fields]
    return NodeTerm(normalise([*expressions, *fields]), weight)


def _node_affinity(pod: Pod) -> tuple[tuple[NodeTerm, ...] | None, tuple[NodeTerm, ...]]:
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    if affinity is None:
        return None, ()
    required = None
    if affinity.required is not None:
        required = tuple(node_term(term) for term in affinity.required.node_selector_terms)
    preferred = tuple(
        node_term(term.preference, term.weight)
        for term in affinity.preferred
        if term.weight and (term.preference.match_expressions or term.preference.match_fields)
    )
    return required, preferred


def _tolerations(pod: Pod) -> tuple[Toleration, ...]:
    tolerations = {
        Toleration(item.key, item.operator or "Equal", item.value, item.effect)
        for item in pod.spec.tolerations
    }
    return tuple(sorted(tolerations, key=lambda item: (item.key, item.operator, item.value, item.effect)))


def _ports(pod: Pod) -> tuple[HostPort, ...]:
    """Host ports of containers and sidecars; a plain init container has given its ports back when others start."""
    sidecars = [item for item in pod.spec.init_containers if item.restart_policy == "Always"]
    ports = {
        HostPort(port.host_ip or ANY_IP, port.protocol or "TCP", port.host_port)
        for container in (*pod.spec.containers, *sidecars)
        for port in container.ports
        if port.host_port > 0
    }
    return tuple(sorted(ports, key=lambda port: (port.port, port.protocol, port.ip)))


def _term(pod: Pod, term: PodAffinityTerm, weight: int = 0) -> TermForm:
    labels = pod.metadata.labels
    requirements = requirements_of(term.label_selector)
    if term.label_selector is not None:
        requirements = fold_keys(requirements, labels, term.match_label_keys, "In")
        requirements = fold_keys(requirements, labels, term.mismatch_label_keys, "NotIn")
    selector = None if term.namespace_selector is None else requirements_of(term.namespace_selector)
    names = tuple(sorted(set(term.namespaces)))
    if not names and selector is None:
        names = (pod.metadata.namespace,)
    return TermForm(names, selector, requirements, term.topology_key, weight)


def _sorted_terms(terms: Iterable[TermForm]) -> tuple[TermForm, ...]:
    return tuple(sorted(terms, key=repr))


def _affinity(pod: Pod) -> tuple[TermForm, ...]:
    affinity = pod.spec.affinity.pod_affinity if pod.spec.affinity else None
    return _sorted_terms({_term(pod, term) for term in affinity.required}) if affinity else ()


def _anti_affinity(pod: Pod) -> tuple[TermForm, ...]:
    affinity = pod.spec.affinity.pod_anti_affinity if pod.spec.affinity else None
    return _sorted_terms({_term(pod, term) for term in affinity.required}) if affinity else ()


def _preferred(pod: Pod) -> tuple[TermForm, ...]:
    affinity = pod.spec.affinity
    if affinity is None:
        return ()
    terms = []
    for rules, sign in ((affinity.pod_affinity, 1), (affinity.pod_anti_affinity, -1)):
        if rules is not None:
            terms += [_term(pod, term.pod_affinity_term, sign * term.weight) for term in rules.preferred]
    return _sorted_terms(terms)


def _spread(pod: Pod, constraint: TopologySpreadConstraint) -> SpreadForm:
    requirements = requirements_of(constraint.label_selector)
    if constraint.label_selector is not None:
        requirements = fold_keys(requirements, pod.metadata.labels, constraint.match_label_keys, "In")
    return SpreadForm(
        namespace=pod.metadata.namespace,
        requirements=requirements,
        key=constraint.topology_key,
        max_skew=constraint.max_skew,
        hard=constraint.when_unsatisfiable == "DoNotSchedule",
        min_domains=constraint.min_domains or 1,
        honor_affinity=constraint.node_affinity_policy == "Honor",
        honor_taints=constraint.node_taints_policy == "Honor",
    )
