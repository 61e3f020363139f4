"""Label selectors as requirements, and what they select.

A selector becomes a sorted tuple of requirements, so that two spellings of one rule share one counter.
Kubernetes tells a selector that is absent (selects nothing) from one that is empty (selects everything).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from vcray.api.wire import Requirement as WireRequirement
from vcray.api.wire import Selector
from vcray.core.selectors import satisfies
from vcray.core.snapshot import SelectorSpec
from vcray.core.tables import Notes, Requirement

Labels: TypeAlias = tuple[tuple[str, str], ...]
"""Labels of an object as sorted pairs: hashable, the same for equal maps."""

NOTHING: Final = (Requirement("", "In", ()),)
"""Requirements that no labels satisfy: what an absent selector means."""


def labels_of(labels: Mapping[str, str]) -> Labels:
    """A label map as sorted pairs."""
    return tuple(sorted(labels.items()))


def requirement_key(requirement: Requirement) -> tuple[str, str, tuple[str, ...], bool]:
    """The order of requirements inside a term; they are ANDed, so any fixed order will do."""
    return (requirement.key, requirement.operator, requirement.values, requirement.field)


def normalise(requirements: Iterable[Requirement]) -> tuple[Requirement, ...]:
    """Requirements sorted, each once."""
    return tuple(sorted(set(requirements), key=requirement_key))


def requirement_of(expression: WireRequirement, field: bool = False) -> Requirement:
    """One expression; values sorted, since only membership counts."""
    return Requirement(expression.key, expression.operator, tuple(sorted(set(expression.values))), field)


def equal_to(labels: Mapping[str, str]) -> tuple[Requirement, ...]:
    """Requirements that each of the labels has exactly this value."""
    return normalise(Requirement(key, "In", (value,)) for key, value in labels.items())


def requirements_of(selector: Selector | None) -> tuple[Requirement, ...]:
    """A label selector as requirements; None selects nothing, an empty one everything."""
    if selector is None:
        return NOTHING
    expressions = [requirement_of(expression) for expression in selector.match_expressions]
    return normalise([*equal_to(selector.match_labels), *expressions])


def fold_keys(
    requirements: tuple[Requirement, ...], labels: Mapping[str, str], keys: Iterable[str], operator: str
) -> tuple[Requirement, ...]:
    """Add matchLabelKeys (In) or mismatchLabelKeys (NotIn) with the pod's own values; keys it lacks are ignored.

    An API server that has folded them already yields the same requirements, which are then not doubled."""
    own = [Requirement(key, operator, (labels[key],)) for key in keys if key in labels]
    return normalise([*requirements, *own]) if own else requirements


def selects(selector: SelectorSpec, namespace: str, labels: Mapping[str, str]) -> bool:
    """Is a pod of that namespace with these labels counted by the selector?"""
    if selector.namespaces is not None and namespace not in selector.namespaces:
        return False
    return satisfies(selector.requirements, labels)


def notes_of(keys: Sequence[str], annotations: Mapping[str, str], labels: Mapping[str, str]) -> Notes:
    """Of these keys those that an object has, its annotation before its label."""
    if not annotations and not labels:
        return ()
    return tuple(
        sorted(
            (key, annotations[key] if key in annotations else labels[key])
            for key in keys
            if key in annotations or key in labels
        )
    )
