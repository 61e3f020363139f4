"""The controller of Kubernetes' own Jobs: pods until there are enough successes, too many failures, or no time left."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from functools import partial

from vcray.api.jsonview import dig, dig_int, dig_list, dig_object, dig_objects, dig_str
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import KUBERNETES_JOBS, PODS
from vcray.cluster.workloads.base import Controller, Shared, key_of
from vcray.cluster.workloads.job.indexes import (
    FAILURE_COUNT,
    IGNORED_COUNT,
    INDEX,
    failures_of,
    ignored_of,
    index_of,
    pending,
    surplus,
)
from vcray.cluster.workloads.job.tracking import Tally, add_condition, settle, tally, without_tracking
from vcray.cluster.workloads.job.turn import (
    FAILURE_TARGET,
    TRACKING,
    Outcome,
    Turn,
    backoff_end,
    completed,
    finished_at,
    is_finished,
)
from vcray.cluster.workloads.podcontrol import (
    BURST,
    by_expendability,
    create_pod,
    delete_pod,
    in_batches,
    numbered_prefix,
    pod_from,
)
from vcray.cluster.workloads.podview import PodView, view_of
from vcray.cluster.workloads.selection import claim, selects
from vcray.errors import VcrayError
from vcray.kube.client import PatchType
from vcray.kube.errors import Conflict, NotFound
from vcray.kube.events import NORMAL, WARNING
from vcray.kube.workqueue import WorkQueue

_MANAGER = "kubernetes.io/job-controller"


class JobController(Controller):
    """Jobs, NonIndexed and Indexed. Pods keep a finalizer until they have been counted."""

    name = "job-controller"

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self.jobs = shared.objects(KUBERNETES_JOBS)
        self.orphans: WorkQueue[str] = WorkQueue("job-orphans", shared.time, self._free_orphan)
        self.jobs.on_change(self._job_changed)
        shared.pods.on_change(self._pod_changed)

    def queues(self) -> list[WorkQueue[str]]:
        """Jobs, and pods that lost theirs."""
        return [self.queue, self.orphans]

    def _job_changed(self, old: JsonObject | None, new: JsonObject | None) -> None:
        found = new or old
        if found is None:
            return
        self.queue.add(key_of(found))
        if new is None or is_finished(new):
            for pod in self.shared.pods.owned(dig_str(found, "metadata", "uid")):
                self._consider_orphan(pod)

    def _pod_changed(self, old: PodView | None, new: PodView | None) -> None:
        for pod in (old, new):
            owner = pod.controller if pod is not None else None
            if pod is None:
                continue
            if owner is not None and owner.kind == "Job":
                self.queue.add(f"{pod.metadata.namespace}/{owner.name}")
                self._consider_orphan(pod)
            elif owner is None and pod.labels:
                for job in self.jobs.in_namespace(pod.metadata.namespace):
                    if not is_finished(job) and selects(dig(job, "spec", "selector"))(pod.labels):
                        self.queue.add(key_of(job))

    # -- one job ----------------------------------------------------------------------------------------------

    async def reconcile(self, key: str) -> float | None:
        job = self.jobs.objects.get(key)
        if job is None:
            self.queue.forget(key)
            return None
        if is_finished(job) or dig_str(job, "spec", "managedBy") not in ("", _MANAGER):
            return None
        pods = await claim(self.shared, KUBERNETES_JOBS, job, selects(dig(job, "spec", "selector")), TRACKING)
        status = copy.deepcopy(dig_object(job, "status"))
        turn = Turn(job, pods, self.time.now())
        if not status.get("startTime") and not turn.suspended:
            status["startTime"] = self.shared.now()
            turn.job = {**job, "status": status}
        outcome = turn.outcome()
        refused: VcrayError | None = None
        if outcome is not None:
            refused = await in_batches([partial(delete_pod, self, job, pod) for pod in turn.active])
        elif not turn.is_deleting():
            refused = await self._manage(turn)
        after = Turn({**job, "status": status}, self._present(pods, job), self.time.now())
        if outcome is None and refused is None:
            outcome = self._completion(after)
            if outcome is None and not turn.is_deleting():
                await self._note_suspension(after, status)
        await self._finish(after, outcome, status)
        if refused is not None:
            raise refused
        return self._again(after) if outcome is None else None

    def _present(self, pods: Sequence[PodView], job: JsonObject) -> list[PodView]:
        """The pods as the informer has them after this turn's writes, those that were made included."""
        present = self.shared.pods.objects
        kept = [present.get(f"{pod.metadata.namespace}/{pod.metadata.name}") for pod in pods]
        known = {pod.metadata.uid for pod in kept if pod is not None}
        new = [
            pod
            for pod in self.shared.pods.owned(dig_str(job, "metadata", "uid"))
            if pod.metadata.uid not in known
        ]
        return [pod for pod in kept if pod is not None] + new

    @staticmethod
    def _completion(turn: Turn) -> Outcome | None:
        if turn.active:
            return None
        wanted = 1 if turn.completions is None else turn.completions
        return completed() if turn.succeeded >= wanted else None

    async def _note_suspension(self, turn: Turn, status: JsonObject) -> None:
        if turn.suspended:
            if add_condition(status, "Suspended", "True", "JobSuspended", "Job suspended", turn.now):
                status.pop("startTime", None)
                await self.tell(turn.job, NORMAL, "Suspended", "Job suspended")
        elif add_condition(status, "Suspended", "False", "JobResumed", "Job resumed", turn.now):
            status["startTime"] = self.shared.now()
            await self.tell(turn.job, NORMAL, "Resumed", "Job resumed")

    def _again(self, turn: Turn) -> float | None:
        deadline = turn.deadline()
        waits = [deadline] if deadline is not None else []
        if turn.per_index:
            waits += [self._index_backoff(pod) for pod in turn.last_failures().values()]
        else:
            waits.append(turn.backoff_until())
        later = [moment - turn.now for moment in waits if moment > turn.now]
        return min(later) if later else None

    # -- pods -------------------------------------------------------------------------------------------------

    async def _manage(self, turn: Turn) -> VcrayError | None:
        """Delete pods that are too many, or else make those that are too few."""
        active = turn.active
        if turn.suspended:
            return await self._drop(turn, active)
        if turn.completions is None:
            wanted = len(active) if turn.succeeded else turn.parallelism
        else:
            wanted = max(0, min(turn.parallelism, turn.completions - turn.succeeded))
        spare = surplus(active, turn.completions or 0) if turn.indexed else []
        excess = len(active) - wanted - len(spare)
        if excess > 0:
            uids = {pod.metadata.uid for pod in spare}
            spare = spare + by_expendability([p for p in active if p.metadata.uid not in uids])[:excess]
        if spare:
            return await self._drop(turn, spare[:BURST])
        missing = wanted - len(active) - (len(turn.terminating) if turn.replaces_failed_only else 0)
        if missing <= 0:
            return None
        return await self._make(turn, min(missing, BURST))

    async def _make(self, turn: Turn, count: int) -> VcrayError | None:
        job = turn.job
        template = pod_from(KUBERNETES_JOBS, job, dig_object(job, "spec", "template"))
        metadata = dig_object(template, "metadata")
        metadata["finalizers"] = [*dig_list(metadata, "finalizers"), TRACKING]
        if not turn.indexed:
            if not turn.per_index and turn.backoff_until() > turn.now:
                return None
            return await in_batches([partial(create_pod, self, job, template)] * count)
        if not turn.per_index and turn.backoff_until() > turn.now:
            return None
        busy = {
            index_of(pod) for pod in (*turn.active, *(turn.terminating if turn.replaces_failed_only else ()))
        }
        taken = {index for index in busy if index is not None} | turn.succeeded_indexes | turn.failed_indexes
        replaced = turn.last_failures() if turn.per_index else {}
        indexes = [
            index
            for index in pending(count, turn.completions or 0, taken)
            if index not in replaced or self._index_backoff(replaced[index]) <= turn.now
        ]
        makes = [self._indexed_pod(turn, template, index, replaced.get(index)) for index in indexes]
        return await in_batches([partial(create_pod, self, job, pod) for pod in makes])

    @staticmethod
    def _index_backoff(failed: PodView) -> float:
        return backoff_end(finished_at(failed), failures_of(failed) + ignored_of(failed) + 1)

    @staticmethod
    def _indexed_pod(turn: Turn, template: JsonObject, index: int, failed: PodView | None) -> JsonObject:
        pod = copy.deepcopy(template)
        metadata, spec = dig_object(pod, "metadata"), dig_object(pod, "spec")
        name = dig_str(turn.job, "metadata", "name")
        annotations: JsonObject = {**dig_object(metadata, "annotations"), INDEX: str(index)}
        if turn.per_index:
            counts = failed is None or turn.counts(failed)
            failures = 0 if failed is None else failures_of(failed) + int(counts)
            ignored = 0 if failed is None else ignored_of(failed) + int(not counts)
            annotations[FAILURE_COUNT] = str(failures)
            if ignored:
                annotations[IGNORED_COUNT] = str(ignored)
        metadata["annotations"] = annotations
        metadata["labels"] = {**dig_object(metadata, "labels"), INDEX: str(index)}
        metadata["generateName"] = numbered_prefix(name, index)
        spec["hostname"] = f"{name}-{index}"
        reference: JsonObject = {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX}']"}}
        for field in ("containers", "initContainers"):
            for container in dig_objects(spec, field):
                named = dig_objects(container, "env")
                if all(each.get("name") != "JOB_COMPLETION_INDEX" for each in named):
                    variable: JsonObject = {"name": "JOB_COMPLETION_INDEX", "valueFrom": reference}
                    container["env"] = [*named, variable]
        return pod

    async def _drop(self, turn: Turn, pods: Sequence[PodView]) -> VcrayError | None:
        """Delete pods that shall not count as failures."""

        async def drop(pod: PodView) -> None:
            await self._free(pod)
            await delete_pod(self, turn.job, pod)

        return await in_batches([partial(drop, pod) for pod in pods])

    async def _free(self, pod: PodView) -> bool:
        """Take the tracking finalizer from a pod; False if that failed."""
        if TRACKING not in (pod.metadata.finalizers or ()):
            return True
        head = pod.metadata
        try:
            answer = await self.client.patch(
                PODS, head.namespace, head.name, without_tracking(pod), PatchType.STRATEGIC
            )
        except (NotFound, Conflict):
            self.shared.pods.remove(f"{head.namespace}/{head.name}", head.uid)
            return True
        view = view_of(answer)
        if (
            view.deleting
            and dig_int(answer, "metadata", "deletionGracePeriodSeconds") == 0
            and not view.metadata.finalizers
        ):
            self.shared.pods.remove(f"{head.namespace}/{head.name}", head.uid)
        else:
            self.shared.pods.put(view)
        return True

    # -- status -----------------------------------------------------------------------------------------------

    async def _finish(self, turn: Turn, outcome: Outcome | None, status: JsonObject) -> None:
        """Write what is noted, free the pods that are noted, count them."""
        status["active"] = len(turn.active) or None
        status["ready"] = sum(pod.ready for pod in turn.active)
        status["terminating"] = len(turn.terminating)
        noted: Tally = tally(turn, outcome, status)
        job = await self._write(turn.job, status)
        freed = {pod.metadata.uid for pod in noted.free if await self._free(pod)}
        status = copy.deepcopy(dig_object(job, "status")) or status
        if outcome is not None:
            status["terminating"] = len(
                [p for p in self._present(turn.pods, turn.job) if p.deleting and not p.finished]
            )
        if settle(turn, outcome if noted.whole else None, status, freed):
            job = await self._write(job, status)
            if outcome is not None and is_finished(job):
                await self._tell_end(job, outcome)

    async def _tell_end(self, job: JsonObject, outcome: Outcome) -> None:
        if outcome.kind == FAILURE_TARGET:
            await self.tell(job, WARNING, outcome.reason, outcome.message)
        else:
            await self.tell(job, NORMAL, "Completed", "Job completed")

    async def _write(self, job: JsonObject, status: JsonObject) -> JsonObject:
        """Replace the status if it differs from what is held. Conflict if somebody was faster."""
        wanted: JsonObject = {name: value for name, value in status.items() if value is not None}
        held = self.jobs.objects.get(key_of(job), job)
        before = dig_object(held, "status")
        if _plain(before) == _plain(wanted):
            return held
        body: JsonObject = {**held, "status": wanted}
        try:
            answer = await self.client.update_status(KUBERNETES_JOBS, body)
        except NotFound:
            return body
        self.jobs.put(answer)
        return answer

    # -- pods without a job -----------------------------------------------------------------------------------

    def _consider_orphan(self, pod: PodView) -> None:
        if TRACKING in (pod.metadata.finalizers or ()) and self._is_orphan(pod):
            self.orphans.add(f"{pod.metadata.namespace}/{pod.metadata.name}")

    def _is_orphan(self, pod: PodView) -> bool:
        owner = pod.controller
        if owner is None or owner.kind != "Job" or not self.jobs.synced.is_set():
            return False
        job = self.jobs.get(pod.metadata.namespace, owner.name)
        return job is None or dig_str(job, "metadata", "uid") != owner.uid or is_finished(job)

    async def _free_orphan(self, key: str) -> float | None:
        """Free a pod whose job is gone or over, so that it can go too."""
        pod = self.shared.pods.objects.get(key)
        if pod is not None and self._is_orphan(pod):
            await self._free(pod)
        return None


def _plain(status: JsonObject) -> JsonObject:
    """A status without what is the same as its absence."""
    empty: tuple[JsonValue, ...] = (None, 0, "", [])
    return {name: value for name, value in status.items() if not any(value is e or value == e for e in empty)}
