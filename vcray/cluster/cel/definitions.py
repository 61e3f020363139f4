"""What a server says against the rules of a new definition: expressions that do not compile, cost too much or cannot compare.

The paths and words are those of kube-apiserver. Costs are estimates of the worst case that the schema allows.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

from vcray.api.jsonview import dig_object, dig_objects, dig_str
from vcray.api.meta import JsonObject, JsonValue
from vcray.cel.program import Checker, CompileError, Program
from vcray.cel.rewriting import names_of
from vcray.cluster.cel.cost import Estimate
from vcray.cluster.cel.declared import Types
from vcray.cluster.cel.shapes import REQUEST_BYTES, UNKNOWN, Shape, shape_of
from vcray.cluster.cel.syntax import tree_of
from vcray.cluster.definitions.faults import shown

RULE_LIMIT, DEFINITION_LIMIT = 10_000_000, 100_000_000
_RULES = "x-kubernetes-validations"
_TOLD = 10  # the costliest rules that are blamed for the total


@dataclass(frozen=True, slots=True)
class _Context:
    """How often a place can occur in one object (None: nobody knows), and where comparing with the old value ended."""

    times: int | None = 1
    apart: str = ""


def rule_faults(schema: JsonObject, path: str) -> list[str]:
    """What is wrong with the rules of an openAPIV3Schema that is otherwise sound."""
    review = _Review(path)
    review.visit(schema, path, _Context())
    return review.found + review.total()


class _Review:
    """One pass over the rules of a schema."""

    def __init__(self, root: str) -> None:
        self.found: list[str] = []
        self._root = root
        self._costs: list[tuple[int, str]] = []

    def visit(self, schema: JsonObject, path: str, context: _Context) -> None:
        """Judge the rules at a place and below it, those below first."""
        extra, items = schema.get("additionalProperties"), schema.get("items")
        granular = dig_str(schema, "x-kubernetes-map-type") in ("", "granular")
        below = context if granular else replace(context, apart=context.apart or path)
        if isinstance(extra, dict):
            times = _times(context.times, schema.get("maxProperties"))
            self.visit(extra, f"{path}.additionalProperties", replace(context, times=times))
        for name, part in dig_object(schema, "properties").items():
            if isinstance(part, dict):
                self.visit(part, f"{path}.properties[{name}]", below)
        if isinstance(items, dict):
            compared = dig_str(schema, "x-kubernetes-list-type") == "map"
            apart = context.apart if compared else context.apart or path
            self.visit(items, f"{path}.items", _Context(_times(context.times, schema.get("maxItems")), apart))
        if dig_objects(schema, _RULES):
            self._rules(schema, path, context)

    def _rules(self, schema: JsonObject, path: str, context: _Context) -> None:
        resource = path == self._root or bool(schema.get("x-kubernetes-embedded-resource"))
        types = Types()
        kind = types.declare(schema, resource=resource)
        shape = shape_of(schema, resource=resource)
        if kind is None or shape is None:
            return
        checkers = {
            False: Checker({"self": kind, "oldSelf": kind}, types.pool),
            True: Checker({"self": kind, "oldSelf": f"list<{kind}>"}, types.pool),
        }
        for index, entry in enumerate(dig_objects(schema, _RULES)):
            checker = checkers[entry.get("optionalOldSelf") is True]
            self._rule(entry, f"{path}.{_RULES}[{index}]", checker, shape, context)

    def _rule(self, entry: JsonObject, path: str, checker: Checker, shape: Shape, context: _Context) -> None:
        rule, message = dig_str(entry, "rule"), dig_str(entry, "messageExpression")
        optional = entry.get("optionalOldSelf") is True
        try:
            program = checker.check(rule, optional)
        except CompileError as error:
            self._wrong(f"{path}.rule", entry, f"compilation failed: {error}")
        else:
            if program.result != "BOOL":
                self._wrong(f"{path}.rule", entry, "cel expression must evaluate to a bool")
            self._cost(program, f"{path}.rule", "estimated rule cost", shape, context)
        if message:
            self._message(entry, message, path, checker, shape)
        if "oldSelf" in names_of(rule):
            if context.apart:
                why = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {context.apart}"
                self.found.append(
                    f"{path}.rule: Invalid value: {json.dumps(rule, ensure_ascii=False)}: {why}"
                )
        elif "optionalOldSelf" in entry:
            shown = json.dumps(entry["optionalOldSelf"])
            why = "may not be set if oldSelf is not used in rule"
            self.found.append(f"{path}.optionalOldSelf: Invalid value: {shown}: {why}")

    def _message(self, entry: JsonObject, message: str, path: str, checker: Checker, shape: Shape) -> None:
        where = f"{path}.messageExpression"
        try:
            program = checker.check(message, entry.get("optionalOldSelf") is True)
        except CompileError as error:
            self._wrong(where, entry, f"messageExpression compilation failed: {error}")
            return
        if program.result != "STRING":
            self._wrong(where, entry, "messageExpression must evaluate to a string")
            return
        self._cost(program, where, "estimated messageExpression cost", shape, _Context())

    def _cost(self, program: Program, path: str, name: str, shape: Shape, context: _Context) -> None:
        tree = tree_of(program.expression.serialize())
        once = Estimate({"self": shape, "oldSelf": shape}).of(tree)
        times = context.times if context.times is not None else REQUEST_BYTES // (shape.least + 1)
        cost = min(once * times, UNKNOWN)
        if cost > RULE_LIMIT:
            self.found.append(f"{path}: Forbidden: {_exceeds(name, cost, RULE_LIMIT)}")
        self._costs.append((cost, path))

    def _wrong(self, path: str, entry: JsonObject, why: str) -> None:
        reason, optional = entry.get("reason"), entry.get("optionalOldSelf")
        told: JsonObject = {"Rule": dig_str(entry, "rule"), "Message": dig_str(entry, "message")}
        told |= {"MessageExpression": dig_str(entry, "messageExpression"), "Reason": reason}
        told |= {"FieldPath": dig_str(entry, "fieldPath"), "OptionalOldSelf": optional}
        self.found.append(f"{path}: Invalid value: {shown(told)}: {why}")

    def total(self) -> list[str]:
        """The faults of the definition as a whole: rules that are too costly together."""
        total = min(sum(cost for cost, _ in self._costs), UNKNOWN)
        if total <= DEFINITION_LIMIT:
            return []
        costly = sorted(self._costs, key=lambda item: -item[0])[:_TOLD]
        why = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
        told = [f"{path}: Forbidden: {why}" for cost, path in costly if cost > RULE_LIMIT]
        name = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
        return [*told, f"{self._root}: Forbidden: {_exceeds(name, total, DEFINITION_LIMIT)}"]


def _times(around: int | None, most: JsonValue) -> int | None:
    if around is None or not isinstance(most, int):
        return None
    return min(around * most, UNKNOWN)


def _exceeds(name: str, cost: int, limit: int) -> str:
    factor = cost / limit
    told = "more than 100x" if factor > 100 else f"{factor:f}x" if factor < 1.5 else f"{factor:.1f}x"
    return (
        f"{name} exceeds budget by factor of {told} (try simplifying the rule, or adding maxItems, maxProperties, and "
        "maxLength where arrays, maps, and strings are declared)"
    )
