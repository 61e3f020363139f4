"""What was said is not said again; what acts always passes."""

from __future__ import annotations

from vcray.actors.novelty import Novelty
from vcray.core.decisions import Bind, Commit, Decisions, Event, GroupUpdate, PodCondition, QueueUpdate
from vcray.core.tables import GroupStatus, Phase


def _statements(message: str, version: str = "1") -> Decisions:
    status = GroupStatus(Phase.PENDING, 0, 0, 0, ())
    return Decisions(
        generation=1,
        groups=(GroupUpdate("default/g", "uid-g", version, status),),
        conditions=(PodCondition("default/p", "uid-p", "Unschedulable", message),),
        events=(Event("PodGroup", "default/g", "uid-g", "Warning", "Unschedulable", message),),
        queues=(QueueUpdate("q", "1", (("cpu", 1000),)),),
    )


def test_the_same_statements_go_out_once() -> None:
    novelty = Novelty()

    assert novelty.keep(_statements("no room")) == _statements("no room")
    assert novelty.keep(_statements("no room")) == Decisions(1)


def test_a_new_text_or_a_new_version_goes_out() -> None:
    novelty = Novelty()
    novelty.keep(_statements("no room"))

    kept = novelty.keep(_statements("less room", version="2"))

    assert len(kept.groups) == len(kept.conditions) == len(kept.events) == 1
    assert kept.queues == ()


def test_two_kinds_of_event_with_one_reason_do_not_silence_each_other() -> None:
    novelty = Novelty()
    events = tuple(
        Event("PodGroup", "a/g", "u", kind, "Unschedulable", kind) for kind in ("Normal", "Warning")
    )

    novelty.keep(Decisions(1, events=events))

    assert novelty.keep(Decisions(2, events=events)).events == ()


def test_commits_always_pass_and_a_forgotten_pod_may_be_spoken_of_again() -> None:
    novelty = Novelty()
    commit = Commit("default/g", (Bind("default/p", "uid-p", "n1"),), whole=True)
    said = Decisions(1, commits=(commit,), conditions=_statements("no room").conditions)
    novelty.keep(said)

    novelty.forget(["uid-p"])

    assert novelty.keep(said) == said
