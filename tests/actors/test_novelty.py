"""What was said is not said again; what acts always passes."""

from __future__ import annotations

from dataclasses import replace

from vcray.actors.novelty import REWORDINGS_AT_ONCE, Novelty
from vcray.core.decisions import Bind, Commit, Decisions, Event, GroupUpdate, QueueUpdate, Waiting
from vcray.core.tables import GroupStatus, Phase


def _statements(message: str, version: str = "1") -> Decisions:
    status = GroupStatus(Phase.PENDING, 0, 0, 0, ())
    return Decisions(
        generation=1,
        groups=(GroupUpdate("default/g", "uid-g", version, status),),
        waiting=(Waiting("default/g", (("default/p", "uid-p"),), "Unschedulable", message),),
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
    said = Decisions(1, commits=(commit,), waiting=_statements("no room").waiting)
    novelty.keep(said)

    novelty.forget(["uid-p"])

    assert novelty.keep(said) == said


def test_a_complaint_is_told_once_it_has_lasted() -> None:
    novelty = Novelty(patience_s=1.0)

    young = novelty.keep(_statements("no room"), now=10.0)
    assert young.conditions == young.events == ()
    assert len(young.groups) == len(young.queues) == 1
    assert novelty.due == 11.0

    told = novelty.keep(_statements("less room"), now=11.0)
    assert len(told.conditions) == len(told.events) == 1
    assert novelty.due is None


def test_of_a_job_only_the_pods_with_something_new_are_told() -> None:
    novelty = Novelty()
    both = (("default/p", "uid-p"), ("default/r", "uid-r"))
    novelty.keep(Decisions(1, waiting=(Waiting("default/g", both[:1], "Unschedulable", "no room"),)))

    kept = novelty.keep(Decisions(2, waiting=(Waiting("default/g", both, "Unschedulable", "no room"),)))

    assert kept.waiting == (Waiting("default/g", both[1:], "Unschedulable", "no room"),)


def test_a_pod_that_waited_before_and_waits_again_says_so_again() -> None:
    novelty = Novelty()
    said = _statements("no room")
    novelty.keep(said)
    novelty.keep(Decisions(2))

    assert novelty.keep(said).waiting == said.waiting


def test_a_complaint_that_passes_is_never_told() -> None:
    novelty = Novelty(patience_s=1.0)
    novelty.keep(_statements("no room"), now=10.0)
    novelty.keep(Decisions(1), now=10.5)

    again = novelty.keep(_statements("no room"), now=11.0)

    assert again.conditions == again.events == ()
    assert novelty.due == 12.0


def test_a_round_that_says_the_same_by_the_same_tuples_is_passed_over_once_all_is_told() -> None:
    novelty = Novelty(patience_s=1.0)
    said = _statements("no room")

    assert novelty.keep(said, now=10.0).waiting == ()
    assert novelty.keep(replace(said, generation=2), now=11.0).waiting == said.waiting
    kept = novelty.keep(replace(said, generation=3), now=11.5)
    assert kept.waiting == kept.events == ()
    assert novelty.due is None

    novelty.forget([said.waiting[0].pods[0][1]])
    assert novelty.keep(replace(said, generation=4), now=12.0).waiting == said.waiting


def test_other_events_do_not_wait() -> None:
    novelty = Novelty(patience_s=1.0)
    evicted = (Event("PodGroup", "a/g", "u", "Normal", "Evict", "why"),)

    assert novelty.keep(Decisions(1, events=evicted), now=0.0).events == evicted


def test_a_node_that_an_eviction_made_room_on_is_told_at_once() -> None:
    """Only the round that evicts tells it: held back until the pod has waited a second, it would never be written."""
    novelty = Novelty(patience_s=1.0)
    pods = (("default/p", "uid-p"),)
    promised = Waiting("default/g", pods, "Unschedulable", "once resource is released", "n1")
    later = Waiting("default/g", pods, "Unschedulable", "once resource is released")

    assert novelty.keep(Decisions(1, waiting=(promised,)), now=0.0).waiting == (promised,)
    assert novelty.keep(Decisions(2, waiting=(later,)), now=0.1).waiting == ()
    assert novelty.keep(Decisions(3, waiting=(later,)), now=2.0).waiting == (later,)


def test_two_events_of_one_reason_on_one_object_are_told_once_each() -> None:
    novelty = Novelty()
    two = tuple(Event("Queue", "root", "u", "Warning", "PluginFailed", f"plugin {name}") for name in "ab")

    assert novelty.keep(Decisions(1, events=two)).events == two
    assert novelty.keep(Decisions(2, events=(*two,))).events == ()
    assert novelty.keep(Decisions(3, events=two[:1])).events == ()
    assert novelty.keep(Decisions(4, events=(*two,))).events == two[1:]


def test_what_the_server_did_not_take_is_said_again_and_ever_more_rarely() -> None:
    novelty = Novelty()
    said = _statements("no room")
    novelty.keep(said)
    lost = [
        ("group", said.groups[0].uid),
        ("queue", said.queues[0].queue),
        ("pod", said.waiting[0].pods[0][1]),
        ("event", said.events[0].name),
    ]

    assert novelty.unsay(lost, now=10.0) == 11.0
    assert novelty.keep(replace(said, generation=2)) == replace(said, generation=2)
    assert novelty.unsay(lost[:1], now=10.0) == 12.0
    assert novelty.keep(replace(said, generation=3)) == Decisions(3, groups=said.groups)
    assert novelty.unsay((), now=10.0) is None
    assert novelty.unsay(lost, now=10.0) == 11.0


def test_other_words_for_the_same_wait_go_out_at_a_bounded_rate_the_longest_silent_first() -> None:
    novelty = Novelty()
    jobs = [f"default/g{number}" for number in range(2 * REWORDINGS_AT_ONCE)]

    def said(words: str) -> Decisions:
        pods = ((f"{job}-p", f"uid-{job}") for job in jobs)
        waits = (Waiting(job, (pod,), "Unschedulable", words) for job, pod in zip(jobs, pods, strict=True))
        return Decisions(1, waiting=tuple(waits))

    assert len(novelty.keep(said("0/1 nodes"), now=100.0).waiting) == len(jobs)
    assert novelty.due is None

    first = novelty.keep(said("0/2 nodes"), now=200.0)
    assert [each.job for each in first.waiting] == jobs[:REWORDINGS_AT_ONCE]
    assert novelty.due == 212.0
    assert novelty.keep(said("0/3 nodes"), now=200.0).waiting == ()

    second = novelty.keep(said("0/3 nodes"), now=212.0)
    assert [each.job for each in second.waiting] == jobs[REWORDINGS_AT_ONCE:]
    assert novelty.keep(said("0/3 nodes"), now=224.0).waiting != ()
    assert novelty.due is None


def test_another_reason_is_told_however_many_words_were_changed() -> None:
    novelty = Novelty()
    pods = tuple((f"default/p{number}", f"u{number}") for number in range(3 * REWORDINGS_AT_ONCE))

    def said(reason: str, words: str, nominated: str = "") -> Decisions:
        return Decisions(1, waiting=(Waiting("default/g", pods, reason, words, nominated),))

    novelty.keep(said("Unschedulable", "0/1 nodes"), now=1.0)
    novelty.keep(said("Unschedulable", "0/2 nodes"), now=2.0)

    assert len(novelty.keep(said("SchedulingGated", "a gate"), now=2.0).waiting[0].pods) == len(pods)
    assert len(novelty.keep(said("SchedulingGated", "a gate", "n1"), now=2.0).waiting[0].pods) == len(pods)
