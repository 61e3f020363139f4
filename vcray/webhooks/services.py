"""The table of services: which path answers for which webhook, on which operations of which kind.

Paths, names of entries and of configurations are Volcano's, so that its charts and users' tooling find them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from vcray.api.resources import JOBS, PODGROUPS, QUEUES, Resource
from vcray.webhooks import jobs, podgroups, queues
from vcray.webhooks.base import Answer, Request

EXEMPT_NAMESPACE: Final = "kube-system"
"""Passed over besides the namespace of the release itself."""


@dataclass(frozen=True, slots=True)
class Service:
    """One webhook: its path, the name that a refusal is signed with, and its rule."""

    path: str
    entry: str
    mutates: bool
    resource: Resource
    operations: tuple[str, ...]
    admit: Callable[[Request], Answer]

    @property
    def configuration_name(self) -> str:
        """Name of the Mutating- or ValidatingWebhookConfiguration."""
        return "volcano-admission-service" + self.path.replace("/", "-")


SERVICES: Final[tuple[Service, ...]] = (
    Service("/jobs/mutate", "mutatejob.volcano.sh", True, JOBS, ("CREATE",), jobs.mutate),
    Service("/jobs/validate", "validatejob.volcano.sh", False, JOBS, ("CREATE", "UPDATE"), jobs.validate),
    Service("/podgroups/mutate", "mutatepodgroup.volcano.sh", True, PODGROUPS, ("CREATE",), podgroups.mutate),
    Service(
        "/podgroups/validate",
        "validatepodgroup.volcano.sh",
        False,
        PODGROUPS,
        ("CREATE",),
        podgroups.validate,
    ),
    Service("/queues/mutate", "mutatequeue.volcano.sh", True, QUEUES, ("CREATE",), queues.mutate),
    Service(
        "/queues/validate",
        "validatequeue.volcano.sh",
        False,
        QUEUES,
        ("CREATE", "UPDATE", "DELETE"),
        queues.validate,
    ),
)

PATHS: Final = tuple(service.path for service in SERVICES)


def wrong_resource(service: Service) -> str:
    """What a webhook says that is asked about another kind."""
    resource = service.resource
    return f"expect resource to be {resource.group}/{resource.version}, Resource={resource.plural}"
