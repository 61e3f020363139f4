"""The documents, put together when they are asked for and kept until the catalog changes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import msgspec

from vcray.api.jsonview import dig_objects
from vcray.api.meta import JsonObject, JsonValue
from vcray.cluster.kinds.data import kinds_data, type_name
from vcray.cluster.objects.catalog import Catalog, Kind
from vcray.cluster.openapi.operations import path_items
from vcray.cluster.openapi.published import custom_schemas
from vcray.cluster.openapi.schemas import built_in_v2, built_in_v3, closure, references

_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_ALWAYS = {
    f"{_META}{name}"
    for name in (
        "APIResourceList",
        "DeleteOptions",
        "ListMeta",
        "ObjectMeta",
        "Patch",
        "Status",
        "WatchEvent",
    )
}
_INFO: JsonObject = {"title": "Kubernetes", "version": "1.36"}
_TOKEN: JsonObject = {
    "BearerToken": {
        "description": "Bearer Token authentication",
        "in": "header",
        "name": "authorization",
        "type": "apiKey",
    }
}


@dataclass(frozen=True, slots=True)
class Document:
    """One document as JSON, and the hash of its content (upper-case SHA-512), which is its entity tag too."""

    body: bytes
    hash: str


def _hash(body: bytes) -> str:
    return hashlib.sha512(body).hexdigest().upper()


class Publisher:
    """The OpenAPI documents of a catalog."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._seen = -1
        self._groups: dict[str, list[Kind]] = {}
        self._v3: dict[str, tuple[list[Kind], Document]] = {}
        self._hashes: dict[str, tuple[list[Kind], str]] = {}
        self._v2: Document | None = None
        self._v2_built_in: tuple[JsonObject, JsonObject] | None = None

    def index(self) -> bytes:
        """Where the v3 document of each group version is, with its hash."""
        self._refresh()
        paths: JsonObject = {}
        for path in sorted(self._groups):
            paths[path] = {"serverRelativeURL": f"/openapi/v3/{path}?hash={self._fingerprint(path)}"}
        return msgspec.json.encode({"paths": paths})

    def hash_of(self, path: str) -> str | None:
        """The hash of the v3 document under a path (`apis/apps/v1`); None if there is none."""
        self._refresh()
        return self._fingerprint(path) if path in self._groups else None

    def v3(self, path: str) -> Document | None:
        """The v3 document of a group version; None if it is not served."""
        self._refresh()
        kinds = self._groups.get(path)
        if kinds is None:
            return None
        present = self._v3.get(path)
        if present is None or present[0] != kinds:
            present = (kinds, Document(msgspec.json.encode(_v3(kinds)), self._fingerprint(path)))
            self._v3[path] = present
        return present[1]

    def v2(self) -> Document:
        """The v2 document of everything."""
        self._refresh()
        if self._v2 is None:
            body = msgspec.json.encode(self.swagger())
            self._v2 = Document(body, _hash(body))
        return self._v2

    def swagger(self) -> JsonObject:
        """The v2 document before it is written down."""
        if self._v2_built_in is None:
            built_in = [kind for kind in self._catalog.kinds() if not kind.custom]
            types = kinds_data().types
            definitions: JsonObject = {name: built_in_v2(name, types[name]) for name in sorted(types)}
            self._v2_built_in = (_paths(built_in, v3=False), definitions)
        custom = [kind for kind in self._catalog.kinds() if kind.custom]
        published = {name: schema for kind in custom for name, schema in custom_schemas(kind, False).items()}
        security: list[JsonValue] = [{"BearerToken": []}]
        return {
            "swagger": "2.0",
            "info": _INFO,
            "paths": {**self._v2_built_in[0], **_paths(custom, v3=False)},
            "definitions": {**self._v2_built_in[1], **published},
            "securityDefinitions": _TOKEN,
            "security": security,
        }

    def _refresh(self) -> None:
        if self._seen == self._catalog.changes:
            return
        self._seen = self._catalog.changes
        groups: dict[str, list[Kind]] = {}
        for kind in self._catalog.kinds():
            root = kind.resource.path().split("/")[1:]
            groups.setdefault("/".join(root[:-1]), []).append(kind)
        self._groups = groups
        self._v2 = None

    def _fingerprint(self, path: str) -> str:
        """A hash that changes when the document does, without building it: of the data file, or of the schemas."""
        kinds = self._groups[path]
        present = self._hashes.get(path)
        if present is None or present[0] != kinds:
            present = self._hashes[path] = (kinds, _fingerprint(path, kinds))
        return present[1]


def _fingerprint(path: str, kinds: list[Kind]) -> str:
    parts: list[object] = [kinds_data().kubernetes, path]
    parts += [
        (kind.resource.kind, kind.resource.subresources, kind.schema, repr(kind.version))
        for kind in kinds
        if kind.custom
    ]
    return _hash(msgspec.json.encode(parts))


def _paths(kinds: list[Kind], v3: bool) -> JsonObject:
    return {path: item for kind in kinds for path, item in sorted(path_items(kind, v3).items())}


def _of_group(schema: JsonObject, group: str) -> JsonObject:
    """A schema that names itself only by its own group and the core one: DeleteOptions belong to every group."""
    named = dig_objects(schema, "x-kubernetes-group-version-kind")
    if len(named) < 2:
        return schema
    own: list[JsonValue] = [each for each in named if each.get("group") in ("", group)]
    return {**schema, "x-kubernetes-group-version-kind": own}


def _v3(kinds: list[Kind]) -> JsonObject:
    types = kinds_data().types
    schemas: JsonObject = {}
    paths = _paths(kinds, v3=True)
    named = set(_ALWAYS)
    for kind in kinds:
        if kind.custom:
            schemas |= custom_schemas(kind, v3=True)
        else:
            resource = kind.resource
            for name in (resource.kind, resource.list_kind):
                found = type_name(resource.api_version, name)
                named |= {found} if found else set()
    used: set[str] = set()
    references(paths, used)
    named |= {reference.rpartition("/")[2] for reference in used}
    for name in closure(named, types):
        schemas[name] = _of_group(built_in_v3(name, types[name]), kinds[0].resource.group)
    return {
        "openapi": "3.0.0",
        "info": _INFO,
        "paths": paths,
        "components": {
            "schemas": dict(sorted(schemas.items())),
            "securitySchemes": _TOKEN,
        },
    }
