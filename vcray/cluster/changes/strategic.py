"""Strategic merge patch for built-in kinds: a merge patch whose lists merge entry by entry where their type says so.

Understands `$patch` (delete, replace) on objects and entries, `$deleteFromPrimitiveList/<field>`, `$retainKeys` and
`$setElementOrder/<field>`. Nulls remove. The arguments are not altered.
"""

from __future__ import annotations

from copy import deepcopy

from vcray.api.meta import JsonObject, JsonValue
from vcray.cluster.changes.gotext import go_text
from vcray.cluster.changes.shapes import Shape, canonical, untyped_leaf
from vcray.kube.errors import ApiError, BadRequest

_DIRECTIVE = "$patch"
_DELETE_FROM = "$deleteFromPrimitiveList/"
_RETAIN = "$retainKeys"
_ORDER = "$setElementOrder/"


def strategic_merge(target: JsonValue, patch: JsonValue, shape: Shape) -> JsonValue:
    """The patched value. ApiError (500, as a server answers) for an entry without its merge key or an unknown directive."""
    if not isinstance(patch, dict):
        return deepcopy(patch)
    return _merge_map(target if isinstance(target, dict) else {}, patch, shape)


def _merge_map(target: JsonObject, patch: JsonObject, shape: Shape) -> JsonObject:
    if _DIRECTIVE in patch:
        return _directed(patch)
    result = _retained(target, patch)
    ordered = _ordered_lists(result, patch, shape)
    for key, value in patch.items():
        if key == _RETAIN or key.startswith(_ORDER) or key in ordered:
            continue
        if key.startswith(_DELETE_FROM):
            _delete_from(result, key.removeprefix(_DELETE_FROM), value)
        elif value is None:
            result.pop(key, None)
        else:
            _merge_field(result, key, value, shape.field(key) or untyped_leaf())
    return result


def _directed(patch: JsonObject) -> JsonObject:
    match patch[_DIRECTIVE]:
        case "replace":
            return {key: deepcopy(value) for key, value in patch.items() if key != _DIRECTIVE}
        case "delete":
            return {}
    raise _bad_directive(patch)


def _failure(message: str) -> ApiError:
    return ApiError(message, reason="")


def _bad_directive(patch: JsonObject) -> ApiError:
    return _failure(f"unknown patch type: {go_text(patch[_DIRECTIVE])} in map: {go_text(patch)}")


def _retained(target: JsonObject, patch: JsonObject) -> JsonObject:
    retained = patch.get(_RETAIN)
    if _RETAIN not in patch:
        return dict(target)
    named = [key for key, value in patch.items() if value is not None and not key.startswith("$")]
    if not isinstance(retained, list) or any(key not in retained for key in named):
        raise BadRequest("invalid patch format of retainKeys")
    return {key: value for key, value in target.items() if key in retained}


def _delete_from(result: JsonObject, field: str, gone: JsonValue) -> None:
    present = result.get(field)
    if isinstance(present, list) and isinstance(gone, list):
        result[field] = [item for item in present if item not in gone]


def _ordered_lists(result: JsonObject, patch: JsonObject, shape: Shape) -> set[str]:
    """Merge the lists whose order the patch gives, in place; the names of those lists."""
    done: set[str] = set()
    for key, order in patch.items():
        if not key.startswith(_ORDER):
            continue
        field = key.removeprefix(_ORDER)
        if not isinstance(order, list):
            raise BadRequest("invalid patch format of setElementOrder list")
        present, wanted = result.get(field), patch.get(field)
        part = shape.field(field) or untyped_leaf()
        if field in patch and wanted is None:
            continue
        done.add(field)
        if present is None and wanted is None:
            continue
        _check_order(wanted, order, part)
        merged: JsonValue = _clean_list(wanted) if present is None else present
        if isinstance(present, list) and isinstance(wanted, list):
            merged = _merge_list(present, wanted, part)
        if isinstance(merged, list):
            stored = present if isinstance(present, list) else []
            result[field] = _in_order(merged, order, stored, part.merge_key)
    return done


def _check_order(wanted: JsonValue, order: list[JsonValue], shape: Shape) -> None:
    """Refuse a list whose entries stand in another order than the one that the patch gives for it."""
    if not isinstance(wanted, list) or not wanted or not order:
        return
    marks = [_mark(item, shape.merge_key) for item in order]
    place = 0
    for item in wanted:
        if isinstance(item, dict) and _DIRECTIVE in item:
            continue
        try:
            place = marks.index(_mark(item, shape.merge_key), place) + 1
        except ValueError:
            raise _failure(
                f"The order in patch list:\n{go_text(wanted)}\n doesn't match {_ORDER.rstrip('/')} list:\n{go_text(order)}\n"
            ) from None


