"""The table of services: which path answers for which webhook, on which operations of which kind.

Paths, names of entries and of configurations are Volcano's, so that its charts and users' tooling find them; that the webhook
of JobFlows signs with the name of the jobs' is theirs as well. What is registered for pods differs: it must never hold up pods
of other people.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from vcray.api.resources import (
    COMMANDS,
    CRONJOBS,
    HYPERNODES,
    JOBFLOWS,
    JOBS,
    PODGROUPS,
    PODS,
    QUEUES,
    Resource,
)
from vcray.webhooks import cronjobs, hypernodes, jobflows, jobs, podgroups, pods, queues, tenants
from vcray.webhooks.base import Answer, Request, Rules

EXEMPT_NAMESPACE: Final = "kube-system"
"""Passed over besides the namespace of the release itself."""


TIMEOUT_S: Final = 10
BRIEF_TIMEOUT_S: Final = 2
"""How long an API server waits for an answer about a pod before it goes on without."""


@dataclass(frozen=True, slots=True)
class Service:
    """One webhook: its path, the name that a refusal is signed with, and its rule.

    `must_answer`: while it is away the API server refuses the writes that it would be asked about; otherwise it lets them pass.
    `by_namespace`: namespaces of the system are passed over. `of_our_schedulers`: only pods of our schedulers are asked about.
    `only`: a CEL expression; nothing else is asked about.
    """

    path: str
    entry: str
    mutates: bool
    resource: Resource
    operations: tuple[str, ...]
    admit: Callable[[Request], Answer]
    must_answer: bool = True
    by_namespace: bool = True
    of_our_schedulers: bool = False
    side_effects: str = "NoneOnDryRun"
    only: str = ""

    @property
    def configuration_name(self) -> str:
        """Name of the Mutating- or ValidatingWebhookConfiguration."""
        return "volcano-admission-service" + self.path.replace("/", "-")

    @property
    def timeout_s(self) -> int:
        """How long an API server waits for an answer."""
        return TIMEOUT_S if self.must_answer else BRIEF_TIMEOUT_S

    def idle(self, rules: Rules) -> bool:
        """Does it leave everything as it is? So do pods' mutations without a configuration."""
        return self.admit is pods.mutate and rules.resource_groups is None


_MADE, _WRITTEN = ("CREATE",), ("CREATE", "UPDATE")

SERVICES: Final[tuple[Service, ...]] = (
    Service("/jobs/mutate", "mutatejob.volcano.sh", True, JOBS, _MADE, jobs.mutate),
    Service("/jobs/validate", "validatejob.volcano.sh", False, JOBS, _WRITTEN, jobs.validate),
    Service("/podgroups/mutate", "mutatepodgroup.volcano.sh", True, PODGROUPS, _MADE, podgroups.mutate),
    Service(
        "/podgroups/validate", "validatepodgroup.volcano.sh", False, PODGROUPS, _MADE, podgroups.validate
    ),
    Service("/queues/mutate", "mutatequeue.volcano.sh", True, QUEUES, _MADE, queues.mutate),
    Service(
        "/queues/validate",
        "validatequeue.volcano.sh",
        False,
        QUEUES,
        ("CREATE", "UPDATE", "DELETE"),
        queues.validate,
    ),
    Service(
        "/hypernodes/validate",
        "validatehypernodes.volcano.sh",
        False,
        HYPERNODES,
        _WRITTEN,
        hypernodes.validate,
        by_namespace=False,
        side_effects="None",
    ),
    Service("/jobflows/validate", "validatejob.volcano.sh", False, JOBFLOWS, _WRITTEN, jobflows.validate),
    Service("/cronjobs/validate", "validatecronjob.volcano.sh", False, CRONJOBS, _WRITTEN, cronjobs.validate),
    Service("/pods/mutate", "mutatepod.volcano.sh", True, PODS, _MADE, pods.mutate, must_answer=False),
    Service(
        "/pods/validate",
        "validatepod.volcano.sh",
        False,
        PODS,
        _MADE,
        pods.validate,
        must_answer=False,
        of_our_schedulers=True,
    ),
)

_MARKED: Final = (
    "[object, oldObject].exists(o, o != null && ("
    "(has(o.metadata.annotations) && o.metadata.annotations.exists(k, k.contains('volcano.sh/') || k == 'scheduling.k8s.io/group-name')) || "
    "(has(o.metadata.labels) && o.metadata.labels.exists(k, k.contains('volcano.sh/'))) || "
    "(has(o.metadata.ownerReferences) && o.metadata.ownerReferences.exists(r, r.apiVersion.startsWith('batch.volcano.sh/')))))"
)
"""Pods that scheduling knows by a mark or an owner; all others are nobody's business here."""


def _of_tenants(
    resource: Resource, operations: tuple[str, ...], admit: Callable[[Request], Answer]
) -> Service:
    return Service(
        f"/tenants/{resource.plural}",
        f"tenants.{resource.plural}.vcray.io",
        False,
        resource,
        operations,
        admit,
    )


TENANT_SERVICES: Final[tuple[Service, ...]] = (
    _of_tenants(JOBS, _WRITTEN, tenants.jobs),
    _of_tenants(CRONJOBS, _WRITTEN, tenants.cronjobs),
    _of_tenants(PODGROUPS, _WRITTEN, tenants.podgroups),
    _of_tenants(COMMANDS, _WRITTEN, tenants.commands),
    replace(_of_tenants(PODS, _WRITTEN, tenants.pods), must_answer=False, only=_MARKED),
)
"""Ours, beside Volcano's: served when tenants are kept apart."""

ALL_SERVICES: Final = (*SERVICES, *TENANT_SERVICES)
PATHS: Final = tuple(service.path for service in SERVICES)


def wrong_resource(service: Service) -> str:
    """What a webhook says that is asked about another kind."""
    resource = service.resource
    return f"expect resource to be {resource.group}/{resource.version}, Resource={resource.plural}"
