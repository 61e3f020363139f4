"""The table of services is Volcano's (api-controllers.md 5, head), and ours beside it."""

from __future__ import annotations

import pytest

from tests.webhooks.seen import ask
from vcray.webhooks.services import ALL_SERVICES, PATHS, SERVICES, TENANT_SERVICES, Service, wrong_resource

CREATE, WRITTEN = ("CREATE",), ("CREATE", "UPDATE")
TABLE = {
    "/jobs/mutate": ("mutatejob", "batch.volcano.sh/v1alpha1 jobs", CREATE),
    "/jobs/validate": ("validatejob", "batch.volcano.sh/v1alpha1 jobs", WRITTEN),
    "/podgroups/mutate": ("mutatepodgroup", "scheduling.volcano.sh/v1beta1 podgroups", CREATE),
    "/podgroups/validate": ("validatepodgroup", "scheduling.volcano.sh/v1beta1 podgroups", CREATE),
    "/pods/mutate": ("mutatepod", "v1 pods", CREATE),
    "/pods/validate": ("validatepod", "v1 pods", CREATE),
    "/queues/mutate": ("mutatequeue", "scheduling.volcano.sh/v1beta1 queues", CREATE),
    "/queues/validate": ("validatequeue", "scheduling.volcano.sh/v1beta1 queues", (*WRITTEN, "DELETE")),
    "/hypernodes/validate": ("validatehypernodes", "topology.volcano.sh/v1alpha1 hypernodes", WRITTEN),
    "/jobflows/validate": ("validatejob", "flow.volcano.sh/v1alpha1 jobflows", WRITTEN),
    "/cronjobs/validate": ("validatecronjob", "batch.volcano.sh/v1alpha1 cronjobs", WRITTEN),
}


def test_paths_entries_kinds_and_operations_are_volcanos() -> None:
    found = {
        each.path: (
            each.entry.removesuffix(".volcano.sh"),
            f"{each.resource.api_version} {each.resource.plural}",
            each.operations,
        )
        for each in SERVICES
    }

    assert found == TABLE
    assert set(PATHS) == set(TABLE)


@pytest.mark.parametrize("service", ALL_SERVICES, ids=lambda service: service.path)
def test_configurations_are_named_by_their_paths(service: Service) -> None:
    assert service.configuration_name == "volcano-admission-service" + service.path.replace("/", "-")
    assert service.mutates == service.path.endswith("/mutate")


def test_ours_do_not_take_volcanos_names() -> None:
    assert not {each.path for each in TENANT_SERVICES} & set(TABLE)
    assert all(each.entry.endswith(".vcray.io") for each in TENANT_SERVICES)


@pytest.mark.parametrize(
    ("service", "operation"),
    [
        (each, operation)
        for each in SERVICES
        for operation in ("DELETE", "CONNECT", "")
        if operation not in each.operations
    ],
    ids=lambda each: each.path if isinstance(each, Service) else each,
)
def test_other_operations_are_refused_but_of_hypernodes(service: Service, operation: str) -> None:
    answer = service.admit(ask(operation, {"metadata": {"name": "n"}}))

    assert answer.allowed == (service.path == "/hypernodes/validate")


@pytest.mark.parametrize("service", SERVICES, ids=lambda service: service.path)
def test_question_about_another_kind_is_told_what_was_expected(service: Service) -> None:
    resource = service.resource

    assert wrong_resource(service) == (
        f"expect resource to be {resource.group}/{resource.version}, Resource={resource.plural}"
    )
