"""What the server serves, as its clients ask for it: groups, versions, resources, each by itself or all in one document."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass

from vcray.api.jsonview import dig_list, dig_str
from vcray.api.meta import JsonObject, JsonValue
from vcray.cluster.kinds.data import kinds_data
from vcray.cluster.objects.catalog import Catalog, Kind

_VERSION = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")
_CUSTOM_VERBS = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]
_CHANGE_VERBS = ["get", "patch", "update"]


def version_rank(version: str) -> tuple[int, int, int, str]:
    """A sort key by which stable versions come first, then beta, then alpha, newer before older, others last by name."""
    found = _VERSION.fullmatch(version)
    if found is None:
        return 3, 0, 0, version
    stage = {None: 0, "beta": 1, "alpha": 2}[found[2]]
    return stage, -int(found[1]), -int(found[3] or 0), ""


def storage_hash(group: str, version: str, kind: str) -> str:
    """What discovery tells of the version in which objects are stored."""
    return base64.b64encode(hashlib.sha256(f"{group}/{version}/{kind}".encode()).digest()[:8]).decode()


@dataclass(frozen=True, slots=True)
class GroupVersion:
    """One served version of a group, and its rows (APIResource)."""

    group: str
    version: str
    custom: bool
    rows: list[JsonObject]

    @property
    def name(self) -> str:
        """`group/version`, or the bare version for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version


class Discovery:
    """Documents about one catalog, made anew when the catalog has changed."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._kinds: list[Kind] = []
        self._groups: dict[str, list[GroupVersion]] = {}
        self._aggregated: dict[str, JsonObject] = {}

    def groups(self) -> dict[str, list[GroupVersion]]:
        """The versions of every group, preferred ones first; built-in groups first."""
        kinds = self._catalog.kinds()
        if kinds != self._kinds:
            self._groups = _built_in()
            for group, versions in _custom(kinds).items():
                self._groups[group] = [*self._groups.get(group, ()), *versions]
            self._kinds = kinds
            self._aggregated.clear()
        return self._groups

    def paths(self) -> list[str]:
        """All paths that lead to a document."""
        found = ["/api", "/api/v1", "/apis", "/apis/"]
        for group, versions in self.groups().items():
            if group:
                found += [f"/apis/{group}", *(f"/apis/{version.name}" for version in versions)]
        return found

    def core(self, address: str) -> JsonObject:
        """`/api`."""
        server: JsonObject = {"clientCIDR": "0.0.0.0/0", "serverAddress": address}
        return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [server]}

    def group_list(self) -> JsonObject:
        """`/apis`."""
        listed: list[JsonValue] = [_group(name, versions) for name, versions in self.groups().items() if name]
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": listed}

    def group(self, name: str) -> JsonObject | None:
        """`/apis/GROUP`; None if it is not served."""
        versions = self.groups().get(name)
        return {"kind": "APIGroup", "apiVersion": "v1", **_group(name, versions)} if versions else None

    def resources(self, group: str, version: str) -> JsonObject | None:
        """`/api/v1` and `/apis/GROUP/VERSION`; None if it is not served."""
        for served in self.groups().get(group, ()):
            if served.version == version:
                head: JsonObject = {"kind": "APIResourceList", "apiVersion": "v1"}
                if not group:
                    head.pop("apiVersion")
                return {**head, "groupVersion": served.name, "resources": [*served.rows]}
        return None

    def aggregated(self, core: bool) -> JsonObject:
        """Everything below `/api` or below `/apis` in one APIGroupDiscoveryList."""
        groups = self.groups()
        key = "api" if core else "apis"
        if key not in self._aggregated:
            items: list[JsonValue] = [
                {
                    "metadata": {"name": name} if name else {},
                    "versions": [_aggregated_version(version) for version in versions],
                }
                for name, versions in groups.items()
                if core == (not name)
            ]
            self._aggregated[key] = {
                "kind": "APIGroupDiscoveryList",
                "apiVersion": "apidiscovery.k8s.io/v2",
                "metadata": {},
                "items": items,
            }
        return self._aggregated[key]


def etag(body: bytes) -> str:
    """The entity tag of an aggregated document."""
    return f'"{hashlib.sha512(body).hexdigest().upper()}"'


def _built_in() -> dict[str, list[GroupVersion]]:
    return {
        group.group: [GroupVersion(group.group, v.version, False, v.resources) for v in group.versions]
        for group in kinds_data().groups
    }


def _custom(kinds: list[Kind]) -> dict[str, list[GroupVersion]]:
    rows: dict[str, dict[str, list[JsonObject]]] = {}
    for kind in kinds:
        if kind.custom:
            resource = kind.resource
            rows.setdefault(resource.group, {}).setdefault(resource.version, []).extend(_rows(kind))
    return {
        group: [
            GroupVersion(group, version, True, versions[version])
            for version in sorted(versions, key=version_rank)
        ]
        for group, versions in sorted(rows.items())
    }


def _rows(kind: Kind) -> list[JsonObject]:
    resource = kind.resource
    main: JsonObject = {
        "name": resource.plural,
        "singularName": kind.version.singular if kind.version else resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": [*_CUSTOM_VERBS],
    }
    if resource.short_names:
        main["shortNames"] = [*resource.short_names]
    if kind.categories:
        main["categories"] = [*kind.categories]
    main["storageVersionHash"] = storage_hash(resource.group, kind.stored.version, resource.kind)
    rows = [main]
    for name in resource.subresources:
        row: JsonObject = {
            "name": f"{resource.plural}/{name}",
            "singularName": "",
            "namespaced": resource.namespaced,
        }
        if name == "scale":
            row |= {"group": "autoscaling", "version": "v1", "kind": "Scale"}
        else:
            row["kind"] = resource.kind
        rows.append({**row, "verbs": [*_CHANGE_VERBS]})
    return rows


def _group(name: str, versions: list[GroupVersion]) -> JsonObject:
    listed: list[JsonValue] = [{"groupVersion": each.name, "version": each.version} for each in versions]
    return {"name": name, "versions": listed, "preferredVersion": listed[0]}


def _aggregated_version(served: GroupVersion) -> JsonObject:
    found: dict[str, JsonObject] = {}
    for row in served.rows:
        name, _, subresource = dig_str(row, "name").partition("/")
        if not subresource:
            found[name] = _aggregated_resource(served, row)
            continue
        parent = found.setdefault(name, {"resource": name})
        listed = dig_list(parent, "subresources")
        listed = [
            *listed,
            {"subresource": subresource, "responseKind": _kind_of(served, row), "verbs": row.get("verbs")},
        ]
        parent["subresources"] = listed
    return {"version": served.version, "resources": [*found.values()], "freshness": "Current"}


def _aggregated_resource(served: GroupVersion, row: JsonObject) -> JsonObject:
    resource: JsonObject = {
        "resource": row.get("name"),
        "responseKind": _kind_of(served, row),
        "scope": "Namespaced" if row.get("namespaced") else "Cluster",
        "singularResource": row.get("singularName"),
        "verbs": row.get("verbs"),
    }
    for key in ("shortNames", "categories"):
        if row.get(key):
            resource[key] = row[key]
    return resource


def _kind_of(served: GroupVersion, row: JsonObject) -> JsonObject:
    """Built-in kinds leave group and version to the reader unless they differ from the path's."""
    group, version = dig_str(row, "group"), dig_str(row, "version")
    if served.custom and not version:
        group, version = served.group, served.version
    return {"group": group, "version": version, "kind": row.get("kind")}
