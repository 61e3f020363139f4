"""A whole control plane on its own rounds: who starts at once is not complained of, who waits is, after a second."""

from __future__ import annotations

from tests.actors.own_rounds import Cluster, cluster
from vcray.api.resources import PODS

__all__ = ["cluster"]


async def test_a_job_that_starts_at_once_is_not_complained_of(cluster: Cluster) -> None:
    await cluster.submit("fits", "4 x 1c")
    await cluster.pass_time(0.5)

    pods = (await cluster.client.list(PODS)).items
    assert [pod["spec"]["nodeName"] for pod in pods if isinstance(pod["spec"], dict)] == ["n1"] * 4
    await cluster.pass_time(5)
    assert await cluster.complaints() == []


async def test_a_job_that_waits_is_complained_of_after_a_second(cluster: Cluster) -> None:
    await cluster.submit("too-large", "4 x 2c")
    await cluster.pass_time(0.5)
    assert await cluster.complaints() == []

    await cluster.pass_time(2)

    assert "Unschedulable" in await cluster.complaints()
