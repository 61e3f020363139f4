"""From a path to what it points at."""

from __future__ import annotations

from dataclasses import dataclass

from vcray.api.resources import Resource
from vcray.cluster.objects import refusals
from vcray.cluster.objects.catalog import Catalog, Kind
from vcray.kube.errors import ResourceMissing


class UnknownPath(ResourceMissing):
    """404 for a path that nobody serves, told in plain text."""


def unknown_path() -> UnknownPath:
    """The refusal of such a path."""
    return UnknownPath("404 page not found")


@dataclass(frozen=True, slots=True)
class Target:
    """What a path points at; an empty name means the whole collection. `rest` is what stands behind a subresource."""

    kind: Kind
    namespace: str
    name: str
    subresource: str
    rest: str = ""

    @property
    def resource(self) -> Resource:
        """The resource in the version that the path names."""
        return self.kind.resource


def parse(catalog: Catalog, path: str) -> Target:
    """The target of a resource path. ResourceMissing or UnknownPath for any other path."""
    parts = [part for part in path.split("/") if part]
    if parts[:1] == ["api"] and len(parts) >= 3:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[:1] == ["apis"] and len(parts) >= 4:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        raise unknown_path()
    if rest[0] == "watch" and len(rest) > 1:
        rest = rest[1:]
    namespace = ""
    if rest[0] == "namespaces" and len(rest) >= 3 and rest[2] not in ("status", "finalize"):
        namespace, rest = rest[1], rest[2:]
    kind = _kind(catalog, group, version, rest[0])
    name, subresource = (*rest[1:], "", "")[:2]
    if kind.resource.namespaced and not namespace and name:
        raise refusals.no_such_resource()
    if namespace and not kind.resource.namespaced:
        raise refusals.no_such_resource()
    if len(rest) > 3 and subresource not in ("proxy",):
        raise refusals.no_such_resource()
    return Target(kind, namespace, name, subresource, "/".join(rest[3:]))


def _kind(catalog: Catalog, group: str, version: str, plural: str) -> Kind:
    try:
        return catalog.at(group, version, plural)
    except ResourceMissing:
        built_in = any(not kind.custom and kind.resource.group == group for kind in catalog.kinds())
        raise (refusals.no_such_resource() if built_in else unknown_path()) from None
