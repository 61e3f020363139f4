"""Evictions in flight: the pod counts as Releasing until the watch, the binder or time says otherwise."""

from __future__ import annotations

from tests.builders import gang, node, pod
from vcray.api.meta import JsonObject
from vcray.cache.canonical import canonical
from vcray.cache.cluster import ClusterCache
from vcray.cache.store import Event
from vcray.core.decisions import Evict
from vcray.core.tables import Status

NAME, UID = "default/g-worker-0", "uid-pod-default-g-worker-0"


def running() -> ClusterCache:
    cache = ClusterCache()
    group, *_ = gang("g", 1, cpu=1)
    for item in (node("n1", version=1), group, pod("g-worker-0", group="g", cpu=1, node="n1")):
        cache.apply([Event("ADDED", str(item["kind"]), item)])
    return cache


def evict(cache: ClusterCache, now: float = 0.0, uid: str = UID) -> None:
    cache.merge.assume_gone([Evict(NAME, uid, "default/g", "preempt")], now)


def status(cache: ClusterCache) -> Status:
    tasks = cache.snapshot().tasks
    return Status(int(tasks.status[tasks.names.index(NAME)]))


def releasing(cache: ClusterCache) -> int:
    snapshot = cache.snapshot()
    return int(snapshot.nodes.releasing[snapshot.space.rows["cpu"], 0])


def told(cache: ClusterCache, **more: object) -> None:
    item: JsonObject = pod("g-worker-0", group="g", cpu=1, node="n1", **more)  # type: ignore[arg-type]
    cache.apply([Event("MODIFIED", "Pod", item)])


def test_an_eviction_frees_its_room_at_once() -> None:
    cache = running()

    evict(cache)

    assert status(cache) is Status.RELEASING
    assert releasing(cache) == 1000


def test_a_condition_that_arrives_before_the_deletion_does_not_bring_the_pod_back() -> None:
    cache = running()
    evict(cache)

    told(cache, annotations={"note": "new"})

    assert status(cache) is Status.RELEASING


def test_a_refused_eviction_is_forgotten() -> None:
    cache = running()
    before = canonical(cache.snapshot())
    evict(cache)

    cache.merge.forget([UID])

    assert canonical(cache.snapshot()) == before


def test_an_eviction_that_nothing_confirms_expires() -> None:
    cache = running()
    evict(cache, now=100.0)

    assert cache.merge.expire(129.0) == ()
    assert cache.merge.expire(130.0) == (UID,)
    assert status(cache) is Status.RUNNING


def test_a_pod_made_again_under_the_name_is_not_leaving() -> None:
    cache = running()
    evict(cache)
    again = pod("g-worker-0", group="g", cpu=1, node="n1")
    again["metadata"]["uid"] = "another"  # type: ignore[index, call-overload]

    cache.apply([Event("MODIFIED", "Pod", again)])

    assert status(cache) is Status.RUNNING


def test_the_watch_has_the_last_word() -> None:
    cache = running()
    evict(cache)
    ended = pod("g-worker-0", group="g", cpu=1, node="n1")
    ended["status"]["phase"] = "Succeeded"  # type: ignore[index, call-overload]

    cache.apply([Event("MODIFIED", "Pod", ended)])

    assert status(cache) is Status.SUCCEEDED
    assert cache.merge.expire(1e9) == ()


def test_an_eviction_of_another_pod_of_that_name_is_passed_over() -> None:
    cache = running()

    evict(cache, uid="older")

    assert status(cache) is Status.RUNNING


def test_sums_made_anew_agree_while_an_eviction_is_in_flight() -> None:
    cache = running()
    evict(cache)
    before = canonical(cache.snapshot())

    cache.merge.rebuild()
    cache.merge.compact()

    assert canonical(cache.snapshot()) == before
