"""What a thousand changed pods cost, against making the snapshot anew from the columns: both in one run, processor time."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from time import process_time

import pytest

from tests.builders import node, pod, podgroup, queue
from vcray.api.wire import to_pod
from vcray.cache.canonical import canonical
from vcray.cache.merge import Merge
from vcray.cache.shard import CacheShard
from vcray.cache.store import Event

NODES, PODS, GANG, CHANGED = 10_000, 100_000, 64, 1_000


def _pod(number: int, version: int, running: bool) -> Event:
    gang = number // GANG
    item = pod(
        f"job{gang}-worker-{number % GANG}",
        group=f"job{gang}",
        cpu=1 + gang % 4,
        memory=4,
        gpu=1 if gang % 2 else None,
        node=f"node-{number % NODES:05d}" if running else None,
        role="worker",
        labels={
            "volcano.sh/job-name": f"job{gang}",
            "volcano.sh/task-index": str(number % GANG),
            "app": f"a{gang % 20}",
        },
        version=version,
    )
    return Event("MODIFIED", "Pod", to_pod(item))


def _cost(work: Callable[[], object]) -> float:
    start = process_time()
    work()
    return process_time() - start


@pytest.mark.bench
@pytest.mark.timeout(600)
def test_a_thousand_changed_pods_cost_at_most_a_fifth_of_a_rebuild() -> None:
    shard, merge = CacheShard(), Merge()
    changing = range(0, PODS, PODS // CHANGED)
    events = [
        Event(
            "ADDED", "Node", node(f"node-{number:05d}", gpu=8, labels={"zone": f"z{number % 10}"}, version=1)
        )
        for number in range(NODES)
    ]
    events += [
        Event("ADDED", "PodGroup", podgroup(f"job{gang}", GANG, version=1))
        for gang in range(PODS // GANG + 1)
    ]
    events += [Event("ADDED", "Queue", queue("default", version=1))]
    events += [_pod(number, 1, number not in changing) for number in range(PODS)]
    merge.apply(shard.apply(events))
    merge.snapshot(0.0, 0)
    deltas = []
    for turn in range(7):
        delta = shard.apply([_pod(number, turn + 2, turn % 2 == 0) for number in changing])
        assert len(delta.keys) == CHANGED

        def increment(delta: object = delta) -> None:
            merge.apply(delta)  # type: ignore[arg-type]
            merge.snapshot(0.0, 0)

        deltas.append(_cost(increment))

    def rebuild() -> None:
        merge.rebuild()
        merge.snapshot(0.0, 0)

    before = canonical(merge.snapshot(0.0, 0))
    rebuilds = [_cost(rebuild) for _ in range(5)]
    assert canonical(merge.snapshot(0.0, 0)) == before
    delta_ms, rebuild_ms = median(deltas) * 1000, median(rebuilds) * 1000
    print(f"delta {delta_ms:.1f} ms, rebuild {rebuild_ms:.1f} ms")
    assert delta_ms <= rebuild_ms / 5
