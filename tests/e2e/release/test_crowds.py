"""Ten objects of a kind at once, which come and go (Volcano's suite `stress`)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.e2e.arena import GROUPS
from tests.e2e.release.acts import COLLECTED_S, group_phase
from tests.e2e.release.context import Context

MANY = range(10)


@pytest.mark.full
def test_many_jobs_at_once_run_and_go(context: Context) -> None:
    jobs = [context.job(f"j{number}", context.task("a", 2)) for number in MANY]
    with ThreadPoolExecutor(len(MANY)) as pool:
        list(pool.map(context.create, jobs))

    for number in MANY:
        context.running(f"j{number}", 2)
    context.wait(
        lambda: all(context.status(f"j{number}")["state"]["phase"] == "Running" for number in MANY),
        "all to be Running",
    )

    with ThreadPoolExecutor(len(MANY)) as pool:
        list(pool.map(lambda number: context.client.delete(f"{context.jobs}/j{number}"), MANY))
    context.wait(lambda: not context.pods(), "all pods to go", COLLECTED_S)
    context.wait(lambda: not context.client.get(context.groups)["items"], "all PodGroups to go", COLLECTED_S)


@pytest.mark.full
def test_many_jobs_at_once_complete(context: Context) -> None:
    seen = [context.phases(f"j{number}") for number in MANY]
    jobs = [context.job(f"j{number}", context.shell("sleep 1", replicas=2)) for number in MANY]
    with ThreadPoolExecutor(len(MANY)) as pool:
        list(pool.map(context.create, jobs))

    for phases in seen:
        phases.wait("Pending", "Running", "Completed")
    assert len(context.pods()) == 2 * len(MANY)


@pytest.mark.full
def test_many_podgroups_at_once_are_admitted_and_go(context: Context) -> None:
    with ThreadPoolExecutor(len(MANY)) as pool:
        list(pool.map(lambda number: context.group(f"g{number}", 1), MANY))
    for number in MANY:
        context.wait(lambda name=f"g{number}": group_phase(context, name) == "Inqueue", "admission")  # type: ignore[misc]

    with ThreadPoolExecutor(len(MANY)) as pool:
        list(pool.map(lambda number: context.client.delete(f"{context.groups}/g{number}"), MANY))
    assert not context.client.get(context.groups)["items"]


@pytest.mark.full
def test_many_queues_at_once_open_and_go(context: Context) -> None:
    """A queue may be deleted as soon as it is there."""
    names = [f"{context.namespace}-q{number}" for number in MANY]
    body = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue"}

    def made(name: str) -> None:
        context.client.create(f"{GROUPS}/queues", {**body, "metadata": {"name": name}, "spec": {}})

    def gone(name: str) -> None:
        context.client.delete(f"{GROUPS}/queues/{name}")

    def passing(name: str) -> None:
        made(name)
        gone(name)

    with ThreadPoolExecutor(len(MANY)) as pool:
        list(pool.map(made, names))
    for name in names:
        context.wait(lambda name=name: context.queue_state(name) == "Open", f"{name} to open")  # type: ignore[misc]
    with ThreadPoolExecutor(len(MANY)) as pool:
        list(pool.map(gone, names))
        list(pool.map(passing, names))

    left = {each["metadata"]["name"] for each in context.client.get(f"{GROUPS}/queues")["items"]}
    assert not left & set(names)


def test_queues_and_jobs_in_them_come_and_go_together(context: Context) -> None:
    def run(number: int) -> None:
        name = context.queue(f"q{number}")
        context.create(context.job(f"j{number}", context.task("a", 1), queue=name))

    with ThreadPoolExecutor(len(MANY)) as pool:
        list(pool.map(run, MANY))

    for number in MANY:
        context.running(f"j{number}", 1)
    groups = context.client.get(context.groups)["items"]
    assert {each["spec"]["queue"] for each in groups} == {f"{context.namespace}-q{number}" for number in MANY}
