"""What a round shows: series begin and end with jobs and queues, and amounts are in Volcano's units."""

from __future__ import annotations

import sys

import pytest

from tests.builders import node, pod, podgroup, queue
from vcray.actors.gauges import RoundGauges
from vcray.actors.policies import policy_from
from vcray.cache.cluster import ClusterCache
from vcray.cache.store import Event
from vcray.core.meter import UNLIMITED, Meter, QueueFigures
from vcray.core.session import decide
from vcray.metrics import Metrics
from vcray.registry import discover

CONF = """\
actions: "allocate, backfill"
tiers:
- plugins:
  - name: gang
  - name: drf
  - name: predicates
  - name: proportion
"""


class Rounds:
    """Objects in, a round, metrics out."""

    def __init__(self) -> None:
        self.cache = ClusterCache()
        self.metrics = Metrics()
        self.gauges = RoundGauges(self.metrics)
        self.policy = policy_from(CONF, discover())

    def see(self, *objects, kind="ADDED"):
        self.cache.apply(Event(kind, item["kind"], item) for item in objects)

    def run(self, now=2e9):
        snapshot = self.cache.snapshot(now)
        meter = Meter(iter(range(1000)).__next__)
        decisions = decide(snapshot, self.policy, meter=meter)
        self.gauges.show(snapshot, meter)
        return decisions

    def value(self, name, **labels):
        return self.metrics.registry.get_sample_value(f"volcano_{name}", labels)


@pytest.fixture
def rounds():
    found = Rounds()
    found.see(node("n1", cpu="4"), queue("default"))
    return found


def figures(**amounts):
    base = dict.fromkeys(
        ("deserved", "capacity", "real_capacity", "share", "weight", "overused"), None
    ) | dict.fromkeys(("allocated", "request", "inqueue"), ())
    return QueueFigures(queue="q", **(base | amounts))


def test_a_job_below_its_minimum_shows_how_many_pods_it_lacks_and_counts_its_rounds(rounds):
    big = podgroup("big", 3)
    rounds.see(big, *(pod(f"big-{i}", cpu="2", group="big") for i in range(3)))

    rounds.run()
    rounds.run()

    assert rounds.value("unschedule_task_count", job_id="big") == 1
    assert rounds.value("unschedule_job_count") == 1
    assert rounds.value("job_retry_counts", job_id="big") == 2


def test_a_ready_job_shows_zero_and_its_times(rounds):
    rounds.see(podgroup("j", 1), pod("j-0", cpu="1", group="j"))

    rounds.run(now=2e9)

    labels = {"job_name": "j", "queue": "default", "job_namespace": "default"}
    assert rounds.value("unschedule_task_count", job_id="j") == 0
    assert rounds.value("unschedule_job_count") == 0
    assert rounds.value("e2e_job_scheduling_last_time", **labels) == 2e9
    start = rounds.value("e2e_job_scheduling_start_time", **labels)
    assert rounds.value("e2e_job_scheduling_duration", **labels) == (2e9 - start) * 1000
    assert rounds.value("task_scheduling_latency_milliseconds_count", stage="Assumed") == 1


def test_series_of_a_job_that_is_gone_go_at_once(rounds):
    group, member = podgroup("j", 2), pod("j-0", cpu="1", group="j")
    rounds.see(group, member)
    rounds.run()

    rounds.see(group, member, kind="DELETED")
    rounds.run()

    assert 'j"' not in rounds.metrics.expose().decode()


def test_a_job_that_moves_to_another_queue_leaves_no_series_under_the_old_one(rounds):
    rounds.see(queue("a"), queue("b"), podgroup("j", 1, queue="a"), pod("j-0", cpu="1", group="j"))
    rounds.run()

    rounds.see(podgroup("j", 1, queue="b"))
    rounds.run()

    text = rounds.metrics.expose().decode()
    assert 'job_name="j",queue="a"' not in text
    assert 'job_name="j",queue="b"' in text or 'queue="b"' in text


