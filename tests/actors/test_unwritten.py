"""What the server did not take is said again, however often that takes, and not more often than it must be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.actors.own_rounds import Cluster, cluster
from vcray.api.jsonview import dig, dig_objects, dig_str
from vcray.api.meta import JsonObject
from vcray.api.resources import EVENTS, PODGROUPS, PODS, QUEUES, Resource
from vcray.errors import Problem, Unreachable
from vcray.kube.client import KubeClient
from vcray.kube.errors import ServerFailure

__all__ = ["cluster"]

AWAY = (
    ServerFailure("etcdserver: leader changed"),
    Unreachable(Problem("VC0201", "x", "connection refused")),
)


class Failing:
    """Lets the writes that `which` chooses fail, `times` of them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.failed = 0
        self.times = 0
        self.which: Callable[[Resource, str], bool] = lambda resource, name: False
        self.ours = False
        """Only writes of PodGroups' statuses by the scheduler, which bear the version that was read."""
        self.error: Exception = AWAY[0]
        for method, place in (("patch", 2), ("apply", None), ("create", None)):
            monkeypatch.setattr(KubeClient, method, self._instead_of(getattr(KubeClient, method), place))

    def _instead_of(self, original: Any, place: int | None) -> Any:
        async def write(client: KubeClient, resource: Resource, *arguments: Any, **options: Any) -> Any:
            body: JsonObject = next(each for each in arguments if isinstance(each, dict))
            name = arguments[1] if place else dig_str(body, "metadata", "name")
            ours = bool(dig_str(body, "metadata", "resourceVersion"))
            if self.failed < self.times and self.which(resource, name) and (ours or not self.ours):
                self.failed += 1
                raise self.error
            return await original(client, resource, *arguments, **options)

        return write


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Failing:
    return Failing(monkeypatch)


async def phases(cluster: Cluster) -> set[str]:
    return {dig_str(group, "status", "phase") for group in (await cluster.client.list(PODGROUPS)).items}


@pytest.mark.parametrize("error", AWAY, ids=["500", "away"])
async def test_a_group_whose_phase_was_not_written_starts_all_the_same(
    cluster: Cluster, failing: Failing, error: Exception
) -> None:
    failing.which, failing.times, failing.error = lambda resource, _: resource is PODGROUPS, 1, error
    failing.ours = True
    await cluster.submit("fits", "2 x 1c")
    await cluster.pass_time(5)

    assert failing.failed == 1
    assert [dig(pod, "spec", "nodeName") for pod in (await cluster.client.list(PODS)).items] == ["n1", "n1"]
    assert await phases(cluster) == {"Running"}


async def test_each_pod_that_waits_says_so(cluster: Cluster, failing: Failing) -> None:
    await cluster.submit("fits", "2 x 1c")
    await cluster.pass_time(1)
    failing.which, failing.times = lambda resource, _: resource is PODS, 1
    await cluster.submit("elastic", "4 x 1c (min 1)")
    await cluster.pass_time(10)

    pods = (await cluster.client.list(PODS)).items
    waiting = [pod for pod in pods if not dig_str(pod, "spec", "nodeName")]
    assert failing.failed == 1
    assert len(waiting) == 2
    for pod in waiting:
        assert [dig_str(each, "status") for each in dig_objects(pod, "status", "conditions")] == ["False"]


async def test_a_queue_says_what_it_holds(cluster: Cluster, failing: Failing) -> None:
    failing.which, failing.times = lambda resource, name: resource is QUEUES and name == "default", 2
    await cluster.submit("fits", "2 x 1c")
    await cluster.pass_time(10)

    assert failing.failed == 2
    queue = await cluster.client.get(QUEUES, None, "default")
    assert dig_str(queue, "status", "allocated", "cpu") == "2"


async def test_an_event_that_was_not_written_is_told_again(cluster: Cluster, failing: Failing) -> None:
    failing.which, failing.times = lambda resource, _: resource is EVENTS, 2
    await cluster.submit("large", "2 x 3c")
    await cluster.pass_time(20)

    assert failing.failed == 2
    assert "Unschedulable" in await cluster.complaints()


async def test_a_server_that_never_takes_it_is_asked_ever_more_rarely(
    cluster: Cluster, failing: Failing
) -> None:
    failing.which, failing.times = lambda resource, _: resource is PODGROUPS, 10_000
    failing.ours = True
    await cluster.submit("fits", "2 x 1c")
    await cluster.pass_time(60)
    first = failing.failed
    await cluster.pass_time(240)

    assert 5 <= first <= 12
    assert 6 <= failing.failed - first <= 12
