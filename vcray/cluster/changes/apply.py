"""Server-side apply and the record of ordinary writes: the wanted object, and who owns which of its fields.

An ordinary write takes over what it adds or changes, and everybody loses what it removes. An apply takes exactly the fields
of its document; where it would change a field that another manager owns, that is a conflict. Fields that a manager applied
before and does not name any more go, unless somebody else owns them.
"""

from __future__ import annotations

from dataclasses import replace

import msgspec

from vcray.api.jsonview import dig_str
from vcray.api.meta import JsonObject, JsonValue
from vcray.cluster.changes.comparing import Comparison, compare, field_set
from vcray.cluster.changes.managers import (
    BEFORE_FIRST_APPLY,
    ApplyConflict,
    Manager,
    Owned,
    Owners,
    applier,
    apply_conflict,
    capped,
    is_reset,
    read_owners,
    updater,
    write_owners,
)
from vcray.cluster.changes.merging import merge, type_faults, without
from vcray.cluster.changes.reset import reset_fields
from vcray.cluster.changes.sets import (
    Node,
    Set,
    difference,
    root_common,
    root_without,
    union,
    with_named_fields,
)
from vcray.cluster.changes.shapes import Shape, kind_shape
from vcray.cluster.kinds.conversion import converted, siblings
from vcray.cluster.kinds.zeros import zero_object
from vcray.cluster.objects.catalog import Kind
from vcray.kube.errors import ApiError

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_NOT_OWNED: Node = {
    "f:apiVersion": {},
    "f:kind": {},
    "f:metadata": {
        ".": {},
        **{
            f"f:{name}": {}
            for name in (
                "name",
                "namespace",
                "creationTimestamp",
                "selfLink",
                "uid",
                "clusterName",
                "generation",
                "managedFields",
                "resourceVersion",
            )
        },
    },
}
"""What belongs to nobody."""


class _Change:
    """The difference of two versions of one object, in whichever version of its kind a manager names its fields."""

    def __init__(self, kind: Kind, old: JsonObject, new: JsonObject) -> None:
        self._kind = kind
        self._old, self._new = _unmanaged(old), _unmanaged(new)
        self.own = compare(self._old, self._new, kind.shape)
        self._others: dict[str, Comparison | None] = {kind.resource.api_version: self.own}

    def at(self, api_version: str) -> Comparison | None:
        """The difference in another version; None if that is not served any more."""
        if api_version not in self._others:
            self._others[api_version] = self._converted(api_version)
        return self._others[api_version]

    def _converted(self, api_version: str) -> Comparison | None:
        if self._kind.custom:
            return self.own
        source = self._kind.resource
        for target in siblings(source):
            if target.api_version == api_version:
                old, new = converted(self._old, source, target), converted(self._new, source, target)
                return compare(old, new, kind_shape(api_version, target.kind, None))
        return None


def _unmanaged(obj: JsonObject) -> JsonObject:
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict) or "managedFields" not in metadata:
        return obj
    return {**obj, "metadata": {key: value for key, value in metadata.items() if key != "managedFields"}}


def _after(owners: Owners, change: _Change, self_name: Manager | None, force: bool) -> Owners:
    """The owners without what others lose by a change. Raises ApplyConflict unless forced."""
    result: Owners = {}
    conflicts: dict[Manager, Set] = {}
    for manager, owned in owners.items():
        if manager == self_name:
            result[manager] = owned
            continue
        seen = change.at(owned.api_version)
        if seen is None:
            continue
        lost = root_common(owned.fields, seen.written)
        if lost is not None:
            conflicts[manager] = lost
        if lost is None and root_common(owned.fields, seen.removed) is None:
            result[manager] = owned
            continue
        fields = root_without(root_without(owned.fields, lost), seen.removed)
        if fields is not None:
            result[manager] = replace(owned, fields=fields, in_order=False)
    if conflicts and not force:
        raise apply_conflict(owners, conflicts)
    return result


def track_update(
    kind: Kind, old: JsonObject | None, new: JsonObject, name: str, subresource: str, now: str
) -> None:
    """Record in `new` who made an ordinary write.

    An object is tracked from its creation, or from its first apply; one that nobody owns a field of stays so under
    ordinary writes. A client may clear or replace the managers of the object; through a subresource it may not.
    """
    before = {} if old is None else read_owners(old)
    if not subresource and old is not None and _managers(new) != _managers(old):
        before = {} if is_reset(new) else (read_owners(new, stored=False) or before)
    if not before and (old is not None or not kind.tracks):
        new_metadata = new.get("metadata")
        if isinstance(new_metadata, dict):
            new_metadata.pop("managedFields", None)
        return
    start = zero_object(kind.resource.api_version, kind.resource.kind) if old is None else old
    write_owners(new, capped(_updated(kind, before, start, new, name, subresource, now)))


def _managers(obj: JsonObject) -> JsonValue:
    metadata = obj.get("metadata")
    return metadata.get("managedFields") if isinstance(metadata, dict) else None


def _updated(
    kind: Kind, before: Owners, old: JsonObject, new: JsonObject, name: str, subresource: str, now: str
) -> Owners:
    change = _Change(kind, old, new)
    owners = _after(before, change, None, force=True)
    taken = _ownable(kind, change.own.written, subresource)
    if taken is None or (kind.custom and subresource == "scale"):
        return owners
    manager = updater(name, kind.resource.api_version, subresource)
    known = owners.get(manager)
    fields = taken if known is None else union(taken, known.fields)
    owners[manager] = Owned(fields, kind.resource.api_version, "" if subresource == "scale" else now)
    return owners


