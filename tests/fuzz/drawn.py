"""Objects drawn from the schemas of our kinds, and objects broken on purpose.

`Drawer.shaped` follows a schema: bounds, enums and required fields hold, optional fields come and go, names are few so that
objects meet. `Drawer.broken` then puts anything at some places: other types, nulls, huge numbers, odd text. What hypothesis
draws is a seed and how much is broken; a schema of a pod template drawn field by field would cost more than the tests.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping
from random import Random
from typing import Any, Final

from hypothesis import strategies as st

from vcray.api.meta import JsonObject, JsonValue

EXAMPLES: Final = int(os.environ.get("VCRAY_FUZZ", "40"))
"""Examples of each test; the variable VCRAY_FUZZ raises it."""

NAMES: Final = ("a", "b", "default", "q")
WORDS: Final = (
    *NAMES,
    "*",
    "PodFailed",
    "RestartJob",
    "Pending",
    "1",
    "10%",
    "2Gi",
    "500m",
    "root",
    "team",
    "ns.a",
)
ODD: Final = (
    "", " ", "\0", "\n", "é" * 70, "‮", "𝔘𝔫𝔦", "a/b", "../x", "-1", "1e400", "9" * 400, "[", "(?P<", "@every 1s",
    "0x10", "١٢", "true", "null", "{{.}}", "a" * 300, "2027-01-15T08:00:00Z", "2027-99-99T00:00:00Z", "1/0", "%s",
)  # fmt: skip
NUMBERS: Final = (0, 1, -1, 2**31 - 1, 2**31, -(2**31), 2**63 - 1, -(2**63), 10**40, 0.5, -0.0, 1e308)
MOST: Final = 4
"""The largest number where a schema allows any: a job of a billion pods is a load, not a shape."""


class Drawer:
    """Draws from one seed."""

    def __init__(self, seed: int) -> None:
        self._dice = Random(seed)

    def shaped(self, schema: Mapping[str, Any], depth: int = 0) -> Any:
        """A value that the schema allows."""
        dice = self._dice
        if "enum" in schema:
            return dice.choice([each for each in schema["enum"] if each is not None])
        if schema.get("x-kubernetes-int-or-string") or "anyOf" in schema:
            return dice.choice((1, 2, "1", "500m", "2Gi"))
        kind = schema.get("type")
        if kind == "object":
            return self._object(schema, depth)
        if kind == "array":
            least, most = schema.get("minItems", 0), min(schema.get("maxItems", 3), 3)
            return [
                self.shaped(schema["items"], depth + 1) for _ in range(dice.randint(least, max(least, most)))
            ]
        if kind in ("integer", "number"):
            least = schema.get("minimum", 0)
            return dice.randint(least, max(least, min(schema.get("maximum", MOST), MOST)))
        if kind == "boolean":
            return dice.random() < 0.5
        if kind == "string":
            return "2027-01-15T08:00:00Z" if schema.get("format") == "date-time" else self._text(schema)
        return self.anything()

    def named(self, schema: Mapping[str, Any], namespace: str = "") -> JsonObject:
        """An object of a schema with metadata such as a server stores."""
        obj: JsonObject = self.shaped(schema)
        obj["metadata"] = self.metadata(namespace)
        return obj

    def metadata(self, namespace: str = "") -> JsonObject:
        """A name of few, and now and then owners, marks and a deletion."""
        dice = self._dice
        found: JsonObject = {"name": dice.choice(NAMES)}
        if namespace:
            found["namespace"] = namespace
        for field in ("labels", "annotations"):
            if dice.random() < 0.5:
                keys = (
                    "volcano.sh/job-name",
                    "volcano.sh/task-spec",
                    "scheduling.k8s.io/group-name",
                    "volcano.sh/preemptable",
                )
                found[field] = {dice.choice(keys): dice.choice(WORDS) for _ in range(3)}
        if dice.random() < 0.3:
            kind, version = dice.choice(
                (("Job", "batch.volcano.sh/v1alpha1"), ("ReplicaSet", "apps/v1"), ("Node", "v1"))
            )
            owner: JsonObject = {
                "apiVersion": version,
                "kind": kind,
                "name": dice.choice(NAMES),
                "uid": "u",
                "controller": True,
            }
            found["ownerReferences"] = [owner]
        if dice.random() < 0.1:
            found["deletionTimestamp"] = "2027-01-15T08:00:00Z"
        return found

    def broken(self, obj: JsonObject, places: int) -> JsonObject:
        """A copy with anything at so many places, its name left alone."""
        found: Any = copy.deepcopy(obj)
        for _ in range(places):
            holder = found
            while True:
                keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
                if not keys:
                    break
                key = self._dice.choice(keys)
                if isinstance(holder[key], dict | list) and holder[key] and self._dice.random() < 0.8:
                    holder = holder[key]
                    continue
                if (
                    not (key in ("name", "namespace") and holder is found.get("metadata"))
                    and key != "metadata"
                ):
                    holder[key] = self.anything()
                break
        return found  # type: ignore[no-any-return]

    def anything(self, depth: int = 0) -> JsonValue:
        """Any JSON value."""
        dice = self._dice
        case = dice.randrange(8 if depth < 3 else 5)
        if case == 0:
            return None
        if case == 1:
            return dice.random() < 0.5
        if case == 2:
            return dice.choice(NUMBERS)
        if case in (3, 4):
            return dice.choice(ODD + WORDS)
        if case in (5, 6):
            return [self.anything(depth + 1) for _ in range(dice.randrange(3))]
        return {dice.choice(ODD + WORDS): self.anything(depth + 1) for _ in range(dice.randrange(3))}

    def _object(self, schema: Mapping[str, Any], depth: int) -> JsonObject:
        properties, needed = schema.get("properties", {}), schema.get("required", ())
        chance = 0.7 if depth < 3 else 0.15
        found: JsonObject = {
            name: self.shaped(part, depth + 1)
            for name, part in properties.items()
            if name in needed or self._dice.random() < chance
        }
        values = schema.get("additionalProperties")
        if isinstance(values, Mapping):
            keys = ("cpu", "memory", "pods", "nvidia.com/gpu", "svc", "env", "ssh", "mpi", "a")
            found |= {self._dice.choice(keys): self.shaped(values, depth + 1) for _ in range(2)}
        return found

    def _text(self, schema: Mapping[str, Any]) -> str:
        if schema.get("pattern", "").startswith("^(\\+|-)?"):
            return self._dice.choice(("1", "500m", "2Gi"))
        least, most = schema.get("minLength", 0), schema.get("maxLength", 1000)
        text = self._dice.choice(WORDS if self._dice.random() < 0.8 else ODD)[:most]
        return text if len(text) >= least else "a" * least


seeds = st.integers(0, 2**32 - 1)
breaks = st.integers(0, 4)
