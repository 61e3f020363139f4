"""The admission actor beside an API server, and what tests do through that server."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conformance.harness.base import Server, wait_until
from tests.conformance.harness.client import ApiError, Client
from tests.e2e.hosting import Hosted
from vcray.actors.deployment import ADMISSION
from vcray.config.settings import Settings
from vcray.webhooks.services import PATHS, SERVICES

Object = dict[str, Any]

REGISTRATIONS = "/apis/admissionregistration.k8s.io/v1"
QUEUES = "/apis/scheduling.volcano.sh/v1beta1/queues"


def registration(path: str, mutates: bool) -> str:
    """Where the configuration of a webhook is."""
    kind = "mutatingwebhookconfigurations" if mutates else "validatingwebhookconfigurations"
    return f"{REGISTRATIONS}/{kind}/volcano-admission-service{path.replace('/', '-')}"


def registered(client: Client) -> list[str]:
    """Paths of the webhooks that the server knows."""
    return [each.path for each in SERVICES if client.exists(registration(each.path, each.mutates))]


class Admitted:
    """One test's namespace on a server whose writes our webhooks see."""

    def __init__(self, server: Server) -> None:
        self.server, self.client = server, server.client
        self.namespace = server.create_namespace("admitted")
        self.jobs = f"/apis/batch.volcano.sh/v1alpha1/namespaces/{self.namespace}/jobs"
        self.groups = f"/apis/scheduling.volcano.sh/v1beta1/namespaces/{self.namespace}/podgroups"
        self.queues: list[str] = []

    def queue(self, state: str = "Open", name: str = "", **spec: Any) -> str:
        """A new queue in a state; its name."""
        chosen = name or f"q-{secrets.token_hex(4)}"
        self.client.create(QUEUES, queue_object(chosen, **spec))
        self.queues.append(chosen)
        if state:
            self.client.patch(f"{QUEUES}/{chosen}/status", {"status": {"state": state}})
        return chosen

    def job(self, queue: str, *tasks: Object, name: str = "j", **spec: Any) -> Object:
        """Create a job, of one good task unless told otherwise."""
        body = {
            "apiVersion": "batch.volcano.sh/v1alpha1",
            "kind": "Job",
            "metadata": {"name": name},
            "spec": {"queue": queue, "tasks": list(tasks) or [task()], **spec},
        }
        return self.client.create(self.jobs, body)

    def group(self, name: str = "g", **spec: Any) -> Object:
        """Create a PodGroup."""
        body = {
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "PodGroup",
            "metadata": {"name": name},
            "spec": {"minMember": 1, **spec},
        }
        return self.client.create(self.groups, body)

    def clean(self) -> None:
        """Take the queues away, children first."""
        for name in reversed(self.queues):
            if self.client.exists(f"{QUEUES}/{name}"):
                self.client.patch(f"{QUEUES}/{name}/status", {"status": {"state": "Closed"}})
                self.client.delete(f"{QUEUES}/{name}")


def task(name: str = "t", replicas: int = 1, container: Object | None = None, **fields: Any) -> Object:
    """A task of one good container."""
    whole = {"name": "c", "image": "i", **(container or {})}
    return {"name": name, "replicas": replicas, "template": {"spec": {"containers": [whole]}}, **fields}


def queue_object(name: str, **spec: Any) -> Object:
    """A queue to create."""
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": spec,
    }


def denial(entry: str, error: ApiError) -> str:
    """What a webhook said, after the server's own opening, which is checked."""
    opening = f'admission webhook "{entry}" denied the request: '
    assert error.message.startswith(opening), error.message
    assert error.code == 400
    return error.message.removeprefix(opening)


def heeded(client: Client) -> bool:
    """Does the server ask the webhooks already? It hears of a registration a little after it is stored."""
    if len(registered(client)) < len(SERVICES):
        return False
    try:
        client.create(f"{QUEUES}?dryRun=All", queue_object("probe", parent="probe"))
    except ApiError as error:
        return error.code == 400
    return False


@pytest.fixture(scope="module")
def admission(volcano_apiserver: Server) -> Iterator[Hosted]:
    """The admission actor, registered with the server; no actor may have failed at the end."""
    settings = Settings(admission=True, admission_port=0, enabled_admission=PATHS)
    with Hosted(volcano_apiserver.kubeconfig, ADMISSION, settings=settings) as hosted:
        wait_until(lambda: heeded(volcano_apiserver.client), "the webhooks to be asked")
        yield hosted
        assert hosted.failures() == {}
    assert registered(volcano_apiserver.client) == []


@pytest.fixture
def admitted(volcano_apiserver: Server, admission: Hosted) -> Iterator[Admitted]:
    """This test's namespace and queues."""
    made = Admitted(volcano_apiserver)
    yield made
    made.clean()