def _ownable(kind: Kind, fields: Set, subresource: str) -> Set:
    """The part of a set that a writer through this endpoint may own."""
    kept = root_without(fields, reset_fields(kind, subresource), all_below=True)
    return root_without(kept, _NOT_OWNED)


def applied(
    kind: Kind, live: JsonObject, document: JsonObject, name: str, subresource: str, now: str, force: bool
) -> tuple[JsonObject, Owners]:
    """The object after an apply and its owners; `live` is empty when the apply creates it.

    Raises ApplyConflict, or ApiError for a document that does not fit the type.
    """
    faults = type_faults(document, kind.shape)
    if faults:
        raise ApiError(f"failed to create typed patch object ({_named(document)}): {faults[0]}", reason="")
    owners = read_owners(live)
    if not owners and live:
        start = zero_object(kind.resource.api_version, kind.resource.kind)
        owners = _updated(kind, {}, start, live, BEFORE_FIRST_APPLY, subresource, now)
    try:
        result, after = _applied(kind, live, document, owners, applier(name, subresource), now, force)
    except ApplyConflict as conflict:
        if name != "kubectl":
            raise
        allowed = _left_by_client_side_apply(kind, live)
        left = {
            shown: [path for path in found if not _has(allowed, path)]
            for shown, found in conflict.conflicts.items()
        }
        left = {shown: found for shown, found in left.items() if found}
        if left:
            raise ApplyConflict(left) from conflict
        result, after = _applied(kind, live, document, owners, applier(name, subresource), now, True)
    if name == "kubectl":
        _note_applied(result, document)
    return result, after


def _applied(
    kind: Kind,
    live: JsonObject,
    document: JsonObject,
    owners: Owners,
    manager: Manager,
    now: str,
    force: bool,
) -> tuple[JsonObject, Owners]:
    shape, version = kind.shape, kind.resource.api_version
    before = _unmanaged(live)
    merged = _object(merge(before, document, shape))
    last = owners.get(manager)
    reset = reset_fields(kind, manager.subresource)
    fields = root_without(field_set(document, shape), reset, all_below=True)
    claimed: Owners = {**owners, manager: Owned(fields, version, now)}
    if last is not None:
        merged = _pruned(merged, claimed, last.fields, shape)
    change = _Change(kind, before, merged)
    after = _after(claimed, change, manager, force)
    own = root_without(fields, _NOT_OWNED)
    if own is None:
        after.pop(manager, None)
    else:
        same = change.own.written is None and change.own.removed is None
        time = (last.time if last is not None else "") if same and live else now
        after[manager] = Owned(own, version, time)
    return merged, after


def _pruned(merged: JsonObject, owners: Owners, last: Set, shape: Shape) -> JsonObject:
    """The object without what its manager applied before and nobody claims now."""
    named = with_named_fields(last, shape)
    pruned = _object(without(merged, named, shape))
    everything = with_named_fields(field_set(merged, shape), shape)
    claimed: Set = None
    for owned in owners.values():
        claimed = union(claimed, owned.fields)
    left = with_named_fields(field_set(pruned, shape), shape)
    gone = root_without(everything, union(left, with_named_fields(claimed, shape)))
    pruned = _object(without(merged, gone, shape))
    left = with_named_fields(field_set(pruned, shape), shape)
    return _object(without(merged, root_common(root_without(everything, left), named), shape))


def merged_object(obj: JsonObject, document: JsonObject, shape: Shape) -> JsonObject:
    """The object with a document laid over it, as an apply would, without owners."""
    return _object(merge(obj, document, shape))


def _object(value: object) -> JsonObject:
    assert isinstance(value, dict)
    return value


def _named(document: JsonObject) -> str:
    namespace, name = dig_str(document, "metadata", "namespace"), dig_str(document, "metadata", "name")
    return f"{namespace}/{name}; {dig_str(document, 'apiVersion')}, Kind={dig_str(document, 'kind')}"


# -- what client-side kubectl apply leaves behind --------------------------------------------------------------


def _left_by_client_side_apply(kind: Kind, live: JsonObject) -> Set:
    """The fields that the annotation of client-side apply names and that are still as it says."""
    try:
        last = msgspec.json.decode(dig_str(live, "metadata", "annotations", LAST_APPLIED) or "null")
    except msgspec.DecodeError:
        return None
    if not isinstance(last, dict) or last.get("apiVersion") != kind.resource.api_version:
        return None
    found = compare(last, _unmanaged(live), kind.shape)
    return difference(difference(field_set(last, kind.shape), found.written), found.removed)


def _has(fields: Set, path: tuple[str, ...]) -> bool:
    node: Set = fields
    for step in path:
        node = None if node is None else node.get(step)
    return node is not None and (not node or "." in node)


def _note_applied(result: JsonObject, document: JsonObject) -> None:
    """Keep the annotation of client-side apply, where there is one, in step with a server-side apply by kubectl."""
    metadata = result.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if not isinstance(annotations, dict) or not annotations.get(LAST_APPLIED):
        return
    own = document.get("metadata")
    shown = dict(document)
    if isinstance(own, dict) and isinstance(own.get("annotations"), dict):
        notes = {key: value for key, value in own["annotations"].items() if key != LAST_APPLIED}  # type: ignore[union-attr]
        shown["metadata"] = {**own, "annotations": notes}
    text = msgspec.json.encode(shown, order="sorted").decode() + "\n"
    assert isinstance(metadata, dict)
    metadata["annotations"] = {**annotations, LAST_APPLIED: text}
