"""The data file of built-in kinds (vcray/cluster/data/kinds.json), loaded when it is first asked for.

`tools/openapi/built_in_kinds.py` writes it from a real kube-apiserver. One JSON object:

    kubernetes  "v1.36.1", the server it was read from
    groups      the served groups in the server's order (the core group, named "", first):
                {"group": "apps", "versions": [{"version": "v1", "resources": [ROW, ...]}, ...]}
                the preferred version first. A ROW is an APIResource of that version's discovery, as the server sends it:
                name ("pods", "pods/status"), singularName, namespaced, kind, verbs, and where they are set group and
                version (of a subresource's kind), shortNames, categories, storageVersionHash
    types       OpenAPI's name of a type ("io.k8s.api.core.v1.Pod") -> its OpenAPI v3 schema, with these differences:
                no descriptions; a reference is {"$ref": NAME} with the bare name of a type, beside its siblings
                (the server writes allOf with one member there); `x-kubernetes-group-version-kind` has all kinds that
                any group version's document tells; properties stand in the order of the Go struct, in which the server
                writes them, and each has besides
                  "go"    its Go type as the server's messages spell it: int32, *int64, []string, v1.PodPhase,
                          map[string]string; a leading * says that zero and absent differ
                  "zero"  true if the server writes the field even when it is empty (no omitempty)

The object is shared: read only.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources

import msgspec

from vcray.api.jsonview import dig_object, dig_objects, dig_str
from vcray.api.meta import JsonObject


@dataclass(frozen=True, slots=True)
class VersionData:
    """One served version of a group: its name and its rows of discovery."""

    version: str
    resources: list[JsonObject]


@dataclass(frozen=True, slots=True)
class GroupData:
    """One served group, its preferred version first."""

    group: str
    versions: list[VersionData]


@dataclass(frozen=True, slots=True)
class KindsData:
    """The whole file."""

    kubernetes: str
    groups: list[GroupData]
    types: dict[str, JsonObject]


@cache
def kinds_data() -> KindsData:
    """The file's content, read once (about 5 ms)."""
    raw: JsonObject = msgspec.json.decode(
        (resources.files("vcray.cluster") / "data" / "kinds.json").read_bytes()
    )
    groups = [
        GroupData(
            dig_str(group, "group"),
            [
                VersionData(dig_str(version, "version"), dig_objects(version, "resources"))
                for version in dig_objects(group, "versions")
            ],
        )
        for group in dig_objects(raw, "groups")
    ]
    types = {name: schema for name, schema in dig_object(raw, "types").items() if isinstance(schema, dict)}
    return KindsData(dig_str(raw, "kubernetes"), groups, types)


@cache
def type_names() -> dict[tuple[str, str], str]:
    """(apiVersion, kind) -> the name of the type; kinds of the meta API (DeleteOptions, Status) under every group."""
    found: dict[tuple[str, str], str] = {}
    for name, schema in kinds_data().types.items():
        for kind in dig_objects(schema, "x-kubernetes-group-version-kind"):
            group, version = dig_str(kind, "group"), dig_str(kind, "version")
            found[f"{group}/{version}" if group else version, dig_str(kind, "kind")] = name
    return found


def type_name(api_version: str, kind: str) -> str | None:
    """The name of the type of a kind, None if it is not built in."""
    return type_names().get((api_version, kind))
