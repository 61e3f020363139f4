"""Server-side apply: the wanted object from the present one and a document that names some fields."""

from __future__ import annotations

from copy import deepcopy

from vcray.api.meta import JsonObject, JsonValue
from vcray.cluster.changes.fields import (
    FieldSet,
    Path,
    entry_step,
    is_set,
    is_whole_map,
    leaves,
    list_keys,
    part_of,
)
from vcray.cluster.changes.managers import (
    APPLY,
    BEFORE_FIRST_APPLY,
    UPDATE,
    Manager,
    Owned,
    Owners,
    after_apply,
    after_update,
    read_owners,
    write_owners,
)
from vcray.cluster.objects.catalog import Kind

_FIXED_METADATA = (
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "managedFields",
)


def sections_of(kind: Kind, obj: JsonObject, subresource: str) -> list[str]:
    """The top-level sections that a write through this endpoint may own."""
    if subresource:
        return [subresource]
    return [name for name in obj if not (name == "status" and kind.has_status)]


def applied(
    kind: Kind, live: JsonObject, document: JsonObject, manager: Manager, now: str, force: bool
) -> tuple[JsonObject, Owners]:
    """The object after an apply and its owners. `live` has no spec yet when the apply creates it.

    Fields that the manager owned before and does not name any more go, unless somebody else owns them.
    Raises Conflict.
    """
    wanted = [name for name in sections_of(kind, document, manager.subresource) if name in document]
    named = frozenset(leaves(document, kind.structure, wanted))
    owners = read_owners(live)
    before_leaves = leaves(live, kind.structure)
    if not owners and before_leaves:
        first = Manager(BEFORE_FIRST_APPLY, UPDATE, manager.api_version)
        owners[first] = Owned(frozenset(before_leaves), now)
    merged: JsonObject = dict(live)
    for section_name in wanted:
        part = _own_metadata(document) if section_name == "metadata" else document[section_name]
        if section_name not in ("apiVersion", "kind"):
            merged[section_name] = _merge(live.get(section_name), part, part_of(kind.structure, section_name))
    previous = owners[manager].paths if manager in owners else frozenset()
    kept = named.union(*(owned.paths for other, owned in owners.items() if other != manager))
    for path in sorted(_with_parents(previous) - named, key=len):
        if not _owned(path, kept):
            remaining = _without(merged, path, kind.structure)
            merged = remaining if isinstance(remaining, dict) else {}
    new_leaves = leaves(merged, kind.structure)
    return merged, after_apply(owners, manager, named, before_leaves, new_leaves, now, force)


def track_update(
    kind: Kind, old: JsonObject | None, new: JsonObject, name: str, subresource: str, now: str
) -> None:
    """Record in `new` who made an ordinary write.

    From its creation, or once it was applied; an object that nobody owns a field of stays so under ordinary writes.

    A client may clear `managedFields` by sending an empty list; anything else that it sends there is ignored.
    """
    owners = {} if old is None else read_owners(old)
    if not owners and (old is not None or not kind.tracks):
        new_metadata = new.get("metadata")
        if isinstance(new_metadata, dict):
            new_metadata.pop("managedFields", None)
        return
    manager = Manager(name, UPDATE, kind.resource.api_version, subresource)
    before = {} if old is None else leaves(old, kind.structure)
    write_owners(new, after_update(owners, manager, before, leaves(new, kind.structure), now))


def apply_manager(kind: Kind, name: str, subresource: str) -> Manager:
    """The identity under which an apply owns fields."""
    return Manager(name, APPLY, kind.resource.api_version, subresource)


def _own_metadata(document: JsonObject) -> JsonObject:
    metadata = document.get("metadata")
    if not isinstance(metadata, dict):
        return {}
    return {key: value for key, value in metadata.items() if key not in _FIXED_METADATA}


def merged_object(live: JsonObject, wanted: JsonObject, structure: JsonObject) -> JsonObject:
    """An object with what an apply configuration names, whoever owns it; nothing is taken away."""
    result = _merge(live, wanted, structure)
    return result if isinstance(result, dict) else live


def _merge(live: JsonValue, wanted: JsonValue, structure: JsonValue) -> JsonValue:
    if isinstance(wanted, dict) and isinstance(live, dict) and not is_whole_map(structure):
        result = dict(live)
        for name, value in wanted.items():
            result[name] = _merge(live.get(name), value, part_of(structure, name))
        return result
    merges = is_set(structure) or bool(list_keys(structure))
    if merges and isinstance(wanted, list) and isinstance(live, list):
        return _merge_entries(live, wanted, structure)
    return deepcopy(wanted)


def _merge_entries(live: list[JsonValue], wanted: list[JsonValue], structure: JsonValue) -> list[JsonValue]:
    """Entries by key (or by value, in a set), each merged with its counterpart."""
    inner = structure.get("items") if isinstance(structure, dict) else None
    old = {entry_step(item, structure): item for item in live}
    new = {entry_step(item, structure): item for item in wanted}
    merged = {**old, **{step: _merge(old.get(step), item, inner) for step, item in new.items()}}
    return [merged[step] for step in _interleaved(list(old), list(new))]


def _interleaved(old: list[str], new: list[str]) -> list[str]:
    """Both orders in one: entries of the document keep its order, all others stand where they stood between those."""
    order: list[str] = []
    left, named = 0, set(new)
    for step in new:
        while left < len(old) and old[left] not in named:
            order.append(old[left])
            left += 1
        order.append(step)
        if left < len(old) and old[left] == step:
            left += 1
    return order + [step for step in old[left:] if step not in named]


def _with_parents(paths: FieldSet) -> FieldSet:
    """The paths and the fields that they lie in; entries of lists count only by themselves, metadata always stays."""
    inner = {path[:end] for path in paths for end in range(1, len(path)) if path[end - 1].startswith("f:")}
    inner.discard(("f:metadata",))
    return paths | inner


def _owned(path: Path, kept: FieldSet) -> bool:
    """Whether somebody owns the path. A field is owned with anything below it, an entry of a list only by itself."""
    if path in kept or not path[-1].startswith("f:"):
        return path in kept
    return any(other[: len(path)] == path for other in kept)


def _without(value: JsonValue, path: Path, structure: JsonValue) -> JsonValue:
    """A copy without the field or entry at `path`; None if nothing else was in it."""
    if not path:
        return None
    step, rest = path[0], path[1:]
    if isinstance(value, dict) and step[2:] in value:
        name = step[2:]
        below = _without(value[name], rest, part_of(structure, name))
        kept = {key: item for key, item in value.items() if key != name or below is not None}
        if below is not None:
            kept[name] = below
        return kept or None
    if isinstance(value, list):
        if len(rest) == 1 and rest[0][2:] in list_keys(structure):
            return value  # an entry that stays keeps what tells it apart
        inner = structure.get("items") if isinstance(structure, dict) else None
        items = [
            _without(item, rest, inner) if entry_step(item, structure) == step else item for item in value
        ]
        return [item for item in items if item is not None] or None
    return value
