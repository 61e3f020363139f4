"""Every message crosses a process as msgpack; a frame of another version is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import get_args

import msgspec
import pytest

from tests.builders import node, pod
from vcray.actors.messages import (
    VERSION,
    Accepted,
    Changed,
    Execute,
    Executed,
    GangLimits,
    Mark,
    Measured,
    Message,
    NodeChange,
    NodeChanges,
    ObjectChange,
    ObjectChanges,
    Outcome,
    Parcel,
    PodChange,
    PodChanges,
    Reconfigure,
    Registered,
    RoomAsked,
    RoomFound,
    Round,
    RoundDone,
    ShardChanges,
    Synced,
    pack,
    unpack,
)
from vcray.api.wire import decode_node, decode_pod
from vcray.cache.delta import pack as pack_delta
from vcray.cache.shard import CacheShard
from vcray.cache.store import Event as WatchEvent
from vcray.cache.supposed import Wanted
from vcray.core.decisions import (
    Bind,
    Commit,
    Decisions,
    Event,
    Evict,
    GroupUpdate,
    QueueUpdate,
    Waiting,
)
from vcray.core.tables import Condition, GroupStatus, Phase
from vcray.core.usage import NodeLoad, UsageTable

A_POD = decode_pod(json.dumps(pod("worker-0", group="train", cpu=1, gpu=1, labels={"app": "train"})).encode())
A_NODE = decode_node(json.dumps(node("n1", gpu=8, labels={"zone": "a"})).encode())
AN_OBJECT = {"kind": "Queue", "metadata": {"name": "q"}, "spec": {"weight": 1, "capability": {"cpu": "1"}}}


def decisions() -> Decisions:
    """One of everything that a round may ask for."""
    condition = Condition(
        "Unschedulable", "True", "NotEnoughResources", "3/4 tasks", "id", "2026-01-01T00:00:00Z"
    )
    status = GroupStatus(Phase.INQUEUE, 1, 0, 0, (condition,))
    return Decisions(
        7,
        commits=(Commit("ns/train", (Bind("ns/worker-0", "u0", "n1"),), whole=True),),
        evictions=(Evict("ns/old", "u9", "ns/other", "preempted"),),
        pipelined=(("ns/worker-1", "n2"),),
        groups=(GroupUpdate("ns/train", "ug", "41", status),),
        waiting=(Waiting("ns/train", (("ns/worker-1", "u1"),), "Unschedulable", "0/1 nodes", "n2"),),
        events=(Event("PodGroup", "ns/train", "ug", "Warning", "Unschedulable", "waits"),),
        queues=(QueueUpdate("default", "12", (("cpu", 1000),)),),
    )


def changed() -> Changed:
    delta = CacheShard(0, ("volcano",)).apply(
        [WatchEvent("ADDED", "Node", A_NODE), WatchEvent("ADDED", "Pod", A_POD)]
    )
    return Changed(Parcel(delta))


SAMPLES: dict[type, Message] = {
    type(sample): sample
    for sample in (
        PodChanges((PodChange("ADDED", A_POD),)),
        NodeChanges((NodeChange("MODIFIED", A_NODE),)),
        ObjectChanges("queues.scheduling.volcano.sh", (ObjectChange("DELETED", AN_OBJECT),)),
        ShardChanges(
            (PodChange("ADDED", A_POD),),
            (NodeChange("DELETED", A_NODE),),
            (ObjectChange("ADDED", AN_OBJECT),),
        ),
        Synced("pods", 3),
        Mark("after the last bind", 1),
        changed(),
        Round(),
        RoundDone(7, decisions()),
        Execute(decisions(), (GangLimits("ns/train", 4, {"worker": 3}),)),
        Executed(7, (Outcome("ns/train", "ns/worker-0", "u0", "refused", "the node is gone"),)),
        Reconfigure('actions: "enqueue, allocate"'),
        Accepted(False, ("VC0105 actions: unknown action",)),
        Registered(True),
        RoomAsked((Wanted(A_POD, 8, 2, "ray.io/unit"),)),
        RoomFound((3, None)),
        Measured(UsageTable((NodeLoad("n1", 40.5, 20.0, 1.7e9),), 30.0, 1.7e9)),
    )
}


@pytest.mark.parametrize("kind", get_args(Message), ids=lambda kind: kind.__name__)
def test_every_message_crosses_a_process_unchanged(kind: type) -> None:
    assert kind in SAMPLES, f"no sample of {kind.__name__}: add one"
    sent = SAMPLES[kind]

    received = unpack(pack(sent))

    assert type(received) is kind
    assert pack(received) == pack(sent)
    if isinstance(sent, Changed) and isinstance(received, Changed):
        assert pack_delta(received.parcel.delta) == pack_delta(sent.parcel.delta)
        assert received.parcel.delta.keys == ("default/worker-0",)
    else:
        assert received == sent


@pytest.mark.parametrize("version", [0, VERSION + 1])
def test_another_version_is_refused_with_both_numbers(version: int) -> None:
    frame = msgspec.msgpack.encode((version, {"type": "Round"}))

    with pytest.raises(ValueError, match=f"version {version}, this process speaks {VERSION}"):
        unpack(frame)


@pytest.mark.parametrize(
    "frame",
    [b"", b"\xc1", msgspec.msgpack.encode("Round"), msgspec.msgpack.encode((VERSION, {"type": "Nonsense"}))],
    ids=["empty", "no msgpack", "no frame", "no such message"],
)
def test_a_malformed_frame_is_a_value_error(frame: bytes) -> None:
    with pytest.raises(ValueError, match="malformed message"):
        unpack(frame)


def test_messages_cannot_be_altered_on_the_way() -> None:
    for sample in SAMPLES.values():
        field = next(iter(type(sample).__struct_fields__), None)
        if field is not None:
            with pytest.raises(AttributeError):
                setattr(sample, field, None)


def test_the_order_of_decisions_survives() -> None:
    many = replace(decisions(), commits=tuple(Commit(f"ns/j{n}", (), False) for n in (2, 0, 1)))

    received = unpack(pack(RoundDone(1, many)))

    assert isinstance(received, RoundDone)
    assert [commit.job for commit in received.decisions.commits] == ["ns/j2", "ns/j0", "ns/j1"]
