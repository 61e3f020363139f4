"""Clusters that grow by themselves at the admission actor: it asks the scheduler, and lets pass what nobody answers."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from tests.actors.admission_host import admission_host, patch_of
from tests.builders import node, pod, podgroup, queue
from tests.integrations.objects import ray_cluster
from vcray.actors import admission
from vcray.actors.admission import AdmissionOptions
from vcray.actors.admission_registration import MUTATING
from vcray.actors.deployment import COORDINATOR
from vcray.actors.messages import RoomAsked, RoomFound, pack, unpack
from vcray.actors.room_asking import Gathered, asks_room
from vcray.actors.runtime import Handle
from vcray.api.meta import JsonObject
from vcray.api.resources import NODES, PODGROUPS, PODS, QUEUES
from vcray.api.wire import to_pod
from vcray.app import ControlPlane
from vcray.cache.supposed import Wanted
from vcray.cluster.objects.store import Store
from vcray.cluster.server.inprocess import InProcessTransport
from vcray.config.settings import Settings
from vcray.integrations.known import built_in
from vcray.kube.client import KubeClient

PATH = "/integrations/rayclusters"
OPTIONS = AdmissionOptions.of(Settings(), built_in())


def cluster(workers: int) -> JsonObject:
    return ray_cluster(workers=workers, enableInTreeAutoscaling=True)


async def answer_of(ask_room: admission.AskRoom | None) -> JsonObject:
    async with admission_host(OPTIONS, ask_room=ask_room) as host:
        return await host.review(PATH, "UPDATE", cluster(8), oldObject=cluster(1), namespace="ns")


async def test_update_is_cut_to_what_the_scheduler_says_and_carries_a_warning() -> None:
    asked: list[Sequence[Wanted]] = []

    async def ask(wanted: Sequence[Wanted]) -> Sequence[int | None]:
        asked.append(wanted)
        return (3,)

    response = await answer_of(ask)

    assert patch_of(response) == [{"op": "replace", "path": "/spec/workerGroupSpecs/0/replicas", "value": 3}]
    assert response["warnings"] == [
        "spec.workerGroupSpecs[0].replicas: 3 of 8 have room now in the queue of PodGroup ray-r-pg; it is 3 until the autoscaler asks again"
    ]
    assert [[each.count for each in wanted] for wanted in asked] == [[8]]


async def never(wanted: Sequence[Wanted]) -> Sequence[int | None]:
    await asyncio.Event().wait()
    raise AssertionError


async def fails(wanted: Sequence[Wanted]) -> Sequence[int | None]:
    raise RuntimeError("no")


async def stops(wanted: Sequence[Wanted]) -> Sequence[int | None]:
    raise asyncio.CancelledError


async def does_not_know(wanted: Sequence[Wanted]) -> Sequence[int | None]:
    return ()


@pytest.mark.parametrize("ask", [None, never, fails, stops, does_not_know])
async def test_update_that_nobody_can_judge_passes_as_it_is(
    ask: admission.AskRoom | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admission, "ROOM_S", 0.01)

    assert await answer_of(ask) == {"uid": "u-1", "allowed": True}


def test_scheduler_has_less_time_to_answer_than_the_webhook() -> None:
    (service,) = (each for each in OPTIONS.services if each.path == PATH)

    assert service.timeout_s / 2 >= admission.ROOM_S


async def test_webhook_is_registered_and_taken_back_with_the_others() -> None:
    async with admission_host(OPTIONS) as host:
        await host.synced()
        made = await host.configuration(PATH, MUTATING)

    assert made is not None
    assert await host.configuration(PATH, MUTATING) is None


# -- the scheduler ----------------------------------------------------------------------------------------------------


def worker(count: int) -> Wanted:
    return Wanted(to_pod(pod("w", group="g", role="w", cpu=1)), count)


def test_question_and_answer_cross_processes() -> None:
    for message in (RoomAsked((worker(3),)), RoomFound((2, None))):
        assert unpack(pack(message)) == message


@pytest.mark.parametrize("frames", [False, True])
async def test_coordinator_answers_once_it_knows_the_cluster_and_while_it_runs(frames: bool) -> None:
    transport = InProcessTransport(Store())
    client = KubeClient(transport)
    for resource, obj in (
        (QUEUES, queue("default")),
        (NODES, node("n1", cpu=4)),
        (PODGROUPS, podgroup("g", 1, phase="Running")),
        (PODS, pod("first", group="g", role="w", cpu=1, node="n1")),
    ):
        await client.create(resource, "default" if resource.namespaced else None, obj)
    plane = ControlPlane(transport, Settings(), manual=True, frames=frames)
    await plane.start()
    try:
        await plane.activity.quiet()
        known = [list(await plane.room([worker(count)])) for count in (3, 9)]
        nobody = list(await plane.room([Wanted(to_pod(pod("x", group="other", cpu=1)), 2)]))
        await plane.stop_component("scheduler")
        away = list(await plane.room([worker(3)]))
    finally:
        await plane.stop()
        await transport.close()

    assert (known, nobody, away) == ([[3], [4]], [None], [])


async def test_questions_that_come_while_one_is_thought_about_go_together() -> None:
    asked: list[list[int]] = []
    thinking, go = asyncio.Event(), asyncio.Event()

    async def ask(wanted: Sequence[Wanted]) -> Sequence[int | None]:
        counts = [each.count for each in wanted]
        asked.append(counts)
        thinking.set()
        await go.wait()
        if 7 in counts:
            raise RuntimeError("no")
        return [count + 1 for count in counts]

    gathered = Gathered(ask)
    first = asyncio.create_task(gathered([worker(1)]))
    await thinking.wait()
    later = [
        asyncio.create_task(gathered([worker(each) for each in counts])) for counts in ([2], [3, 4], [5])
    ]
    await asyncio.sleep(0)
    later[2].cancel()  # gave up
    await asyncio.sleep(0)
    go.set()

    assert list(await first) == [2]
    assert [list(await each) for each in later[:2]] == [[3], [4, 5]]
    assert asked == [[1], [2, 3, 4]]
    with pytest.raises(RuntimeError):
        await gathered([worker(7)])
    assert list(await gathered([worker(8)])) == [9]
    with pytest.raises(asyncio.CancelledError):
        await Gathered(stops)([worker(1)])


async def test_without_a_scheduler_there_is_nobody_to_ask() -> None:
    def reach(part: str) -> Handle:
        raise KeyError(part)

    assert list(await asks_room(reach)([worker(1)])) == []


async def test_admission_of_one_process_finds_the_scheduler_beside_it() -> None:
    transport = InProcessTransport(Store())
    plane = ControlPlane(transport, Settings(), manual=True)
    await plane.start()
    try:
        own = plane._halves["controllers"]
        assert plane._half_of(COORDINATOR, own) is plane._halves["scheduler"]
        assert plane._half_of("controllers", own) is own
    finally:
        await plane.stop()
        await transport.close()
