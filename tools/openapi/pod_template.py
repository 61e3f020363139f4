"""Write vcray/api/data/core_v1.json: the schemas of core/v1 that our CustomResourceDefinitions embed.

A Volcano Job holds a whole pod template, and a CustomResourceDefinition cannot refer to another schema. So the one
of the API server itself is taken: this script starts a real kube-apiserver, reads its OpenAPI v3 document, puts the
referred schemas in place and turns the result into the structural form that definitions want.

    python -m tools.openapi.pod_template            (after tools/kubernetes/build.py)
    python -m tools.openapi.pod_template --check    exit code 1 if the file differs from what the server says

What differs from the server's own document, and why:

* descriptions and enums go. The descriptions are Kubernetes' text and four fifths of the size; the enums would refuse
  a bad pod earlier than Volcano does, whose generated definitions have none in the pod template;
* defaults go but for DEFAULTS. A definition's defaults are written into stored objects, and Volcano's are only these;
* quantities and ints-or-strings become the form of definitions (x-kubernetes-int-or-string);
* an embedded metadata keeps only the five fields that mean something in a template.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.conformance.harness.server import ControlPlane
from tools.kubernetes.build import kubernetes_version, programs_folder, why_unavailable
from vcray.api.meta import JsonObject, JsonValue

ROOT = Path(__file__).resolve().parents[2]
OUTPUT = ROOT / "vcray" / "api" / "data" / "core_v1.json"
PREFIX = "io.k8s.api.core.v1."

EMBEDDED = {"podTemplateSpec": "PodTemplateSpec", "persistentVolumeClaimSpec": "PersistentVolumeClaimSpec"}

KEPT_KEYS = (
    "type",
    "format",
    "required",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
)

DEFAULTS: Mapping[str, Mapping[str, JsonValue]] = {
    "ContainerPort": {"protocol": "TCP"},
    "LocalObjectReference": {"name": ""},
    "ConfigMapEnvSource": {"name": ""},
    "ConfigMapKeySelector": {"name": ""},
    "ConfigMapProjection": {"name": ""},
    "ConfigMapVolumeSource": {"name": ""},
    "SecretEnvSource": {"name": ""},
    "SecretKeySelector": {"name": ""},
    "SecretProjection": {"name": ""},
    "GRPCAction": {"service": ""},
    "FileKeySelector": {"optional": False},
    "AzureDiskVolumeSource": {"fsType": "ext4", "readOnly": False},
    "ISCSIVolumeSource": {"iscsiInterface": "default"},
    "RBDVolumeSource": {"keyring": "/etc/ceph/keyring", "pool": "rbd", "user": "admin"},
    "ScaleIOVolumeSource": {"fsType": "xfs", "storageMode": "ThinProvisioned"},
}
"""The defaults that Volcano's definitions carry in the pod template, by core/v1 type and field."""

_INT_OR_STRING: list[JsonValue] = [{"type": "integer"}, {"type": "string"}]
QUANTITY_PATTERN = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
SPECIAL: Mapping[str, JsonObject] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {
        "anyOf": _INT_OR_STRING,
        "pattern": QUANTITY_PATTERN,
        "x-kubernetes-int-or-string": True,
    },
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {
        "anyOf": _INT_OR_STRING,
        "x-kubernetes-int-or-string": True,
    },
    "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta": {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "namespace": {"type": "string"},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "annotations": {"type": "object", "additionalProperties": {"type": "string"}},
            "finalizers": {"type": "array", "items": {"type": "string"}},
        },
    },
}
"""Types whose form in a definition is not their form in the server's document."""

ABOUT: tuple[str, ...] = (
    "Schemas of Kubernetes core/v1 types as vcray's CustomResourceDefinitions embed them.",
    "Layout: podTemplateSpec and persistentVolumeClaimSpec are OpenAPI v3 structural schemas, without references.",
    "Kept: types, formats, required fields, list types with their keys, map types. Left out: descriptions, enums.",
    "Defaults: only those that Volcano's own definitions have in the pod template.",
    "Written by tools/openapi/pod_template.py from a real kube-apiserver; do not edit.",
)


class SchemaError(ValueError):
    """The server's document has a form that this script does not know; the text says where."""


