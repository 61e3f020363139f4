"""cdp: a pod that was scheduled a short while ago is not evicted again, for as long as it asks."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.builders import EPOCH, node, pod, podgroup
from tests.plugins.claims import chosen, claim_of
from tests.plugins.worlds import World
from vcray.api.meta import JsonObject
from vcray.api.names import COOLDOWN_TIME
from vcray.plugins.cdp import Cdp


def scheduled(
    name: str,
    ago: int,
    label: str | None = None,
    annotation: str | None = None,
    phase: str = "Running",
    status: str = "True",
) -> JsonObject:
    """A pod on n1 whose PodScheduled condition changed `ago` seconds before now."""
    made = pod(
        name,
        group="old",
        node="n1",
        phase=phase,
        cpu=1,
        labels={COOLDOWN_TIME: label} if label is not None else None,
        annotations={COOLDOWN_TIME: annotation} if annotation is not None else None,
    )
    moment = datetime.fromtimestamp(EPOCH - ago, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert isinstance(made["status"], dict)
    made["status"]["conditions"] = [{"type": "PodScheduled", "status": status, "lastTransitionTime": moment}]
    return made


def world_of(*pods: JsonObject, waiting: bool = True) -> World:
    new = [pod("new", group="new", cpu=1)] if waiting else []
    return World(node("n1"), podgroup("old", 0), podgroup("new", 1), *new, *pods)


def free(*pods: JsonObject) -> bool:
    """May the one old pod be taken, by preempt and reclaim alike?"""
    world = world_of(*pods)
    plugin, claim = world.plugin(Cdp), claim_of(world, "new")
    found = chosen(world, plugin.preemptable, claim, ["old"])
    assert found == chosen(world, plugin.reclaimable, claim, ["old"])
    return found == ["old"]


def test_a_pod_is_protected_until_its_time_is_over() -> None:
    assert not free(scheduled("old", 59, label="1m"))
    assert free(scheduled("old", 60, label="1m"))
    assert not free(scheduled("old", 59, annotation="60s"))


@pytest.mark.parametrize(
    ("label", "annotation", "protected"),
    [
        ("1s", "1h", False),
        ("1h", "1s", True),
        ("soon", "1h", False),
        (None, "soon", False),
        (None, None, False),
    ],
)
def test_a_label_goes_before_an_annotation_and_what_is_no_duration_protects_nothing(
    label: str | None, annotation: str | None, protected: bool
) -> None:
    assert free(scheduled("old", 30, label, annotation)) is not protected


@pytest.mark.parametrize(("phase", "status"), [("Pending", "True"), ("Running", "False")])
def test_only_a_pod_that_runs_and_was_scheduled_is_protected(phase: str, status: str) -> None:
    assert free(scheduled("old", 1, "1h", phase=phase, status=status))


def test_a_round_is_due_when_a_protection_ends_while_somebody_waits() -> None:
    pods = [scheduled("a", 30, "1m"), scheduled("b", 10, "25s"), scheduled("c", 90, "1m")]
    world = world_of(*pods)
    assert world.plugin(Cdp).wakes_at(world.view) == world.snapshot.now + 15
    idle = world_of(*pods, waiting=False)
    assert idle.plugin(Cdp).wakes_at(idle.view) is None


def test_gang_actions_pass_the_protection_over() -> None:
    assert not hasattr(Cdp, "evictable")
