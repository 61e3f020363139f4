"""Completion indexes of Indexed jobs: sets of numbers, written as `0,2-4`, and the annotations that carry them."""

from __future__ import annotations

from collections.abc import Iterable

from vcray.cluster.workloads.podview import PodView

INDEX = "batch.kubernetes.io/job-completion-index"
FAILURE_COUNT = "batch.kubernetes.io/job-index-failure-count"
IGNORED_COUNT = "batch.kubernetes.io/job-index-ignored-failure-count"


def parse(text: str, completions: int) -> set[int]:
    """The indexes below `completions` of a list such as `0,2-4`; parts that are none are left out."""
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        if first.isdigit() and (not last or last.isdigit()):
            found.update(range(int(first), min(int(last or first), completions - 1) + 1))
    return {index for index in found if index < completions}


def write(indexes: Iterable[int]) -> str:
    """A set of indexes as the API writes it: three or more in a row as a range."""
    parts: list[str] = []
    ordered = sorted(indexes)
    at = 0
    while at < len(ordered):
        end = at
        while end + 1 < len(ordered) and ordered[end + 1] == ordered[end] + 1:
            end += 1
        if end - at < 2:
            parts += map(str, ordered[at : end + 1])
        else:
            parts.append(f"{ordered[at]}-{ordered[end]}")
        at = end + 1
    return ",".join(parts)


def index_of(pod: PodView) -> int | None:
    """The completion index of a pod."""
    return _number(pod, INDEX)


def failures_of(pod: PodView) -> int:
    """How many failures of its index counted before this pod."""
    return _number(pod, FAILURE_COUNT) or 0


def ignored_of(pod: PodView) -> int:
    """How many failures of its index did not count before this pod."""
    return _number(pod, IGNORED_COUNT) or 0


def _number(pod: PodView, name: str) -> int | None:
    text = (pod.metadata.annotations or {}).get(name, "")
    return int(text) if text.isdigit() else None


def pending(count: int, completions: int, taken: set[int]) -> list[int]:
    """The first `count` indexes that are neither done nor being worked on."""
    found: list[int] = []
    for index in range(completions):
        if len(found) == count:
            break
        if index not in taken:
            found.append(index)
    return found


def surplus(pods: list[PodView], completions: int) -> list[PodView]:
    """Active pods that an Indexed job has no use for: without a valid index, or one more of an index."""
    seen: set[int] = set()
    spare: list[PodView] = []
    for pod in sorted(pods, key=_age):
        index = index_of(pod)
        if index is None or index >= completions or index in seen:
            spare.append(pod)
        else:
            seen.add(index)
    return spare


def _age(pod: PodView) -> tuple[bool, float]:
    created = pod.metadata.creation_timestamp
    return not pod.ready, created.timestamp() if created else 0.0
