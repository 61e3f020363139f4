"""What goes on, and what does not, while the admission actor is away."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.conformance.harness.base import Server, wait_until
from tests.conformance.harness.client import ApiError
from tests.conformance.webhooks.conftest import QUEUES, Admitted, heeded, registered, registration, task
from tests.e2e.hosting import Hosted
from vcray.actors.deployment import ADMISSION
from vcray.config.settings import Settings
from vcray.webhooks.services import PATHS, SERVICES


@pytest.fixture
def staying(volcano_apiserver: Server) -> Iterator[Hosted]:
    """The actor, which leaves its registration behind when it stops, as a killed one does."""
    client = volcano_apiserver.client
    settings = Settings(admission=True, admission_port=0, admission_unregister=False, enabled_admission=PATHS)
    with Hosted(volcano_apiserver.kubeconfig, ADMISSION, settings=settings) as hosted:
        wait_until(lambda: heeded(client), "the webhooks to be asked")
        yield hosted
    for service in SERVICES:
        client.delete(registration(service.path, service.mutates))


def works(asked: Callable[[], object]) -> bool:
    """Is a request taken, or can a webhook that it needs not be reached yet?"""
    try:
        asked()
    except ApiError as error:
        if "failed calling webhook" not in error.message:
            raise
        return False
    return True


def test_jobs_wait_and_pods_do_not(volcano_apiserver: Server, staying: Hosted) -> None:
    admitted = Admitted(volcano_apiserver)
    queue = admitted.queue()
    admitted.job(queue, name="before")
    staying.stop(ADMISSION)

    with pytest.raises(ApiError) as error:
        admitted.job(queue, name="during")
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": task()["template"]["spec"],
    }
    admitted.client.create(f"/api/v1/namespaces/{admitted.namespace}/pods", pod)
    admitted.client.patch(f"{QUEUES}/{queue}/status", {"status": {"state": "Closed"}})
    admitted.client.patch(f"{QUEUES}/{queue}/status", {"status": {"state": "Open"}})
    admitted.client.delete(f"{admitted.jobs}/before")

    assert error.value.code == 500
    assert error.value.message.startswith(
        'Internal error occurred: failed calling webhook "mutatejob.volcano.sh": '
    )
    staying.start(ADMISSION)
    wait_until(lambda: works(lambda: admitted.job(queue, name="after")), "a job to be admitted again")
    wait_until(lambda: works(admitted.clean), "the queues to go")


def test_without_our_webhooks_nothing_is_filled_in_or_refused(volcano_apiserver: Server) -> None:
    admitted = Admitted(volcano_apiserver)
    assert registered(admitted.client) == []

    stored = admitted.job("nowhere", task("a"), task("a"))

    assert "schedulerName" not in stored["spec"]
