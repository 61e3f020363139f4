"""Finished jobs that are to go after a while: `spec.ttlSecondsAfterFinished`."""

from __future__ import annotations

from contextlib import suppress

from vcray.api.jsonview import dig, dig_objects, dig_str
from vcray.api.meta import JsonObject, seconds_of
from vcray.api.resources import KUBERNETES_JOBS
from vcray.cluster.workloads.base import Controller, Shared, key_of, split
from vcray.kube.client import Propagation
from vcray.kube.errors import Conflict, NotFound


class TtlController(Controller):
    """Deletes jobs, and in the foreground their pods, when their time is over."""

    name = "ttl-after-finished-controller"

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared, workers=1)
        self.jobs = shared.objects(KUBERNETES_JOBS)
        self.jobs.on_change(self._changed)

    def _changed(self, old: JsonObject | None, new: JsonObject | None) -> None:
        if new is not None and isinstance(dig(new, "spec", "ttlSecondsAfterFinished"), int):
            self.queue.add(key_of(new))

    async def reconcile(self, key: str) -> float | None:
        job = self.jobs.objects.get(key)
        if job is None:
            self.queue.forget(key)
            return None
        seconds, ended = dig(job, "spec", "ttlSecondsAfterFinished"), _ended(job)
        if not isinstance(seconds, int) or ended is None or dig_str(job, "metadata", "deletionTimestamp"):
            return None
        left = ended + seconds - self.time.now()
        if left > 0:
            return left
        namespace, name = split(key)
        uid = dig_str(job, "metadata", "uid")
        with suppress(NotFound, Conflict):
            await self.client.delete(
                KUBERNETES_JOBS, namespace, name, propagation=Propagation.FOREGROUND, uid=uid
            )
        return None


def _ended(job: JsonObject) -> float | None:
    for condition in dig_objects(job, "status", "conditions"):
        if condition.get("type") in ("Complete", "Failed") and condition.get("status") == "True":
            return seconds_of(condition.get("lastTransitionTime"))
    return None
