"""What the store serves and by which rules: one `Kind` a served resource.

Kubernetes' own kinds come from the data file, exactly those that a real server's discovery shows; Volcano's come with the
schema of their CRD. Further kinds can be added, as a CRD does. Several versions of a resource, and the two shapes of an
event, are kinds of their own that share the objects of one of them (`stored`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache

from vcray.api.crds import all_crds
from vcray.api.jsonview import dig_list, dig_object, dig_objects, dig_str
from vcray.api.meta import JsonObject
from vcray.api.resources import VOLCANO_RESOURCES, Resource
from vcray.cluster.changes.shapes import Shape, kind_shape
from vcray.cluster.definitions.served import CustomVersion, read_version
from vcray.cluster.kinds.conversion import STORED_AS
from vcray.cluster.kinds.data import kinds_data
from vcray.cluster.objects import refusals

_COUNTED = frozenset(
    {
        "pods",
        "deployments.apps",
        "replicasets.apps",
        "statefulsets.apps",
        "daemonsets.apps",
        "jobs.batch",
        "cronjobs.batch",
        "replicationcontrollers",
        "poddisruptionbudgets.policy",
        "priorityclasses.scheduling.k8s.io",
        "networkpolicies.networking.k8s.io",
        "ingresses.networking.k8s.io",
        "ingressclasses.networking.k8s.io",
        "podtemplates",
        "endpointslices.discovery.k8s.io",
        "deviceclasses.resource.k8s.io",
        "resourceslices.resource.k8s.io",
        "flowschemas.flowcontrol.apiserver.k8s.io",
        "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io",
        "customresourcedefinitions.apiextensions.k8s.io",
        "validatingwebhookconfigurations.admissionregistration.k8s.io",
        "mutatingwebhookconfigurations.admissionregistration.k8s.io",
        "validatingadmissionpolicies.admissionregistration.k8s.io",
        "validatingadmissionpolicybindings.admissionregistration.k8s.io",
        "mutatingadmissionpolicies.admissionregistration.k8s.io",
        "mutatingadmissionpolicybindings.admissionregistration.k8s.io",
    }
)
_ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """The rules of one served resource.

    `schema` is the CRD's openAPIV3Schema (None for built-in kinds). `counts` says whether `metadata.generation` is kept.
    `tracks` says whether ordinary writes are recorded in `managedFields`; where not, only objects that were applied have
    them. `stored` is the resource under which its objects
    are kept (vcray/cluster/kinds/conversion.py turns one into the other), `verbs` and `categories` are those of
    discovery; a kind that cannot be read (a TokenReview) is not stored at all.
    """

    resource: Resource
    schema: JsonObject | None
    counts: bool
    tracks: bool
    stored: Resource
    verbs: tuple[str, ...] = _ALL_VERBS
    categories: tuple[str, ...] = ()
    subkinds: dict[str, JsonObject] = field(default_factory=dict)
    """Subresource -> its row of discovery."""
    version: CustomVersion | None = None
    """What a definition says of the version beyond its schema; None for built-in kinds."""
    _shapes: list[Shape] = field(default_factory=list)

    @property
    def shape(self) -> Shape:
        """How lists and maps of the kind merge, worked out when it is first asked for."""
        if not self._shapes:
            self._shapes.append(kind_shape(self.resource.api_version, self.resource.kind, self.schema))
        return self._shapes[0]

    @property
    def definition(self) -> str:
        """The name of the definition that brought the kind; empty for built-in kinds."""
        return self.version.definition if self.version else ""

    @property
    def custom(self) -> bool:
        """True for kinds that a CRD brings."""
        return self.schema is not None

    @property
    def has_status(self) -> bool:
        """True if the status is written through a subresource of its own."""
        return "status" in self.resource.subresources


def custom_kind(
    resource: Resource,
    schema: JsonObject,
    stored: Resource | None = None,
    version: CustomVersion | None = None,
) -> Kind:
    """A kind as its CRD describes it."""
    categories = version.categories if version else ()
    return Kind(resource, schema, True, True, stored or resource, categories=categories, version=version)


def _words(row: JsonObject, key: str) -> tuple[str, ...]:
    return tuple(str(word) for word in dig_list(row, key))


def built_in_kinds() -> list[Kind]:
    """Every kind that a Kubernetes API server serves by itself, in the order of its discovery."""
    return [
        kind
        for group in kinds_data().groups
        for version in group.versions
        for kind in _kinds_of(group.group, version.version, version.resources)
    ]


def _kinds_of(group: str, version: str, rows: Iterable[JsonObject]) -> list[Kind]:
    mains: dict[str, JsonObject] = {}
    below: dict[str, dict[str, JsonObject]] = {}
    for row in rows:
        name, _, subresource = dig_str(row, "name").partition("/")
        if subresource:
            below.setdefault(name, {})[subresource] = row
        else:
            mains[name] = row
    return [_built_in(group, version, row, below.get(name, {})) for name, row in mains.items()]


def _built_in(group: str, version: str, row: JsonObject, below: dict[str, JsonObject]) -> Kind:
    resource = Resource(
        group=group,
        version=version,
        kind=dig_str(row, "kind"),
        plural=dig_str(row, "name"),
        namespaced=row.get("namespaced") is True,
        short_names=_words(row, "shortNames"),
        subresources=tuple(below),
    )
    return Kind(
        resource,
        schema=None,
        counts=resource.full_name in _COUNTED,
        tracks=True,
        stored=STORED_AS.get(resource, resource),
        verbs=_words(row, "verbs"),
        categories=_words(row, "categories"),
        subkinds=below,
    )


class Catalog:
    """The served kinds by group, version and plural."""

    def __init__(self, kinds: Iterable[Kind]) -> None:
        self._by_path: dict[tuple[str, str, str], Kind] = {}
        self._by_resource: dict[Resource, Kind] = {}
        self._by_kind: dict[tuple[str, str], Kind] = {}
        self.changes = 0  # counts additions and removals, for those who keep documents about the kinds
        for kind in kinds:
            self.add(kind)

    def add(self, kind: Kind) -> None:
        """Serve one more kind, or another form of one."""
        resource = kind.resource
        replaced = self._by_path.get((resource.group, resource.version, resource.plural))
        if replaced is not None:
            self.remove(replaced.resource)
        self._by_path[resource.group, resource.version, resource.plural] = kind
        self._by_resource[resource] = kind
        self._by_kind[resource.api_version, resource.kind] = kind
        self.changes += 1

    def remove(self, resource: Resource) -> None:
        """Serve a kind no longer; nothing happens if it was not served."""
        self._by_path.pop((resource.group, resource.version, resource.plural), None)
        self._by_resource.pop(resource, None)
        self._by_kind.pop((resource.api_version, resource.kind), None)
        self.changes += 1

    def at(self, group: str, version: str, plural: str) -> Kind:
        """The kind served under a path. ResourceMissing if there is none."""
        kind = self._by_path.get((group, version, plural))
        if kind is None:
            raise refusals.no_such_resource()
        return kind

    def of(self, resource: Resource) -> Kind:
        """The rules of a resource. ResourceMissing if it is not served."""
        kind = self._by_resource.get(resource)
        if kind is None:
            raise refusals.no_such_resource()
        return kind

    def named(self, api_version: str, kind: str) -> Kind | None:
        """The kind that objects call themselves by, if it is served."""
        return self._by_kind.get((api_version, kind))

    def resources(self) -> list[Resource]:
        """All served resources."""
        return list(self._by_resource)

    def kinds(self) -> list[Kind]:
        """All served kinds, in the order in which they were added."""
        return list(self._by_resource.values())


def default_catalog(volcano: bool = True) -> Catalog:
    """Kubernetes' kinds, and by their CRDs all Volcano kinds unless `volcano` is false."""
    return Catalog([*built_in_kinds(), *(_volcano_kinds() if volcano else ())])


@cache
def _volcano_kinds() -> tuple[Kind, ...]:
    definitions = {dig_str(crd, "metadata", "name"): crd for crd in all_crds()}
    kinds = []
    for resource in VOLCANO_RESOURCES:
        definition = definitions[resource.full_name]
        version = dig_objects(definition, "spec", "versions")[0]
        schema = dig_object(version, "schema", "openAPIV3Schema")
        kinds.append(custom_kind(resource, schema, version=read_version(definition, version)))
    return tuple(kinds)
