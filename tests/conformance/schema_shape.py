"""A schema in the short form of crd_fields.yaml, so that a served definition can be compared with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tools.openapi.pod_template import QUANTITY_PATTERN

SUBDOMAIN = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
LABEL = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
PATTERNS = {SUBDOMAIN: "sub", LABEL: "label"}
CORE_FILE = Path(__file__).resolve().parents[2] / "vcray" / "api" / "data" / "core_v1.json"
CORE = json.loads(CORE_FILE.read_text())
EMBEDDED = {
    "PodTemplateSpec": CORE["podTemplateSpec"],
    "PersistentVolumeClaimSpec": CORE["persistentVolumeClaimSpec"],
}
BOUNDS = {"minimum": "min", "maximum": "max", "minLength": "minLen", "maxLength": "maxLen"}


def without_descriptions(schema: Any) -> Any:
    """`schema` without descriptions, at any depth; a property that is called description stays."""
    if not isinstance(schema, dict):
        return schema
    result = {k: without_descriptions(v) for k, v in schema.items() if k not in ("description", "properties")}
    if "properties" in schema:
        result["properties"] = {k: without_descriptions(v) for k, v in schema["properties"].items()}
    return result


def shape(schema: dict[str, Any]) -> Any:
    """The short form of a schema without descriptions."""
    for name, embedded in EMBEDDED.items():
        if schema == embedded:
            return name
    if schema.get("x-kubernetes-int-or-string"):
        return "quantity" if schema.get("pattern") == QUANTITY_PATTERN else "int-or-string"
    if schema["type"] == "array":
        return _list(schema)
    if "additionalProperties" in schema:
        return {"*": shape(schema["additionalProperties"])}
    if schema["type"] == "object":
        return _object(schema)
    return _scalar(schema)


def _list(schema: dict[str, Any]) -> list[Any]:
    about = []
    if "minItems" in schema:
        about.append(f"minItems={schema['minItems']}")
    kind = schema.get("x-kubernetes-list-type")
    if kind == "map":
        about.append("map by " + ",".join(schema["x-kubernetes-list-map-keys"]))
    elif kind:
        about.append(kind)
    inner = shape(schema["items"])
    return [f"({' '.join(about)})", inner] if about else [inner]


def _object(schema: dict[str, Any]) -> dict[str, Any]:
    required = schema.get("required", [])
    fields = schema.get("properties", {})
    result = {name + ("!" if name in required else ""): shape(field) for name, field in fields.items()}
    about = [schema["x-kubernetes-map-type"]] if "x-kubernetes-map-type" in schema else []
    if "x-kubernetes-validations" in schema:
        about.append(f"{len(schema['x-kubernetes-validations'])} rules")
    if about:
        result["()"] = " ".join(about)
    return result


def _scalar(schema: dict[str, Any]) -> str:
    words = [schema["type"] + (f":{schema['format']}" if "format" in schema else "")]
    words += [f"{short}={schema[key]}" for key, short in BOUNDS.items() if key in schema]
    if "pattern" in schema:
        words.append(f"pattern={PATTERNS.get(schema['pattern'], schema['pattern'])}")
    if "enum" in schema:
        words.append("enum=" + "|".join(sorted(schema["enum"])))
    if "default" in schema:
        words.append(f"default={schema['default']!r}")
    return " ".join(words)
