"""What the controllers do when a mirror is behind, or what a pod names is not there."""

from __future__ import annotations

import contextlib

from tests.controllers.world import World, a_job
from vcray.api.meta import JsonObject
from vcray.api.resources import JOBS, PODGROUPS, PODS
from vcray.controllers.base import Emit, Outcome, Read
from vcray.controllers.job.sync import sync_job
from vcray.controllers.job.turn import Turn
from vcray.controllers.job.view import view_job
from vcray.controllers.podgroup import PodGroupController


def test_nothing_is_made_for_a_job_that_the_server_no_longer_has() -> None:
    stored = a_job()
    metadata = stored["metadata"]
    assert isinstance(metadata, dict)
    metadata["uid"] = "u1"
    job = view_job(stored)
    assert job is not None
    effects = sync_job(Turn(job, World([]), 0.0), lambda job, status: status)

    asked = next(effects)
    rest = _answered(effects, Outcome(False, None, 404, "NotFound", "not found"))

    assert isinstance(asked, Read)
    assert asked.resource == JOBS
    assert rest == []


def _answered(effects: object, answer: Outcome) -> list[object]:
    """The effects that follow an answer."""
    found: list[object] = []
    with contextlib.suppress(StopIteration):
        found.append(effects.send(answer))  # type: ignore[attr-defined]
    return found


def _pod(name: str, group: str, node: str = "") -> JsonObject:
    return {
        "metadata": {
            "name": name,
            "namespace": "ns",
            "annotations": {"scheduling.k8s.io/group-name": group},
        },
        "spec": {"schedulerName": "volcano", **({"nodeName": node} if node else {})},
    }


def test_pod_whose_group_does_not_come_is_told_so_once() -> None:
    w = World([PodGroupController()])
    w.put(PODS, _pod("p", "g"))
    w.settle()
    assert w.did(Emit) == []

    w.advance(3)
    w.advance(30)

    (told,) = w.did(Emit)
    assert isinstance(told, Emit)
    assert (told.type, told.reason) == ("Warning", "PodGroupNotFound")
    assert told.message == 'PodGroup "ns/g" not found; the pod waits until it exists'


def test_group_that_comes_a_little_later_than_its_pods_is_not_missed() -> None:
    w = World([PodGroupController()])
    w.put(PODS, _pod("p", "g"))
    w.put(PODS, _pod("runs", "gone", node="n1"))
    w.settle()
    w.put(PODGROUPS, {"metadata": {"name": "g", "namespace": "ns"}, "spec": {"minMember": 1}})

    w.advance(3)

    assert w.did(Emit) == []
