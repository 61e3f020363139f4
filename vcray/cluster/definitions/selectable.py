"""The selectable fields of a version: fields of its schema, by which lists and watches can be narrowed."""

from __future__ import annotations

from vcray.api.jsonview import dig, dig_object, dig_objects, dig_str
from vcray.api.meta import JsonObject
from vcray.cluster.definitions.faults import Faults

MOST = 8


def selectable_paths(version: JsonObject) -> tuple[str, ...]:
    """The field selectors that a version offers, as clients write them (`spec.host`)."""
    return tuple(dig_str(field, "jsonPath").lstrip(".") for field in dig_objects(version, "selectableFields"))


def selectable_faults(version: JsonObject, path: str) -> list[str]:
    """What is wrong with a version's selectable fields."""
    faults = Faults()
    seen: set[str] = set()
    schema = dig_object(version, "schema", "openAPIV3Schema")
    for index, field in enumerate(dig_objects(version, "selectableFields")):
        where, written = f"{path}[{index}].jsonPath", dig_str(field, "jsonPath")
        if not written:
            faults.required(where)
            continue
        found, why = _schema_at(schema, written)
        if found is None:
            faults.invalid(where, written, f"is an invalid path: {why}")
            continue
        if written.lstrip(".").split(".")[0] == "metadata":
            faults.invalid(where, written, "must not point to fields in metadata")
        if found.get("type") not in ("string", "boolean", "integer"):
            why = (
                "must point to a field of type string, boolean or integer. Enum string fields and strings with formats "
                "are allowed."
            )
            faults.invalid(where, written, why)
        if written in seen:
            faults.duplicate(where, written)
        seen.add(written)
    if len(seen) > MOST:
        faults.found.append(f"{path}: Too many: {len(seen)}: must have at most {MOST} items")
    return faults.found


def _schema_at(schema: JsonObject, written: str) -> tuple[JsonObject | None, str]:
    """The schema of a simple path, or None and the reason."""
    if not written.startswith("."):
        return None, "expected [ or ."
    for name in written[1:].split("."):
        below = dig(schema, "properties", name)
        if not isinstance(below, dict):
            return None, "does not refer to a valid field"
        schema = below
    return schema, ""
