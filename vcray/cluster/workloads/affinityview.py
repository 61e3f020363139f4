"""Of a pod's affinity as much as tells which node it is made for, as a DaemonSet's pods are."""

from __future__ import annotations

from msgspec import Struct


class _View(Struct, frozen=True, rename="camel", gc=False):
    """Options of all structs here."""


class FieldRequirement(_View, frozen=True):
    """A requirement of a node's own fields, such as its name."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] | None = None


class FieldTerm(_View, frozen=True):
    """Of a node selector term, the part that is about fields."""

    match_fields: tuple[FieldRequirement, ...] | None = None


class RequiredNodes(_View, frozen=True):
    """A node selector."""

    node_selector_terms: tuple[FieldTerm, ...] | None = None


class NodeAffinityView(_View, frozen=True):
    """Which nodes a pod insists on."""

    required_during_scheduling_ignored_during_execution: RequiredNodes | None = None


class AffinityView(_View, frozen=True):
    """A pod's affinity."""

    node_affinity: NodeAffinityView | None = None


def named_node(affinity: AffinityView | None) -> str:
    """The one node that a required term names; empty if none does, or several are named."""
    node = affinity.node_affinity if affinity is not None else None
    required = node.required_during_scheduling_ignored_during_execution if node is not None else None
    for term in (required.node_selector_terms or ()) if required is not None else ():
        for field in term.match_fields or ():
            if (field.key, field.operator) == ("metadata.name", "In"):
                return field.values[0] if field.values is not None and len(field.values) == 1 else ""
    return ""
