"""What a job looks like at one moment: its pods sorted by what became of them, and whether that ends the job.

Pure. A pod is counted once: while it has the tracking finalizer it is new, then its UID stands in
`status.uncountedTerminatedPods`, and when the finalizer is gone it moves into the counters.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from vcray.api.jsonview import dig, dig_int, dig_list, dig_object, dig_objects, dig_str
from vcray.api.meta import JsonObject, seconds_of
from vcray.cluster.workloads.job.indexes import failures_of, index_of, parse
from vcray.cluster.workloads.job.policies import judge_failure, judge_success
from vcray.cluster.workloads.podview import PodView

TRACKING = "batch.kubernetes.io/job-tracking"
FAILURE_TARGET, SUCCESS_CRITERIA = "FailureTarget", "SuccessCriteriaMet"


@dataclass(frozen=True, slots=True)
class Outcome:
    """Why a job ends: the interim condition that it gets first."""

    kind: str
    reason: str
    message: str


def completed() -> Outcome:
    """All completions are there."""
    return Outcome(SUCCESS_CRITERIA, "CompletionsReached", "Reached expected number of succeeded pods")


def is_finished(job: JsonObject) -> bool:
    """Whether a job is Complete or Failed."""
    return any(
        each.get("type") in ("Complete", "Failed") and each.get("status") == "True"
        for each in dig_objects(job, "status", "conditions")
    )


def finished_at(pod: PodView) -> float:
    """When a pod ended, in seconds since the epoch, as well as can be told."""
    ends = [
        each.state.terminated.finished_at.timestamp()
        for each in pod.status.container_statuses or ()
        if each.state and each.state.terminated and each.state.terminated.finished_at
    ]
    if ends:
        return max(ends)
    ready = pod.condition("Ready")
    if ready is not None and ready.status == "False" and ready.last_transition_time is not None:
        return ready.last_transition_time.timestamp()
    moment = pod.metadata.deletion_timestamp or pod.metadata.creation_timestamp
    return moment.timestamp() if moment else 0.0


@dataclass(slots=True)
class Turn:
    """One job and its pods. Indexed jobs have `succeeded_indexes` and `failed_indexes`."""

    job: JsonObject
    pods: list[PodView]
    now: float
    failed_indexes: set[int] = field(default_factory=set)
    before_indexes: set[int] = field(default_factory=set)
    succeeded_indexes: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        if self.indexed:
            self.before_indexes = parse(
                dig_str(self.job, "status", "completedIndexes"), self.completions or 0
            )
            new = {index_of(pod) for pod in self.tracked if pod.status.phase == "Succeeded"}
            self.succeeded_indexes = self.before_indexes | {
                index for index in new if index is not None and index < (self.completions or 0)
            }
            if self.per_index:
                self.failed_indexes = self._failed_indexes()

    # -- spec -------------------------------------------------------------------------------------------------

    @property
    def indexed(self) -> bool:
        """Whether each completion has a number."""
        return dig_str(self.job, "spec", "completionMode") == "Indexed"

    @property
    def completions(self) -> int | None:
        """How many successes are wanted; None for a job that ends with its first."""
        found = dig(self.job, "spec", "completions")
        return found if isinstance(found, int) else None

    @property
    def parallelism(self) -> int:
        """Most pods at a time."""
        return dig_int(self.job, "spec", "parallelism", default=1)

    @property
    def suspended(self) -> bool:
        """Whether the job is to have no pods now."""
        return dig(self.job, "spec", "suspend") is True

    @property
    def per_index(self) -> bool:
        """Whether failures are counted for each index."""
        return dig(self.job, "spec", "backoffLimitPerIndex") is not None

    @property
    def replaces_failed_only(self) -> bool:
        """Whether a pod is replaced only when it has really ended."""
        return dig_str(self.job, "spec", "podReplacementPolicy") == "Failed"

    # -- pods -------------------------------------------------------------------------------------------------

    @property
    def active(self) -> list[PodView]:
        """Pods that are neither finished nor being deleted."""
        return [pod for pod in self.pods if pod.active]

    @property
    def terminating(self) -> list[PodView]:
        """Pods that are being deleted and have not ended."""
        return [pod for pod in self.pods if pod.deleting and not pod.finished]

    @property
    def tracked(self) -> list[PodView]:
        """Pods that have not been counted."""
        return [pod for pod in self.pods if TRACKING in (pod.metadata.finalizers or ())]

    def has_failed(self, pod: PodView) -> bool:
        """A pod that is being deleted counts as failed, unless only real ends are to be replaced."""
        if pod.status.phase == "Failed":
            return True
        return not self.replaces_failed_only and pod.deleting and pod.status.phase != "Succeeded"

    def uncounted(self, kind: str) -> set[str]:
        """UIDs in `status.uncountedTerminatedPods`: `succeeded` or `failed`."""
        return {str(uid) for uid in dig_list(self.job, "status", "uncountedTerminatedPods", kind)}

    @property
    def succeeded(self) -> int:
        """Successes so far, counted or not."""
        if self.indexed:
            return len(self.succeeded_indexes)
        known = self.uncounted("succeeded")
        new = [
            pod for pod in self.tracked if pod.status.phase == "Succeeded" and pod.metadata.uid not in known
        ]
        return dig_int(self.job, "status", "succeeded") + len(known) + len(new)

    @property
    def failed(self) -> int:
        """Failures so far that count towards the limit."""
        known = self.uncounted("failed")
        new = [pod for pod in self.tracked if self.has_failed(pod) and pod.metadata.uid not in known]
        return dig_int(self.job, "status", "failed") + len(known) + sum(self.counts(pod) for pod in new)

    def counts(self, pod: PodView) -> bool:
        """Whether a failure counts."""
        return judge_failure(self.job, pod).counts

    # -- indexes ----------------------------------------------------------------------------------------------

    def _failed_indexes(self) -> set[int]:
        completions = self.completions or 0
        limit = dig_int(self.job, "spec", "backoffLimitPerIndex")
        found = parse(dig_str(self.job, "status", "failedIndexes"), completions)
        for pod in self.tracked:
            index = index_of(pod)
            if index is None or index >= completions or not self.has_failed(pod):
                continue
            verdict = judge_failure(self.job, pod)
            if verdict.action == "FailIndex" or (verdict.counts and failures_of(pod) >= limit):
                found.add(index)
        return found - self.succeeded_indexes

    def last_failures(self) -> dict[int, PodView]:
        """For each index that waits for a new pod the failed pod that it replaces, which is kept until then."""
        busy = {index_of(pod) for pod in self.active}
        found: dict[int, PodView] = {}
        for pod in self.tracked:
            index = index_of(pod)
            if index is None or not self.has_failed(pod) or index in busy:
                continue
            if index in self.succeeded_indexes or index in self.failed_indexes:
                continue
            known = found.get(index)
            if known is None or (failures_of(known), finished_at(known)) <= (
                failures_of(pod),
                finished_at(pod),
            ):
                found[index] = pod
        return found

    # -- the end ----------------------------------------------------------------------------------------------

    def outcome(self) -> Outcome | None:
        """Whether the job is at its end, by what was decided before or by what its pods say now."""
        for kind in (SUCCESS_CRITERIA, FAILURE_TARGET):
            for each in dig_objects(self.job, "status", "conditions"):
                if each.get("type") == kind and each.get("status") == "True":
                    return Outcome(kind, dig_str(each, "reason"), dig_str(each, "message"))
        return self._failure() or (self._index_failure() if self.indexed else None)

    def _failure(self) -> Outcome | None:
        for pod in self.pods:
            if self.has_failed(pod):
                verdict = judge_failure(self.job, pod)
                if verdict.action == "FailJob":
                    return Outcome(FAILURE_TARGET, "PodFailurePolicy", verdict.message)
        limit = dig_int(self.job, "spec", "backoffLimit", default=6)
        if self.failed > limit or self._restarted_too_often(limit):
            why = "Job has reached the specified backoff limit"
            return Outcome(FAILURE_TARGET, "BackoffLimitExceeded", why)
        deadline = self.deadline()
        if deadline is not None and self.now >= deadline:
            return Outcome(
                FAILURE_TARGET, "DeadlineExceeded", "Job was active longer than specified deadline"
            )
        return None

    def deadline(self) -> float | None:
        """When the job has been active for too long."""
        seconds, started = (
            dig(self.job, "spec", "activeDeadlineSeconds"),
            seconds_of(dig(self.job, "status", "startTime")),
        )
        if not isinstance(seconds, int) or started is None or self.suspended:
            return None
        return started + seconds

    def _restarted_too_often(self, limit: int) -> bool:
        if dig_str(self.job, "spec", "template", "spec", "restartPolicy") != "OnFailure":
            return False
        running = [pod for pod in self.pods if pod.status.phase in ("Running", "Pending")]
        restarts = sum(each.restart_count for pod in running for each in pod.container_statuses())
        return restarts > 0 if limit == 0 else restarts >= limit

    def _index_failure(self) -> Outcome | None:
        completions = self.completions or 0
        if self.per_index:
            most = dig(self.job, "spec", "maxFailedIndexes")
            if isinstance(most, int) and len(self.failed_indexes) > most:
                why = "Job has exceeded the specified maximal number of failed indexes"
                return Outcome(FAILURE_TARGET, "MaxFailedIndexesExceeded", why)
            if self.failed_indexes and len(self.failed_indexes) + len(self.succeeded_indexes) >= completions:
                return Outcome(FAILURE_TARGET, "FailedIndexes", "Job has failed indexes")
        message = judge_success(self.job, self.succeeded_indexes, completions)
        return Outcome(SUCCESS_CRITERIA, "SuccessPolicy", message) if message else None

    # -- back-off ---------------------------------------------------------------------------------------------

    def backoff_until(self) -> float:
        """When the next pod may be made after failures in a row: 10 s after one, then twice as long each time."""
        successes = [finished_at(pod) for pod in self.pods if pod.status.phase == "Succeeded"]
        last_success = max(successes, default=0.0)
        failures = [finished_at(pod) for pod in self.pods if self.has_failed(pod)]
        since = [moment for moment in failures if moment > last_success]
        return backoff_end(max(since), len(since)) if since else 0.0

    def is_deleting(self) -> bool:
        """Whether the job itself is being deleted."""
        return bool(dig_object(self.job, "metadata").get("deletionTimestamp"))


def backoff_end(last_failure: float, failures: int) -> float:
    """When the wait after so many failures in a row is over."""
    return last_failure + min(10.0 * 2.0 ** min(failures - 1, 10), 600.0) if failures else 0.0
