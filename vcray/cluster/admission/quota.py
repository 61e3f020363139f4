"""ResourceQuota admission: what is created is charged to every quota of its namespace that limits it, or refused.

Only what the recount (`quotastatus`) has put into a quota's status counts as its limits, as on a real server. A namespace
without quotas costs a request one look.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from vcray.api.jsonview import dig, dig_objects, dig_str
from vcray.api.meta import JsonObject
from vcray.api.resources import RESOURCEQUOTAS, Resource
from vcray.clock import Clock
from vcray.cluster.admission.scopes import in_scope, is_terminating
from vcray.cluster.admission.usage import (
    ZERO,
    Amounts,
    amounts_of,
    container_usage,
    limited_names,
    texts_of,
    total,
    usage_of,
)
from vcray.cluster.objects import refusals
from vcray.cluster.objects.record import Record, section
from vcray.cluster.objects.review import Review
from vcray.cluster.objects.storage import Storage
from vcray.kube.errors import Forbidden

_REQUIRED = frozenset({"cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"})
"""Limits that every container of a pod must say something about, if a quota has them."""

_ON_UPDATE = frozenset({"services", "persistentvolumeclaims"})


@dataclass(frozen=True, slots=True)
class _Charge:
    """One quota and its usage after a request."""

    record: Record
    quota: JsonObject
    used: Amounts


class QuotaGate:
    """Charges requests to the quotas of their namespace."""

    def __init__(self, storage: Storage, clock: Clock) -> None:
        self._storage = storage
        self._clock = clock

    def mutate(self, review: Review) -> JsonObject | None:
        """Quotas change nothing."""
        return None

    def validate(self, review: Review) -> None:
        """Refuse what does not fit already, so that a dry run says so too."""
        if review.dry_run:
            for _ in self._charges(review):
                pass

    def charge(self, review: Review) -> None:
        """Count what is about to be stored. Forbidden if it does not fit."""
        for charge in list(self._charges(review)):
            section(charge.quota, "status")["used"] = texts_of(charge.used)
            self._storage.put(RESOURCEQUOTAS, charge.quota)

    def _charges(self, review: Review) -> Iterator[_Charge]:
        obj = review.obj
        if obj is None or not review.namespace or not _handles(review):
            return
        for record in self._storage.scan(RESOURCEQUOTAS, review.namespace):
            quota = record.decode()
            charge = self._charge_to(record, quota, review, obj)
            if charge is not None:
                yield charge

    def _charge_to(
        self, record: Record, quota: JsonObject, review: Review, obj: JsonObject
    ) -> _Charge | None:
        resource = review.resource
        hard, used = amounts_of(dig(quota, "status", "hard")), amounts_of(dig(quota, "status", "used"))
        names = limited_names(resource, hard)
        if not names or not in_scope(quota, resource, obj):
            return None
        if resource.plural == "pods" and not resource.group:
            missing = _missing(obj, _REQUIRED.intersection(names))
            if missing:
                raise _refusal(review, f"failed quota: {record.name}: must specify {missing}")
        if any(name not in used for name in names):
            told = ",".join(sorted(names))
            raise _refusal(review, f"status unknown for quota: {record.name}, resources: {told}")
        delta = usage_of(resource, obj, self._clock.now())
        if review.old is not None and in_scope(quota, resource, review.old):
            before = usage_of(resource, review.old, self._clock.now())
            delta = {
                name: amount if amount.nanos > 0 else ZERO
                for name, amount in total(delta, before, -1).items()
            }
        asked = {name: amount for name, amount in delta.items() if amount.nanos and name in hard}
        if not asked:
            return None
        after = total(used, asked)
        self._check(record.name, review, asked, used, after, hard)
        return _Charge(record, quota, after)

    @staticmethod
    def _check(
        name: str, review: Review, asked: Amounts, used: Amounts, after: Amounts, hard: Amounts
    ) -> None:
        if review.subresource == "status":
            return
        exceeded = [key for key in asked if after[key].nanos > hard[key].nanos]
        if exceeded:
            why = ", ".join(
                f"{word}: {_shown(amounts, exceeded)}"
                for word, amounts in (("requested", asked), ("used", used), ("limited", hard))
            )
            raise _refusal(review, f"exceeded quota: {name}, {why}")


def _handles(review: Review) -> bool:
    """Whether the request may use more of a quota than before."""
    if review.subresource not in ("", "resize"):
        return False
    if review.operation == "CREATE":
        return True
    core = not review.resource.group
    if review.operation != "UPDATE" or not core or review.old is None or review.obj is None:
        return False
    if review.resource.plural == "pods":
        return review.subresource == "resize" or is_terminating(review.old) != is_terminating(review.obj)
    return review.resource.plural in _ON_UPDATE


def _missing(pod: JsonObject, required: frozenset[str]) -> str:
    """What containers fail to say, as `cpu for: a,b; memory for: a`; empty if nothing."""
    if dig(pod, "spec", "resources", "requests") or dig(pod, "spec", "resources", "limits"):
        return ""
    silent: dict[str, set[str]] = {}
    for list_name in ("containers", "initContainers"):
        for container in dig_objects(pod, "spec", list_name):
            said = container_usage(
                amounts_of(dig(container, "resources", "requests")),
                amounts_of(dig(container, "resources", "limits")),
            )
            for name in required - set(said):
                silent.setdefault(name, set()).add(dig_str(container, "name"))
    return "; ".join(f"{name} for: {','.join(sorted(silent[name]))}" for name in sorted(silent))


def _shown(amounts: Amounts, names: list[str]) -> str:
    return ",".join(f"{name}={amounts.get(name, ZERO)}" for name in sorted(names))


def _refusal(review: Review, why: str) -> Forbidden:
    return refusals.forbidden(review.resource, review.name, why)


def counted_resources(resources: list[Resource], names: list[str]) -> list[Resource]:
    """Those of the served resources whose objects use a quota with these names."""
    return [resource for resource in resources if resource.namespaced and limited_names(resource, names)]