def test_every_plugin_and_action_of_a_round_is_timed(rounds):
    rounds.run()

    for plugin in ("gang", "drf", "predicates", "proportion"):
        for moment in ("OnSessionOpen", "OnSessionClose"):
            assert (
                rounds.value("plugin_scheduling_latency_milliseconds_count", plugin=plugin, OnSession=moment)
                == 1
            )
    for action in ("allocate", "backfill"):
        assert rounds.value("action_scheduling_latency_milliseconds_count", action=action) == 1


def test_counts_of_preemption_add_up_and_victims_are_the_last_number(rounds):
    first, second = Meter(), Meter()
    first.attempts, first.victims = 3, 2
    second.attempts = 4
    second.transactions["preempt"] += 1
    snapshot = rounds.cache.snapshot(0.0)

    for meter in (first, second):
        rounds.gauges.show(snapshot, meter)

    assert rounds.value("total_preemption_attempts") == 7
    assert rounds.value("pod_preemption_victims") == 2
    assert rounds.value("eviction_transactions_total", action="preempt") == 1


def test_a_resource_that_a_queue_once_named_stays_at_zero_in_every_family_until_the_queue_is_gone(rounds):
    gpu = ("nvidia.com/gpu", 2000)
    rounds.gauges._queues.show((figures(allocated=(gpu,), deserved=()),))

    rounds.gauges._queues.show((figures(deserved=()),))

    scalar = {"queue_name": "q", "resource": "nvidia.com/gpu"}
    assert rounds.value("queue_allocated_scalar_resources", **scalar) == 0
    assert rounds.value("queue_deserved_scalar_resources", **scalar) == 0
    assert rounds.value("queue_capacity_scalar_resources", **scalar) is None
    rounds.gauges._queues.show(())
    assert rounds.value("queue_allocated_scalar_resources", **scalar) is None


def test_amounts_are_in_volcanos_units(rounds):
    amounts = (("cpu", 1500), ("ephemeral-storage", 7), ("memory", 1024), ("pods", 3), ("x/y", 2000))
    rounds.gauges._queues.show((figures(allocated=amounts, capacity=(("cpu", UNLIMITED),)),))

    assert rounds.value("queue_allocated_milli_cpu", queue_name="q") == 1500
    assert rounds.value("queue_allocated_memory_bytes", queue_name="q") == 1024
    for resource, wanted in (("ephemeral-storage", 7000), ("pods", 3), ("x/y", 2000)):
        assert rounds.value("queue_allocated_scalar_resources", queue_name="q", resource=resource) == wanted
    assert rounds.value("queue_capacity_milli_cpu", queue_name="q") == sys.float_info.max


def test_without_a_meter_a_decision_is_the_same(rounds):
    rounds.see(podgroup("j", 1), pod("j-0", cpu="1", group="j"))
    snapshot = rounds.cache.snapshot(5.0)

    assert decide(snapshot, rounds.policy) == decide(snapshot, rounds.policy, meter=Meter(lambda: 1.0))


def test_4096_jobs_that_cannot_run_and_go_leave_no_series(rounds):
    """volcano-sh/volcano#4705 with its own number."""
    objects = [
        item
        for index in range(4096)
        for item in (podgroup(f"lost-{index}"), pod(f"lost-{index}-0", cpu=9, group=f"lost-{index}"))
    ]
    rounds.see(*objects)
    rounds.run()
    assert rounds.value("unschedule_job_count") == 4096
    assert rounds.value("unschedule_task_count", job_id="lost-4095") == 1

    rounds.see(*objects, kind="DELETED")
    for _ in range(5):
        rounds.run()

    assert "lost-" not in rounds.metrics.expose().decode()
    assert rounds.value("unschedule_job_count") == 0


def test_a_round_that_repeats_the_one_before_leaves_all_as_it_is(rounds):
    rounds.see(podgroup("g", 2), pod("p", cpu=8, group="g"))
    rounds.run()
    before = rounds.value("unschedule_job_count"), rounds.value("job_retry_counts", job_id="g")
    meter = Meter(iter(range(1000)).__next__)
    meter.repeats = True
    rounds.gauges.show(rounds.cache.snapshot(2e9), meter)

    assert before == (1, 1)
    assert (
        rounds.value("unschedule_job_count"),
        rounds.value("job_retry_counts", job_id="g"),
    ) == before
