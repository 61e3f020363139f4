"""Admission on our side of the wire knows an owner as soon as anybody does who may make its pods."""

from __future__ import annotations

import msgspec

from tests.integrations.objects import ray_cluster, ray_pod
from vcray.api.meta import JsonObject
from vcray.api.resources import PODS, RAYCLUSTERS
from vcray.cluster.objects.store import Store
from vcray.cluster.server.inprocess import InProcessTransport
from vcray.controllers import raw
from vcray.sim.admitting import Admitting
from vcray.sim.observer import Observers
from vcray.sim.requestpath import target_of
from vcray.sim.traffic import Traffic


def cluster(version: int, uid: str) -> JsonObject:
    made = ray_cluster()
    raw.table(made, "metadata").update({"resourceVersion": str(version), "uid": uid})
    return made


def scheduler_of_a_pod(traffic: Traffic, owner: JsonObject) -> str:
    body = msgspec.json.encode(ray_pod(owner, scheduler=""))
    admitted = Admitting(traffic)(target_of(f"{PODS.path('ns')}"), body)  # type: ignore[arg-type]
    return raw.text(msgspec.json.decode(admitted or b"{}"), "spec", "schedulerName")


def test_owner_that_only_an_operator_has_heard_of_is_found_in_its_newest_version() -> None:
    traffic = Traffic(Observers(InProcessTransport(Store())), lambda: 0.0)
    first, second = cluster(7, "a"), cluster(9, "b")

    unknown = scheduler_of_a_pod(traffic, first)
    traffic.hear(RAYCLUSTERS.path(), first)
    known = scheduler_of_a_pod(traffic, first)
    traffic.hear(RAYCLUSTERS.path(), second)
    traffic.hear(RAYCLUSTERS.path(), cluster(8, "a"), gone=True)
    again = scheduler_of_a_pod(traffic, second)
    traffic.hear(RAYCLUSTERS.path(), cluster(10, "b"), gone=True)

    assert (unknown, known, again) == ("", "volcano", "volcano")
    assert scheduler_of_a_pod(traffic, second) == ""
