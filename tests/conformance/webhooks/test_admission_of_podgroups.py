"""PodGroups through an API server and our webhooks, and what the webhooks leave alone."""

from __future__ import annotations

import pytest

from tests.conformance.harness.client import ApiError
from tests.conformance.webhooks.conftest import Admitted, denial

VALIDATE = "validatepodgroup.volcano.sh"
BOTH = {"mode": "hard", "highestTierAllowed": 1, "highestTierName": "rack"}
TIERS = "must not specify 'highestTierAllowed' and 'highestTierName' in networkTopology simultaneously."


def tie(admitted: Admitted, queue: str) -> None:
    """Let the namespace choose the queue of its groups."""
    marks = {"scheduling.volcano.sh/queue-name": queue}
    admitted.client.patch(f"/api/v1/namespaces/{admitted.namespace}", {"metadata": {"annotations": marks}})


def test_groups_follow_their_namespace_unless_they_choose(admitted: Admitted) -> None:
    tied, own = admitted.queue(), admitted.queue()
    tie(admitted, tied)

    stored = [
        admitted.group("a")["spec"]["queue"],
        admitted.group("b", queue=own)["spec"]["queue"],
        admitted.group("c", queue="default")["spec"]["queue"],
    ]

    assert stored == [tied, own, tied]


def test_group_for_a_queue_that_is_missing_or_shut_is_refused(admitted: Admitted) -> None:
    closed = admitted.queue("Closed")

    told = []
    for queue in ("nowhere", closed):
        with pytest.raises(ApiError) as error:
            admitted.group(queue=queue)
        told.append(denial(VALIDATE, error.value))

    assert told == [
        'unable to find queue: queue.scheduling.volcano.sh "nowhere" not found',
        f"can only submit PodGroup to queue with state `Open`, queue `{closed}` status is `Closed`.",
    ]


def test_topology_names_its_tier_in_one_way(admitted: Admitted) -> None:
    policy = {"name": "sub", "networkTopology": BOTH, "subGroupSize": 1}

    with pytest.raises(ApiError) as error:
        admitted.group(queue=admitted.queue(), networkTopology=BOTH, subGroupPolicy=[policy])

    assert denial(VALIDATE, error.value) == f"{TIERS} in subGroupPolicy 'sub': {TIERS}"


def test_group_may_be_changed_while_its_queue_is_shut(admitted: Admitted) -> None:
    queue = admitted.queue()
    admitted.group(queue=queue)
    admitted.client.patch(
        f"/apis/scheduling.volcano.sh/v1beta1/queues/{queue}/status", {"status": {"state": "Closed"}}
    )

    assert admitted.client.patch(f"{admitted.groups}/g", {"spec": {"minMember": 2}})["spec"]["minMember"] == 2


def test_o_067_closed_queue_takes_no_job_and_no_group(admitted: Admitted) -> None:
    queue = admitted.queue()
    admitted.job(queue, name="before")
    admitted.client.patch(
        f"/apis/scheduling.volcano.sh/v1beta1/queues/{queue}/status", {"status": {"state": "Closed"}}
    )

    with pytest.raises(ApiError) as job:
        admitted.job(queue, name="after")
    with pytest.raises(ApiError) as group:
        admitted.group(queue=queue)

    assert "queue with state `Open`" in denial("validatejob.volcano.sh", job.value)
    assert "queue with state `Open`" in denial(VALIDATE, group.value)
