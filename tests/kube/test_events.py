"""Recorded events: one object for what repeats, in the right namespace, never in the way."""

from __future__ import annotations

from vcray.api.meta import JsonObject
from vcray.api.resources import CONFIGMAPS, EVENTS, QUEUES
from vcray.clock import ManualClock
from vcray.cluster import InProcessTransport, Store
from vcray.kube.client import KubeClient
from vcray.kube.events import NORMAL, WARNING, EventRecorder, involved_of


class Stage:
    def __init__(self) -> None:
        self.clock = ManualClock()
        self.store = Store(self.clock)
        self.client = KubeClient(InProcessTransport(self.store))
        self.recorder = EventRecorder(self.client, "vcray", self.clock)

    async def map(self, name: str = "a") -> JsonObject:
        return await self.client.create(CONFIGMAPS, "default", {"metadata": {"name": name}})

    async def events(self) -> list[JsonObject]:
        return (await self.client.list(EVENTS)).items


async def test_an_event_names_object_reason_message_and_source() -> None:
    stage = Stage()
    obj = await stage.map()

    await stage.recorder.record(involved_of(obj), WARNING, "Unschedulable", "no room")

    (event,) = await stage.events()
    metadata, about = event["metadata"], event["involvedObject"]
    assert isinstance(metadata, dict)
    assert isinstance(about, dict)
    assert str(metadata["name"]).startswith("a.")
    assert (about["kind"], about["name"], about["namespace"], about["uid"]) == (
        "ConfigMap",
        "a",
        "default",
        obj["metadata"]["uid"],  # type: ignore[index,call-overload]
    )
    assert (event["type"], event["reason"], event["message"], event["count"]) == (
        "Warning",
        "Unschedulable",
        "no room",
        1,
    )
    assert event["source"] == {"component": "vcray"}


async def test_what_repeats_is_counted_and_its_last_time_moves() -> None:
    stage = Stage()
    about = involved_of(await stage.map())
    for _ in range(3):
        await stage.recorder.record(about, NORMAL, "Seen", "again")
        stage.clock.advance(10)

    (event,) = await stage.events()
    assert event["count"] == 3
    assert event["firstTimestamp"] == "2023-11-14T22:13:20Z"
    assert event["lastTimestamp"] == "2023-11-14T22:13:40Z"


async def test_another_message_is_another_event() -> None:
    stage = Stage()
    about = involved_of(await stage.map())
    await stage.recorder.record(about, NORMAL, "Seen", "one")
    await stage.recorder.record(about, NORMAL, "Seen", "two")

    assert sorted(str(event["message"]) for event in await stage.events()) == ["one", "two"]


async def test_an_event_that_expired_meanwhile_is_written_anew() -> None:
    stage = Stage()
    about = involved_of(await stage.map())
    await stage.recorder.record(about, NORMAL, "Seen", "x")
    (event,) = await stage.events()
    await stage.client.delete(EVENTS, "default", str(event["metadata"]["name"]))  # type: ignore[index,call-overload]
    stage.clock.advance(1)

    await stage.recorder.record(about, NORMAL, "Seen", "x")

    assert [event["count"] for event in await stage.events()] == [1]


async def test_events_of_cluster_scoped_objects_go_to_the_default_namespace() -> None:
    stage = Stage()
    queue = await stage.client.create(QUEUES, None, {"metadata": {"name": "q"}})

    await stage.recorder.record(involved_of(queue), NORMAL, "Opened", "open")

    (event,) = await stage.events()
    assert event["metadata"]["namespace"] == "default"  # type: ignore[index,call-overload]


async def test_a_refused_event_stops_nobody() -> None:
    stage = Stage()
    about = involved_of(
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "nowhere"}}
    )

    await stage.recorder.record(about, NORMAL, "Seen", "x")

    assert await stage.events() == []


async def test_a_long_name_and_message_are_cut_to_what_the_server_takes() -> None:
    stage = Stage()
    about = involved_of(await stage.map("n" * 253))

    await stage.recorder.record(about, NORMAL, "Seen", "m" * 5000)

    (event,) = await stage.events()
    assert len(str(event["message"])) == 1024
    assert len(str(event["metadata"]["name"])) == 253  # type: ignore[index,call-overload]
