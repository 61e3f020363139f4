"""By what pods of integrations are told from all others, before their owners are looked for: cheap, here and in admission."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from vcray.api.meta import JsonObject
from vcray.controllers import raw
from vcray.integrations.base import Integration


@dataclass(frozen=True, slots=True)
class PodMarks:
    """Labels as `key` or `key=value`, and fields of spec. A pod with one of them may be an integration's."""

    labels: frozenset[str]
    fields: frozenset[str]

    @classmethod
    def of(cls, integrations: Iterable[Integration]) -> PodMarks:
        """The marks of all of these."""
        found = list(integrations)
        return cls(
            frozenset(label for each in found for label in each.pod_labels),
            frozenset(name for each in found for name in each.pod_fields),
        )

    def bears(self, pod: JsonObject) -> bool:
        """Has a pod one of the marks?"""
        spec = raw.table(pod, "spec")
        if any(name in spec for name in self.fields):
            return True
        labels = raw.labels_of(pod)
        return any(key in self.labels or f"{key}={value}" in self.labels for key, value in labels.items())

    def expression(self) -> str:
        """The same as a CEL expression about `object`."""
        keys = ", ".join(f"'{label}'" for label in sorted(self.labels) if "=" not in label)
        pairs = [label.partition("=") for label in sorted(self.labels) if "=" in label]
        either = [f"[{keys}].exists(label, label in object.metadata.labels)"]
        either += [
            f"('{key}' in object.metadata.labels && object.metadata.labels['{key}'] == '{value}')"
            for key, _, value in pairs
        ]
        marked = f"(has(object.metadata.labels) && ({' || '.join(either)}))"
        return " || ".join([marked, *(f"has(object.spec.{name})" for name in sorted(self.fields))])
