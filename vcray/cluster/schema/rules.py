"""The validation rules (CEL) of CRDs, as far as Volcano's use them: which fields an object may or must have.

Two forms are understood: `has(self.a) || has(self.b)`, and a sum of `(has(self.a) ? 1 : 0)` compared with `<= 1`. Any
other rule is not evaluated; a full CEL comes with the embedded API server.
"""

from __future__ import annotations

import re

from vcray.api.meta import JsonObject
from vcray.cluster.objects.record import entries, text

_HAS = re.compile(r"has\(self\.(\w+)\)")
_ANY_OF = re.compile(r"^has\(self\.\w+\)( \|\| has\(self\.\w+\))*$")
_ONE_AT_MOST = re.compile(r"^\(has\(self\.\w+\) \? 1 : 0\)( \+ \(has\(self\.\w+\) \? 1 : 0\))* <= 1$")


def broken_rules(value: JsonObject, schema: JsonObject) -> list[str]:
    """The messages of the rules of `schema` that an object breaks."""
    broken = []
    for entry in entries(schema.get("x-kubernetes-validations")):
        rule = text(entry.get("rule"))
        present = sum(name in value for name in _HAS.findall(rule))
        if (_ANY_OF.match(rule) and not present) or (_ONE_AT_MOST.match(rule) and present > 1):
            broken.append(text(entry.get("message")) or f"failed rule: {rule}")
    return broken