def _merge_field(result: JsonObject, key: str, value: JsonValue, shape: Shape) -> None:
    present = result.get(key)
    if isinstance(value, dict) and isinstance(present, dict):
        replaces = shape.strategy == "replace"
        result[key] = deepcopy(value) if replaces else _merge_map(present, value, shape)
    elif isinstance(value, list) and isinstance(present, list):
        merges = "merge" in shape.strategy.split(",")
        result[key] = _merge_list(present, value, shape) if merges else deepcopy(value)
    else:
        if key not in result and isinstance(value, dict) and _DIRECTIVE in value:
            return
        result[key] = _clean(value)


def _clean(value: JsonValue) -> JsonValue:
    """A part of a patch that meets nothing, without directives and nulls."""
    if isinstance(value, dict):
        return {
            key: _clean(item)
            for key, item in value.items()
            if item is not None
            and key != _RETAIN
            and not key.startswith((_ORDER, _DELETE_FROM))
            and not (isinstance(item, dict) and _DIRECTIVE in item)
        }
    return _clean_list(value) if isinstance(value, list) else value


def _clean_list(value: JsonValue) -> JsonValue:
    if not isinstance(value, list):
        return value
    return [_clean(item) for item in value if not (isinstance(item, dict) and _DIRECTIVE in item)]


def _merge_list(present: list[JsonValue], patch: list[JsonValue], shape: Shape) -> list[JsonValue]:
    if not present and not patch:
        return present
    kinds = {isinstance(item, dict) for item in (*present, *patch)}
    if len(kinds) > 1:
        raise _failure(f"list element types are not identical: [{go_text(present)} {go_text(patch)}]")
    key = shape.merge_key
    if kinds == {False}:
        both = list({canonical(item): item for item in (*present, *patch)}.values())
        return _in_order(both, patch, present, "")
    stored, wanted = _without_directed(present, patch, key)
    merged: list[JsonValue] = list(stored)
    for entry in wanted:
        mark = _entry_mark(entry, key)
        index = next((at for at, item in enumerate(merged) if _mark(item, key) == mark), None)
        if index is None:
            merged.append(_clean(entry))
        else:
            known = merged[index]
            merged[index] = _merge_map(known if isinstance(known, dict) else {}, entry, shape.item())
    return _in_order(merged, [*wanted], stored, key)


def _without_directed(
    present: list[JsonValue], patch: list[JsonValue], key: str
) -> tuple[list[JsonValue], list[JsonObject]]:
    """The stored entries without those that the patch deletes, and the patch's entries without directives."""
    stored, wanted, replaces = list(present), list[JsonObject](), False
    for entry in patch:
        assert isinstance(entry, dict)
        match entry.get(_DIRECTIVE):
            case None:
                wanted.append(entry)
            case "delete":
                mark = _entry_mark(entry, key)
                stored = [item for item in stored if _mark(item, key) != mark]
            case "replace":
                replaces = True
            case _:
                raise _bad_directive(entry)
    return ([_clean(entry) for entry in wanted], []) if replaces else (stored, wanted)


def _entry_mark(entry: JsonObject, key: str) -> str:
    if key not in entry:
        raise _failure(f"map: {go_text(entry)} does not contain declared merge key: {key}")
    return _mark(entry, key)


def _mark(item: JsonValue, key: str) -> str:
    """What tells an entry apart: its merge key; all of it where it has none."""
    return canonical([item[key]]) if isinstance(item, dict) and key in item else canonical(item)


def _in_order(
    merged: list[JsonValue], order: list[JsonValue], stored: list[JsonValue], key: str
) -> list[JsonValue]:
    """Entries that `order` names in its order; the others in theirs, each before those it stood before."""
    by_mark = {_mark(item, key): item for item in merged}
    wanted = [mark for mark in dict.fromkeys(_mark(item, key) for item in order) if mark in by_mark]
    place = {_mark(item, key): index for index, item in enumerate(stored)}
    named = set(wanted)
    others = [mark for mark in by_mark if mark not in named]
    others.sort(key=lambda mark: place.get(mark, len(place)))
    result: list[str] = []
    for mark in wanted:
        while others and mark in place and others[0] in place and place[others[0]] < place[mark]:
            result.append(others.pop(0))
        result.append(mark)
    return [by_mark[mark] for mark in (*result, *others)]
