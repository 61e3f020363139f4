"""The validation rules (CEL) of a custom resource, at every level of its schema, as a Kubernetes API server judges them.

A rule sees the value it stands at and, when there is one to compare with, the value from before: properties and map entries
by their names, items of `listType: map` by their keys. What a rule says against a part that did not change is passed over
(ratcheting). The expression library is loaded when the first schema with rules is met.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vcray.api.jsonview import dig_list, dig_object, dig_objects, dig_str
from vcray.api.meta import JsonObject, JsonValue

if TYPE_CHECKING:
    from vcray.cluster.cel.rules import Finding, Rule
    from vcray.cluster.cel.values import Converter

_BLOCKING = (": Required value", ": Unsupported value", ": Too long", ": Too many")
_NOT_CHECKED = (
    "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)
_RULES = "x-kubernetes-validations"
_KEPT = 256


@dataclass(slots=True)
class _Level:
    """One place of a schema that has rules, or leads to places that have."""

    kind: str
    rules: list[Rule]
    convert: Converter | None
    properties: dict[str, _Level] = field(default_factory=dict)
    extra: _Level | None = None
    items: _Level | None = None
    all_of: list[_Level] = field(default_factory=list)
    granular: bool = True
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Place:
    """One value with its old one (`found` says whether there is one), and the nearest place around it that has one."""

    value: JsonValue
    old: JsonValue
    found: bool
    around: _Place | None

    def unchanged(self) -> bool:
        """Whether errors of this place are passed over."""
        if self.found:
            return self.value == self.old
        return self.around is not None and self.around.unchanged()

    def child(self, value: JsonValue, old: JsonValue, found: bool) -> _Place:
        """A place within this one."""
        return _Place(value, old, found, self if self.found else self.around)


_levels: dict[int, tuple[JsonObject, _Level | None]] = {}


def rule_errors(obj: JsonObject, schema: JsonObject, old: JsonObject | None, errors: list[str]) -> list[str]:
    """The errors of an object's rules; `errors` are those that its schema found before. Old is None for a new object."""
    level = _level_of(schema)
    if level is None:
        return []
    if any(any(kind in error for kind in _BLOCKING) or "must be of type" in error for error in errors):
        return [_NOT_CHECKED]
    found: list[str] = []
    _judge(level, _Place(obj, old, old is not None, None), "", found)
    return found


def _level_of(schema: JsonObject) -> _Level | None:
    """The rules of a schema, read once. A schema object is not altered while it is served."""
    kept = _levels.get(id(schema))
    if kept is None or kept[0] is not schema:
        if len(_levels) >= _KEPT:
            _levels.clear()
        kept = _levels[id(schema)] = schema, _read(schema)
    return kept[1]


def has_rules(schema: JsonValue) -> bool:
    """Whether a schema has rules anywhere."""
    if isinstance(schema, dict):
        return bool(schema.get(_RULES)) or any(has_rules(part) for part in schema.values())
    return isinstance(schema, list) and any(has_rules(part) for part in schema)


def _read(schema: JsonValue) -> _Level | None:
    if not isinstance(schema, dict) or not has_rules(schema):
        return None
    from vcray.cluster.cel.rules import rule_of
    from vcray.cluster.cel.values import converter

    rules = [rule_of(entry) for entry in dig_objects(schema, _RULES)]
    level = _Level(dig_str(schema, "type"), rules, converter(schema) if rules else None)
    for name, part in dig_object(schema, "properties").items():
        inner = _read(part)
        if inner is not None:
            level.properties[name] = inner
    level.extra = _read(schema.get("additionalProperties"))
    level.items = _read(schema.get("items"))
    for part in dig_objects(schema, "allOf"):
        inner = _read({**part, "type": schema.get("type")})
        if inner is not None:
            level.all_of.append(inner)
    level.granular = dig_str(schema, "x-kubernetes-map-type") in ("", "granular")
    if dig_str(schema, "x-kubernetes-list-type") == "map":
        level.keys = tuple(str(key) for key in dig_list(schema, "x-kubernetes-list-map-keys"))
    return level


def _judge(level: _Level, place: _Place, path: str, errors: list[str]) -> bool:
    """Add the errors of a place and of all within it; False if no further rules are to be run."""
    value, old = place.value, place.old
    if value is None:
        return True
    if level.rules and not _judge_rules(level, place, path, errors):
        return False
    for clause in level.all_of:
        if not _judge(clause, _Place(value, old, place.found, place.around), path, errors):
            return False
    if isinstance(value, dict):
        return _judge_map(level, place, value, path, errors)
    if isinstance(value, list) and level.items is not None:
        before = _by_keys(level, old if isinstance(old, list) else [])
        for index, item in enumerate(value):
            key = _key_of(item, level.keys)
            known = bool(level.keys) and key in before
            inner = place.child(item, before.get(key), known)
            if not _judge(level.items, inner, f"{path}[{index}]", errors):
                return False
    return True


def _judge_map(level: _Level, place: _Place, value: JsonObject, path: str, errors: list[str]) -> bool:
    before = place.old if isinstance(place.old, dict) and level.granular else {}
    for name, item in value.items():
        inner = level.properties.get(name)
        where = f"{path}.{name}" if path else name
        if inner is None and level.extra is not None:
            inner, where = level.extra, f"{path or '<nil>'}[{name}]"
        if inner is not None and not _judge(
            inner, place.child(item, before.get(name), name in before), where, errors
        ):
            return False
    return True


def _by_keys(level: _Level, items: list[JsonValue]) -> dict[str, JsonValue]:
    return {_key_of(item, level.keys): item for item in items} if level.keys else {}


def _key_of(item: JsonValue, keys: tuple[str, ...]) -> str:
    return json.dumps([item.get(key) for key in keys]) if isinstance(item, dict) else ""


def _judge_rules(level: _Level, place: _Place, path: str, errors: list[str]) -> bool:
    convert = level.convert
    has_old = place.found and place.old is not None
    value: object = place.value if convert is None else convert(place.value)
    old: object = place.old if convert is None or not has_old else convert(place.old)
    for rule in level.rules:
        finding = rule.judge(value, old, has_old=has_old)
        if finding is None:
            continue
        if finding.broken:
            errors.append(f'{path or "<nil>"}: Invalid value: "{level.kind}": {finding.detail}')
        elif rule.uses_old or not place.unchanged():
            errors.append(_error(rule, finding, level, place.value, path))
        if finding.last:
            return False
    return True


def _error(rule: Rule, finding: Finding, level: _Level, value: JsonValue, path: str) -> str:
    where = (path + _field_path(rule.field_path) if path else _field_path(rule.field_path)[1:]) or "<nil>"
    shown = "" if level.kind in ("object", "array") else json.dumps(value, ensure_ascii=False) + ": "
    match rule.reason:
        case "FieldValueForbidden":
            return f"{where}: Forbidden: {finding.detail}"
        case "FieldValueRequired":
            return f"{where}: Required value: {finding.detail}"
        case "FieldValueDuplicate":
            return f"{where}: Duplicate value{': ' + shown.removesuffix(': ') if shown else ''}"
    return f"{where}: Invalid value: {shown}{finding.detail}"


def _field_path(written: str) -> str:
    """A rule's `fieldPath` as errors show it: `.spec.m['a']` as `.spec.m[a]`."""
    return written.replace("['", "[").replace("']", "]")
