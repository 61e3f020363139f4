"""Which nodes a pod's own words allow: node selectors, node affinity, taints, as one mask over all nodes.

Pure functions of the frozen tables, so policies that filter, score or count by them agree, and each may keep the
answers as long as the node table lives. Semantics are those of Kubernetes' component-helpers (nodeaffinity, corev1).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from vcray.core.arrays import Bool, Int
from vcray.core.tables import LabelColumns, NodeTable, NodeTerm, Requirement, ShapeSpec, Taint, Toleration

UNSCHEDULABLE = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
"""The taint that `spec.unschedulable` stands for; a pod that tolerates it may go to a cordoned node."""

BLOCKING = ("NoSchedule", "NoExecute")
"""Effects of a taint that keep a new pod away."""


def requirement_mask(nodes: NodeTable, requirement: Requirement) -> Bool:
    """(N,) nodes that meet one expression. Gt and Lt compare whole numbers; what is no number never matches."""
    if requirement.field:
        return _name_mask(nodes, requirement)
    labels = nodes.labels
    row = labels.keys.get(requirement.key)
    if row is None:
        return np.full(len(nodes), requirement.operator in ("NotIn", "DoesNotExist"))
    mask: Bool = _truth(labels.values[row], requirement)[labels.column[row]]
    return mask


def term_mask(nodes: NodeTable, term: NodeTerm) -> Bool:
    """(N,) nodes that meet all requirements of the term; a term without any matches nothing."""
    mask = np.full(len(nodes), bool(term.requirements))
    for requirement in term.requirements:
        mask &= requirement_mask(nodes, requirement)
    return mask


def affinity_mask(nodes: NodeTable, spec: ShapeSpec) -> Bool | None:
    """(N,) nodes that meet `nodeSelector` and required node affinity (any of its terms); None: all."""
    if not spec.node_selector and spec.node_required is None:
        return None
    mask = np.ones(len(nodes), dtype=bool)
    for key, value in spec.node_selector:
        mask &= requirement_mask(nodes, Requirement(key, "In", (value,)))
    if spec.node_required is not None:
        allowed = np.zeros(len(nodes), dtype=bool)
        for term in spec.node_required:
            allowed |= term_mask(nodes, term)
        mask &= allowed
    return mask


def satisfies(requirements: Iterable[Requirement], labels: Mapping[str, str]) -> bool:
    """Do the labels of an object meet all requirements of a selector? NotIn and DoesNotExist hold for an absent key. Unknown operators never hold."""
    for requirement in requirements:
        value = labels.get(requirement.key)
        match requirement.operator:
            case "In":
                holds = value is not None and value in requirement.values
            case "NotIn":
                holds = value is None or value not in requirement.values
            case "Exists":
                holds = value is not None
            case "DoesNotExist":
                holds = value is None
            case _:
                holds = False
        if not holds:
            return False
    return True


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Does this toleration cover the taint?"""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    return toleration.operator == "Exists" or (
        toleration.operator in ("", "Equal") and toleration.value == taint.value
    )


def tolerated(spec: ShapeSpec, taint: Taint) -> bool:
    """Does any toleration of the pod cover the taint?"""
    return any(tolerates(toleration, taint) for toleration in spec.tolerations)


def untolerated(nodes: NodeTable, spec: ShapeSpec, effects: Iterable[str]) -> list[int]:
    """Rows of `NodeTable.tainted` with one of the effects that the pod does not tolerate."""
    wanted = frozenset(effects)
    return [
        row for row, taint in enumerate(nodes.taints) if taint.effect in wanted and not tolerated(spec, taint)
    ]


def taint_mask(nodes: NodeTable, spec: ShapeSpec) -> Bool | None:
    """(N,) nodes without a blocking taint that the pod does not tolerate; None: all."""
    rows = untolerated(nodes, spec, BLOCKING)
    if not rows:
        return None
    blocked: Bool = np.logical_or.reduce(nodes.tainted[rows], axis=0)
    return ~blocked


def open_mask(nodes: NodeTable, spec: ShapeSpec) -> Bool | None:
    """(N,) nodes that are not cordoned; None: all, also for a pod that tolerates cordons."""
    if not nodes.unschedulable.any() or tolerated(spec, UNSCHEDULABLE):
        return None
    return ~nodes.unschedulable


def reachable(nodes: NodeTable, spec: ShapeSpec) -> Bool:
    """(N,) nodes that the pod could ever run on as far as selectors, affinity, taints and cordons tell."""
    mask = np.ones(len(nodes), dtype=bool)
    for part in (affinity_mask(nodes, spec), taint_mask(nodes, spec), open_mask(nodes, spec)):
        if part is not None:
            mask &= part
    return mask


def lending(nodes: NodeTable) -> Bool:
    """(N,) nodes that can take pods at all: Ready and not cordoned."""
    return nodes.ready & ~nodes.unschedulable


def _truth(values: tuple[str, ...], requirement: Requirement) -> Bool:
    """(V + 1,) whether each value of a key meets the requirement; the last entry is for nodes without the label,
    where the number MISSING (-1) finds it."""
    operator = requirement.operator
    truth = np.zeros(len(values) + 1, dtype=bool)
    if operator in ("In", "NotIn"):
        for value in requirement.values:
            if value in values:
                truth[values.index(value)] = True
        return ~truth if operator == "NotIn" else truth
    if operator == "Exists":
        truth[:-1] = True
    elif operator == "DoesNotExist":
        truth[-1] = True
    elif operator in ("Gt", "Lt"):
        bound = _whole(requirement.values[0]) if len(requirement.values) == 1 else None
        if bound is not None:
            numbers = [_whole(value) for value in values]
            truth[:-1] = [n is not None and (n > bound if operator == "Gt" else n < bound) for n in numbers]
    return truth


def _whole(text: str) -> int | None:
    """A signed decimal number as Go's ParseInt reads it, else None."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    return int(text) if digits.isascii() and digits.isdigit() else None


def _name_mask(nodes: NodeTable, requirement: Requirement) -> Bool:
    """(N,) for matchFields, which know `metadata.name` only, with In and NotIn of one value."""
    mask = np.zeros(len(nodes), dtype=bool)
    known = requirement.key == "metadata.name" and requirement.operator in ("In", "NotIn")
    if not known or len(requirement.values) != 1:
        return mask
    (name,) = requirement.values
    if name in nodes.names:
        mask[nodes.names.index(name)] = True
    return ~mask if requirement.operator == "NotIn" else mask


def label_column(labels: LabelColumns, key: str, nodes: int) -> Int:
    """(N,) number of each node's value of the key, MISSING where it has none."""
    row = labels.keys.get(key)
    return np.full(nodes, -1, dtype=np.int64) if row is None else labels.column[row].astype(np.int64)
