"""Series of what the controllers keep: how vcjobs and JobFlows ended, PodGroups of queues, how soon pods are made.

They follow the changes that the host's mirrors go through, so each change of phase counts once, whoever made it, and what
is found at the start counts nothing. A job's and a queue's series go with the object (api-controllers.md 2.4, 4.2, 10.2).
"""

from __future__ import annotations

from collections import Counter

from vcray.api import names
from vcray.api.jsonview import dig_objects, dig_str
from vcray.api.meta import JsonObject, seconds_of
from vcray.api.resources import JOBFLOWS, JOBS, PODGROUPS, PODS, QUEUES, Resource
from vcray.controllers.base import Change, Seen, one_object_each
from vcray.metrics import Metrics


class ControllerSeries:
    """Remembers which jobs have series, and the PodGroups of each queue by phase; without a phase they are Pending."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._jobs: set[tuple[str, str]] = set()
        self._queues: set[str] = set()
        self._groups: Counter[tuple[str, str]] = Counter()

    def follow(self, change: Change) -> None:
        """Take in one change of a mirrored object."""
        for each in one_object_each(change):
            if each.resource == JOBS:
                self._job(each)
            elif each.resource == JOBFLOWS:
                self._flow(each)
            elif each.resource == PODGROUPS:
                self._group(each.old, -1)
                self._group(each.new, 1)
            elif each.resource == QUEUES:
                self._queue(each)

    def made(self, resource: Resource, obj: JsonObject, seen: Seen) -> None:
        """A controller made this object: of a vcjob's pod, the time since the job's creation is noted."""
        if resource != PODS:
            return
        for owner in dig_objects(obj, "metadata", "ownerReferences"):
            if owner.get("controller") is True and owner.get("kind") == JOBS.kind:
                job = seen.get(JOBS, dig_str(obj, "metadata", "namespace"), dig_str(owner, "name"))
                made, since = _created(obj), None if job is None else _created(job)
                if made is not None and since is not None:
                    self._metrics.pod_creation_latency.observe(max(0.0, made - since) * 1000)

    def _job(self, change: Change) -> None:
        job = change.object
        name = f"{dig_str(job, 'metadata', 'namespace')}/{dig_str(job, 'metadata', 'name')}"
        labels = (name, dig_str(job, "spec", "queue"))
        counters = {"Completed": self._metrics.jobs_completed, "Failed": self._metrics.jobs_failed}
        if change.new is None:
            if labels in self._jobs:
                self._jobs.discard(labels)
                for counter in counters.values():
                    counter.remove(*labels)
            return
        entered = counters.get(_entered(change))
        if entered is not None:
            if labels not in self._jobs:
                self._jobs.add(labels)
                for counter in counters.values():
                    counter.labels(*labels)
            entered.labels(*labels).inc()

    def _flow(self, change: Change) -> None:
        counters = {"Succeed": self._metrics.flows_succeeded, "Failed": self._metrics.flows_failed}
        counter = counters.get(_entered(change))
        if counter is not None:
            counter.labels(dig_str(change.object, "metadata", "namespace")).inc()

    def _group(self, group: JsonObject | None, by: int) -> None:
        if group is None:
            return
        queue = dig_str(group, "spec", "queue") or names.DEFAULT_QUEUE
        phase = dig_str(group, "status", "phase") or "Pending"
        key = (queue, phase)
        self._groups[key] += by
        if not self._groups[key]:
            del self._groups[key]
        if queue in self._queues:
            self._show(queue, phase)

    def _queue(self, change: Change) -> None:
        queue = dig_str(change.object, "metadata", "name")
        if change.new is None:
            self._queues.discard(queue)
            for gauge in self._metrics.queue_groups.values():
                gauge.remove(queue)
        elif queue not in self._queues:
            self._queues.add(queue)
            for phase in self._metrics.queue_groups:
                self._show(queue, phase)

    def _show(self, queue: str, phase: str) -> None:
        gauge = self._metrics.queue_groups.get(phase)
        if gauge is not None:
            gauge.labels(queue).set(self._groups[queue, phase])


def _entered(change: Change) -> str:
    """The phase that an object of a state changed to; "" when it did not change, or was found in it."""
    if change.old is None or change.new is None:
        return ""
    old, new = (dig_str(each, "status", "state", "phase") for each in (change.old, change.new))
    return new if new != old else ""


def _created(obj: JsonObject) -> float | None:
    return seconds_of(dig_str(obj, "metadata", "creationTimestamp"))
