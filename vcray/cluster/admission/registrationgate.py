"""Webhook configurations and admission policies are checked as their API checks them, before they are stored."""

from __future__ import annotations

from vcray.api.meta import JsonObject
from vcray.cluster.admission.matching import GROUP, is_exempt
from vcray.cluster.admission.registrations import webhook_faults
from vcray.cluster.definitions.faults import Faults
from vcray.cluster.objects import refusals
from vcray.cluster.objects.review import Review


class RegistrationGate:
    """Refuses registrations that break the rules of their API. Everything else passes unseen."""

    def mutate(self, review: Review) -> JsonObject | None:
        """Defaults are filled in elsewhere."""
        return None

    def validate(self, review: Review) -> None:
        """Raise Invalid with all faults of a new or changed registration."""
        if review.resource.group != GROUP or review.obj is None or review.subresource:
            return
        if not is_exempt(review.resource) or (review.old is not None and _same(review.old, review.obj)):
            return
        if review.resource.kind.endswith("WebhookConfiguration"):
            found = webhook_faults(review.obj, _conditions)
        else:
            from vcray.cluster.admission.policyrules import policy_faults  # loads the expression library

            found = policy_faults(review.obj)
        if found:
            raise refusals.invalid(review.resource, review.name, found)

    def charge(self, review: Review) -> None:
        """Registrations count against nothing."""


def _same(old: JsonObject, new: JsonObject) -> bool:
    """Whether only metadata or status changed."""
    return all(old.get(part) == new.get(part) for part in ("spec", "webhooks"))


def _conditions(conditions: list[JsonObject], path: str, faults: Faults) -> None:
    if conditions:
        from vcray.cluster.admission.policyrules import condition_faults

        condition_faults(conditions, path, faults)
