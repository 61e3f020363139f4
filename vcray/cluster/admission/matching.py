"""Which requests an admission rule is about: the matching that webhooks and admission policies share.

A request is a `Review`. The rules are those of the `admissionregistration.k8s.io/v1` API: operations, groups, versions,
resources with subresources, scope, and two label selectors.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from vcray.api.jsonview import dig_list, dig_object, dig_objects, dig_str, dig_strings
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import NAMESPACES, Resource
from vcray.cluster.objects import refusals
from vcray.cluster.objects.catalog import Catalog
from vcray.cluster.objects.review import Review
from vcray.cluster.objects.selectors import selector_matches
from vcray.cluster.objects.storage import Storage
from vcray.kube.errors import NotFound

GROUP = "admissionregistration.k8s.io"
"""The API group of the configurations; requests for its own objects are never reviewed."""

_EXEMPT_KINDS = frozenset(
    {
        "ValidatingWebhookConfiguration",
        "MutatingWebhookConfiguration",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
    }
)
_SAME_OBJECTS = {("", "events"): ("events.k8s.io", "events"), ("events.k8s.io", "events"): ("", "events")}
"""Built-in resources that show the same objects under another group."""


def is_exempt(resource: Resource) -> bool:
    """Whether requests for this resource are never reviewed, so that nobody can lock the cluster."""
    return resource.group == GROUP and resource.kind in _EXEMPT_KINDS


def namespace_of(review: Review) -> str:
    """The namespace of a request; that of a Namespace itself is its own name."""
    return review.name if _is_namespace(review.resource) else review.namespace


def _is_namespace(resource: Resource) -> bool:
    return resource.plural == "namespaces" and not resource.group


def _listed(wanted: list[JsonValue], value: str) -> bool:
    return "*" in wanted or value in wanted


def rule_matches(rule: JsonObject, review: Review, resource: Resource) -> bool:
    """Whether one RuleWithOperations is about a request, seen as one for `resource` (the own or an equivalent one)."""
    scope = dig_str(rule, "scope")
    clustered = _is_namespace(resource) or not namespace_of(review)
    if scope in ("Cluster", "Namespaced") and clustered != (scope == "Cluster"):
        return False
    if not _listed(dig_list(rule, "operations"), review.operation):
        return False
    if not _listed(dig_list(rule, "apiGroups"), resource.group):
        return False
    if not _listed(dig_list(rule, "apiVersions"), resource.version):
        return False
    names = dig_list(rule, "resourceNames")
    if names and review.name not in names:
        return False
    return any(
        _resource_matches(str(item), resource, review.subresource) for item in dig_list(rule, "resources")
    )


def _resource_matches(pattern: str, resource: Resource, subresource: str) -> bool:
    name, _, sub = pattern.partition("/")
    return name in ("*", resource.plural) and sub in ("*", subresource)


@dataclass(frozen=True, slots=True)
class Matcher:
    """Matches requests against rules and selectors, with the namespaces and kinds of one cluster."""

    storage: Storage
    catalog: Catalog

    def find(self, rules: Iterable[JsonObject], review: Review, policy: str) -> Resource | None:
        """The resource as which the rules know the request; with policy `Equivalent` also another version of it."""
        rules = list(rules)
        if any(rule_matches(rule, review, review.resource) for rule in rules):
            return review.resource
        if policy == "Exact":
            return None
        others = self._equivalents(review.resource)
        for rule in rules:
            for other in others:
                if rule_matches(rule, review, other):
                    return other
        return None

    def _equivalents(self, resource: Resource) -> list[Resource]:
        same = {(resource.group, resource.plural)}
        same.add(_SAME_OBJECTS.get((resource.group, resource.plural), (resource.group, resource.plural)))
        return [r for r in self.catalog.resources() if (r.group, r.plural) in same and r != resource]

    def selected(self, selectors: JsonObject, review: Review) -> bool:
        """Whether `namespaceSelector` and `objectSelector` let a request in. NotFound if its namespace is not there."""
        return self._object_selected(selectors.get("objectSelector"), review) and self._namespace_selected(
            selectors.get("namespaceSelector"), review
        )

    def _namespace_selected(self, selector: JsonValue, review: Review) -> bool:
        if not selector or not namespace_of(review):
            return True
        return selector_matches(selector, self.namespace_labels(review))

    @staticmethod
    def _object_selected(selector: JsonValue, review: Review) -> bool:
        if not selector:
            return True
        present = [item for item in (review.obj, review.old) if item is not None]
        return any(selector_matches(selector, dig_strings(item, "metadata", "labels")) for item in present)

    def namespace_labels(self, review: Review) -> Mapping[str, str]:
        """The labels of the request's namespace; of a Namespace that is being written, its new ones."""
        if (
            _is_namespace(review.resource)
            and not review.subresource
            and review.operation in ("CREATE", "UPDATE")
        ):
            return dig_strings(review.obj, "metadata", "labels")
        record = self.storage.get(NAMESPACES, "", namespace_of(review))
        if record is None:
            raise refusals.not_found(NAMESPACES, namespace_of(review))
        return record.labels

    def namespace(self, name: str) -> JsonObject:
        """A namespace by its name. NotFound if it is not there."""
        record = self.storage.get(NAMESPACES, "", name)
        if record is None:
            raise refusals.not_found(NAMESPACES, name)
        return record.decode()

    def constrained(self, constraints: JsonObject, review: Review) -> Resource | None:
        """The resource as which MatchResources (of a policy or binding) know a request; None if it is none of theirs."""
        rules = dig_objects(constraints, "resourceRules")
        excluded = dig_objects(constraints, "excludeResourceRules")
        policy = dig_str(constraints, "matchPolicy") or "Equivalent"
        if excluded and self.find(excluded, review, policy) is not None:
            return None
        found = self.find(rules, review, policy) if rules else review.resource
        if found is None:
            return None
        try:
            return found if self.selected(constraints, review) else None
        except NotFound:
            if dig_object(constraints, "namespaceSelector"):
                raise
            return None


def as_version(obj: JsonObject | None, resource: Resource) -> JsonObject | None:
    """An object as another version of its kind shows it; versions differ by name only."""
    if obj is None or obj.get("apiVersion") == resource.api_version:
        return obj
    return {**obj, "apiVersion": resource.api_version, "kind": resource.kind}


def seen_as(review: Review, resource: Resource) -> Review:
    """A request as one for another version of its resource."""
    if resource == review.resource:
        return review
    return replace(
        review, resource=resource, obj=as_version(review.obj, resource), old=as_version(review.old, resource)
    )
