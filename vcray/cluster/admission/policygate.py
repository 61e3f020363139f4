"""Admission policies as a gate of the store. The expression library is loaded when the first policy is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vcray.api.meta import JsonObject
from vcray.cluster.admission.matching import GROUP
from vcray.cluster.objects.catalog import Catalog
from vcray.cluster.objects.record import StoredEvent
from vcray.cluster.objects.review import Review
from vcray.cluster.objects.storage import Storage
from vcray.kube.errors import ResourceMissing

if TYPE_CHECKING:
    from vcray.cluster.admission.mutating import MutatingPolicies
    from vcray.cluster.admission.validating import ValidatingPolicies

_BINDINGS = ("ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicyBinding")


class PolicyGate:
    """Runs the policies of one cluster; does nothing as long as none is bound."""

    def __init__(self, storage: Storage, catalog: Catalog) -> None:
        self._storage = storage
        self._catalog = catalog
        self._mutating: MutatingPolicies | None = None
        self._validating: ValidatingPolicies | None = None
        storage.listen(self._noticed)
        if self._any_stored():
            self._load()

    def mutate(self, review: Review) -> JsonObject | None:
        """The object as the mutating policies want it."""
        return None if self._mutating is None else self._mutating.mutate(review)

    def validate(self, review: Review) -> None:
        """Refuse what a validating policy denies."""
        if self._validating is not None:
            self._validating.validate(review)

    def charge(self, review: Review) -> None:
        """Policies count nothing."""

    def _noticed(self, event: StoredEvent) -> None:
        resource = event.record.resource
        if self._validating is None and resource.group == GROUP and resource.kind in _BINDINGS:
            self._load()

    def _any_stored(self) -> bool:
        for kind in _BINDINGS:
            try:
                stored = self._catalog.at(GROUP, "v1", f"{kind.lower()}s").stored
            except ResourceMissing:
                continue
            if next(self._storage.scan(stored), None) is not None:
                return True
        return False

    def _load(self) -> None:
        from vcray.cluster.admission.mutating import MutatingPolicies
        from vcray.cluster.admission.policies import PolicySet
        from vcray.cluster.admission.validating import ValidatingPolicies

        self._mutating = MutatingPolicies(PolicySet(self._storage, self._catalog, "mutating"), self._catalog)
        self._validating = ValidatingPolicies(PolicySet(self._storage, self._catalog, "validating"))
