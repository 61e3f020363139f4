"""The admission policies of a cluster: which are stored, which are about a request, with which bindings and parameters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from vcray.api.jsonview import dig_object, dig_objects, dig_str
from vcray.api.meta import JsonObject
from vcray.cluster.admission.authorizing import authorizer
from vcray.cluster.admission.expressions import Scope, namespace_object
from vcray.cluster.admission.matching import GROUP, Matcher, is_exempt, seen_as
from vcray.cluster.admission.parameters import ConfigurationError, parameters
from vcray.cluster.objects.catalog import Catalog
from vcray.cluster.objects.record import StoredEvent
from vcray.cluster.objects.review import Review
from vcray.cluster.objects.storage import Storage
from vcray.kube.errors import NotFound, ResourceMissing


@dataclass(frozen=True, slots=True)
class Policy:
    """One stored policy and the bindings that name it."""

    name: str
    spec: JsonObject
    bindings: tuple[tuple[str, JsonObject], ...]

    @property
    def ignores_failures(self) -> bool:
        """What happens to a request when the policy cannot be judged."""
        return dig_str(self.spec, "failurePolicy") == "Ignore"

    @property
    def variables(self) -> dict[str, str]:
        """The expressions of its variables by name."""
        return {dig_str(v, "name"): dig_str(v, "expression") for v in dig_objects(self.spec, "variables")}


@dataclass(frozen=True, slots=True)
class Invocation:
    """One evaluation that a request needs: a policy with one binding and one parameter. `trouble` says why it cannot be."""

    policy: Policy
    binding: str
    binding_spec: JsonObject
    scope: Scope | None
    asked: Review
    trouble: str = ""


class PolicySet:
    """All stored policies of one kind (`validating` or `mutating`), kept present. Empty sets cost a request nothing."""

    def __init__(self, storage: Storage, catalog: Catalog, kind: str) -> None:
        self._storage = storage
        self._catalog = catalog
        self._kind = kind
        self.matcher = Matcher(storage, catalog)
        self._policies: tuple[Policy, ...] | None = None
        self._unlisten = storage.listen(self._noticed)

    def close(self) -> None:
        """Stop following the stored policies."""
        self._unlisten()

    def _noticed(self, event: StoredEvent) -> None:
        if event.record.resource.group == GROUP:
            self._policies = None

    def all(self) -> tuple[Policy, ...]:
        """The policies that have bindings, by name."""
        if self._policies is None:
            self._policies = tuple(self._read())
        return self._policies

    def _read(self) -> Iterator[Policy]:
        try:
            policies = self._catalog.at(GROUP, "v1", f"{self._kind}admissionpolicies")
            bindings = self._catalog.at(GROUP, "v1", f"{self._kind}admissionpolicybindings")
        except ResourceMissing:
            return
        bound: dict[str, list[tuple[str, JsonObject]]] = {}
        for record in self._storage.scan(bindings.stored):
            spec = dig_object(record.decode(), "spec")
            bound.setdefault(dig_str(spec, "policyName"), []).append((record.name, spec))
        for record in self._storage.scan(policies.stored):
            if record.name in bound:
                yield Policy(record.name, dig_object(record.decode(), "spec"), tuple(bound[record.name]))

    def invocations(self, review: Review) -> Iterator[Invocation]:
        """Every evaluation that a request needs, in order. NotFound if the namespace it lies in is not there."""
        if is_exempt(review.resource):
            return
        for policy in self.all():
            constraints = dig_object(policy.spec, "matchConstraints")
            try:
                found = self.matcher.constrained(constraints, review)
            except NotFound as error:
                trouble = f"failed to configure policy: {error.message}"
                yield Invocation(policy, "", {}, None, review, trouble)
                continue
            if found is None:
                continue
            asked = seen_as(review, found)
            for name, spec in policy.bindings:
                yield from self._of_binding(policy, name, spec, review, asked)

    def _of_binding(
        self, policy: Policy, name: str, spec: JsonObject, review: Review, asked: Review
    ) -> Iterator[Invocation]:
        resources = dig_object(spec, "matchResources")
        try:
            if resources and self.matcher.constrained(resources, review) is None:
                return
            found = parameters(
                self._storage,
                self._catalog,
                dig_object(policy.spec, "paramKind"),
                dig_object(spec, "paramRef"),
                review.namespace,
            )
        except (ConfigurationError, NotFound) as error:
            message = error.message if isinstance(error, NotFound) else str(error)
            yield Invocation(policy, name, spec, None, asked, f"failed to configure binding: {message}")
            return
        namespace, decide = namespace_object(self.matcher, review), authorizer(self._storage, review.user)
        for params in found:
            scope = Scope(
                review, asked, params=params, namespace=namespace, variables=policy.variables, decide=decide
            )
            yield Invocation(policy, name, spec, scope, asked)