class Resolver:
    """Turns schemas of one OpenAPI v3 document into structural schemas."""

    def __init__(self, schemas: Mapping[str, JsonObject]) -> None:
        """`schemas` is the document's components.schemas: the name of a type -> its schema."""
        self._schemas = schemas
        self.defaults_used: set[tuple[str, str]] = set()

    def named(self, name: str, inside: tuple[str, ...] = ()) -> JsonObject:
        """The structural schema of the type `name`. Raises SchemaError on a type that contains itself."""
        if name in SPECIAL:
            return SPECIAL[name]
        if name in inside:
            raise SchemaError(f"{name} contains itself: {' > '.join(inside)}")
        result = self._structural(self._schemas[name], (*inside, name))
        for field, value in DEFAULTS.get(name.removeprefix(PREFIX), {}).items():
            properties = result["properties"]
            assert isinstance(properties, dict)
            properties[field] = {**_object(properties[field]), "default": value}
            self.defaults_used.add((name.removeprefix(PREFIX), field))
        return result

    def _structural(self, schema: JsonObject, inside: tuple[str, ...]) -> JsonObject:
        reference = _reference(schema)
        if reference is not None:
            own = {key: schema[key] for key in KEPT_KEYS if key in schema}
            return {**self.named(reference, inside), **own}
        if "type" not in schema:
            raise SchemaError(f"{' > '.join(inside)}: a schema without a type: {sorted(schema)}")
        result: JsonObject = {key: schema[key] for key in KEPT_KEYS if key in schema}
        for key in ("items", "additionalProperties"):
            if key in schema:
                result[key] = self._structural(_object(schema[key]), inside)
        if "properties" in schema:
            fields = _object(schema["properties"])
            result["properties"] = {
                name: self._structural(_object(field), inside) for name, field in fields.items()
            }
        return result


def _object(value: JsonValue) -> JsonObject:
    if not isinstance(value, dict):
        raise SchemaError(f"expected an object, found {value!r}")
    return value


def _reference(schema: JsonObject) -> str | None:
    """The type that `schema` refers to, either directly or as the only member of allOf (so it may have siblings)."""
    target = schema.get("$ref")
    members = schema.get("allOf")
    if target is None and isinstance(members, list) and len(members) == 1:
        target = _object(members[0]).get("$ref")
    return target.removeprefix("#/components/schemas/") if isinstance(target, str) else None


def embedded_schemas(document: JsonObject) -> JsonObject:
    """The content of the data file, from the OpenAPI v3 document of the group version ``v1``."""
    schemas = _object(_object(document["components"])["schemas"])
    resolver = Resolver({name: _object(schema) for name, schema in schemas.items()})
    result: JsonObject = {key: resolver.named(PREFIX + name) for key, name in EMBEDDED.items()}
    wanted = {(name, field) for name, fields in DEFAULTS.items() for field in fields}
    if wanted != resolver.defaults_used:
        raise SchemaError(
            f"types with defaults that no schema uses: {sorted(wanted - resolver.defaults_used)}"
        )
    result["about"] = [*ABOUT, f"Kubernetes v{kubernetes_version()}."]
    return result


def render(content: JsonObject) -> str:
    """The text of the data file: sorted keys, one item a line, so that two versions can be compared."""
    return json.dumps(content, indent=1, sort_keys=True) + "\n"


def main() -> int:
    """Write or check the file; returns the exit code."""
    parser = argparse.ArgumentParser(
        description="Write vcray/api/data/core_v1.json from a real kube-apiserver."
    )
    parser.add_argument("--check", action="store_true", help="compare only; exit code 1 on a difference")
    arguments = parser.parse_args()
    reason = why_unavailable(programs_folder(), ("etcd", "kube-apiserver"))
    if reason is not None:
        print(reason, file=sys.stderr)
        return 3
    with ControlPlane(programs_folder()) as server:
        text = render(embedded_schemas(server.client.get("/openapi/v3/api/v1")))
    if arguments.check:
        same = OUTPUT.exists() and OUTPUT.read_text() == text
        print(f"{OUTPUT.relative_to(ROOT)}: {'up to date' if same else 'differs from the server'}")
        return 0 if same else 1
    OUTPUT.parent.mkdir(parents=True, exist_ok=True)
    OUTPUT.write_text(text)
    print(f"{OUTPUT.relative_to(ROOT)}: {len(text.encode()) / 1024:.0f} KiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
