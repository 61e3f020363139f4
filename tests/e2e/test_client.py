"""`vcray.connect()` on a real cluster."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Iterator

import pytest

import vcray as package
from tests.conformance.harness.base import wait_until
from tests.e2e.arena import Arena
from vcray.api.meta import JsonObject
from vcray.client import Client, Deadline, State
from vcray.errors import InputError
from vcray.kube.errors import NotFound

pytestmark = pytest.mark.usefixtures("vcray")


@pytest.fixture
def client(arena: Arena) -> Iterator[Client]:
    """A client whose objects are in the arena."""
    with package.connect(arena.server.kubeconfig, namespace=arena.namespace) as made:
        yield made


def job(arena: Arena, replicas: int = 2) -> JsonObject:
    made: JsonObject = arena.job("trains", arena.task(replicas=replicas))
    return made


def test_job_is_submitted_followed_to_its_end_and_deleted(arena: Arena, client: Client) -> None:
    arena.node("n1")
    queue = arena.queue("q")

    submitted = client.submit(job(arena), queue=queue)
    arena.wait_bound(2)
    arena.play("Running")
    assert client.wait(submitted, until=State.RUNNING, timeout_s=30).state is State.RUNNING
    assert len(client.pods(submitted)) == 2
    wait_until(lambda: client.queue(queue).groups["running"] == 1, "the group to be counted")
    seen = []
    finishing = threading.Timer(0.5, arena.play, ("Succeeded",))
    finishing.start()
    for step in client.follow(submitted):
        seen.append(step.state)
        if step.ended:
            break
    finishing.join()

    assert seen[0] is State.RUNNING
    assert seen[-1] is State.SUCCEEDED
    assert client.wait(submitted).phase == "Completed"
    assert client.queue(queue).weight == 1
    client.delete(submitted)
    client.delete(submitted)
    with pytest.raises(NotFound):
        client.wait(submitted, timeout_s=30)


def test_waiting_job_says_why_it_waits(arena: Arena, client: Client) -> None:
    arena.node("n1", cpu=1)

    submitted = client.submit(job(arena, replicas=4))
    with pytest.raises(Deadline) as error:
        client.wait(submitted, until=State.RUNNING, timeout_s=3)

    assert error.value.last.state is State.WAITING
    arena.wait(lambda: client.outcome(submitted).message != "", "a reason")
    assert re.search("unschedulable|overused", client.outcome(submitted).message)


def test_clients_work_within_a_loop_and_side_by_side(arena: Arena) -> None:
    async def names() -> list[str]:
        async with package.connect_async(arena.server.kubeconfig) as one:
            with package.connect(arena.server.kubeconfig) as another:
                found = await one.queues()
                assert found == another.queues()
                return [queue.name for queue in found]

    assert {"default", "root"} <= set(asyncio.run(names()))


def test_what_is_no_object_is_refused_in_one_sentence(client: Client) -> None:
    with pytest.raises(InputError, match="apiVersion and kind must be given"):
        client.submit({"metadata": {"name": "x"}})
    with pytest.raises(InputError, match="the server has no such kind"):
        client.submit({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "x"}})


def test_kind_that_we_do_not_know_is_found_on_the_server(client: Client) -> None:
    body: JsonObject = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"}}
    ingress: JsonObject = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": "i"},
        "spec": {"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}},
    }

    for each in (body, ingress):
        submitted = client.submit(each)
        assert client.get(submitted)["kind"] == each["kind"]
        client.delete(submitted)
