"""Evictions that no policy has answered yet.

A pod that fails can be seen until its policy has acted; one that was deleted leaves nothing to see. A sync that comes
before its request would make the pod again, count it as waiting and show a job that goes Running, Pending, Restarting.
So each eviction is kept until its request was carried out, and a sync looks here first.

In memory alone: a restart of the process loses it together with the queue of requests.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from vcray.controllers.job.request import JobRequest


@dataclass(slots=True)
class Evictions:
    """PodEvicted requests by job, in the order in which they were seen."""

    jobs: dict[str, dict[JobRequest, None]] = field(default_factory=dict)

    def note(self, request: JobRequest) -> None:
        """A pod was deleted by somebody else."""
        self.jobs.setdefault(request.key, {})[request] = None

    def of(self, key: str) -> Iterable[JobRequest]:
        """Those of a job that wait for their answer."""
        return tuple(self.jobs.get(key, ()))

    def waits(self, request: JobRequest) -> bool:
        """Whether this eviction has had no answer so far."""
        return request in self.jobs.get(request.key, ())

    def answered(self, request: JobRequest) -> None:
        """It has been acted on, or nothing is to be done about it."""
        waiting = self.jobs.get(request.key, {})
        waiting.pop(request, None)
        if not waiting:
            self.jobs.pop(request.key, None)

    def forget(self, key: str, uid: str) -> None:
        """The job object of this uid is gone."""
        for request in self.of(key):
            if request.uid == uid:
                self.answered(request)
