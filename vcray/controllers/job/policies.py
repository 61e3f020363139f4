"""From a request to an action: which policy answers an event, and actions that wait for a time-out.

The time-outs are plain data of the controller. A restart of the process loses them; the first sight of each pod arms
those of pending and failed pods again, so nothing of them needs to be stored.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from vcray.api.batch import JobAction, JobEvent, LifecyclePolicy
from vcray.api.duration import DurationError, duration_seconds
from vcray.api.meta import JsonObject
from vcray.controllers import raw
from vcray.controllers.job.request import JobRequest
from vcray.controllers.job.view import JobView, TaskView, phase_of

INTERNAL_EVENTS = (JobEvent.OUT_OF_SYNC, JobEvent.COMMAND_ISSUED, JobEvent.POD_RUNNING)
"""Events that no policy is asked about."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The action for a request; `delay_s` not 0 means after that time."""

    action: str
    delay_s: float = 0.0


SYNC = Answer(JobAction.SYNC_JOB.value)


def resolve(request: JobRequest, job: JobView) -> Answer:
    """A command's action, or that of the first matching policy, the task's before the job's; else a sync.

    Events of another job object of this name, or of pods from before the last restart, only sync."""
    if request.action:
        return Answer(request.action)
    if request.event in INTERNAL_EVENTS:
        return SYNC
    if request.uid and request.uid != job.uid:
        return SYNC
    if request.version < job.status.version:
        return SYNC
    task = job.task(request.task) if request.task else None
    own = task.policies if task is not None else []
    for policies in (own, job.spec.policies):
        for policy in policies:
            if _matches(policy, request):
                return Answer(policy.action, _delay(policy))
    return SYNC


def _matches(policy: LifecyclePolicy, request: JobRequest) -> bool:
    """By event (`*` is any; PodPending only with a time-out, for every pod starts there), else by exit code (0 is none)."""
    events: set[str] = {event.value for event in policy.events}
    if policy.event is not None:
        events.add(policy.event.value)
    named = request.event != "" and (request.event in events or JobEvent.ANY.value in events)
    if named and not (request.event == JobEvent.POD_PENDING and policy.timeout is None):
        return True
    return bool(policy.exit_code) and policy.exit_code == request.exit_code


def _delay(policy: LifecyclePolicy) -> float:
    """The policy's time-out in seconds; 0 for none and for one that cannot be read."""
    try:
        return max(0.0, duration_seconds(policy.timeout)) if policy.timeout else 0.0
    except DurationError:
        return 0.0


def has_policies(job: JobView) -> bool:
    """Whether any event of the job can have an answer."""
    return bool(job.spec.policies) or any(task.policies for task in job.tasks)


def mentions(job: JobView, task: TaskView, event: JobEvent) -> bool:
    """Whether a policy names this event for a task: what nobody asks for need not be found out."""
    return any(
        JobEvent.ANY in policy.events or event in policy.events or policy.event in (event, JobEvent.ANY)
        for policies in (task.policies, job.spec.policies)
        for policy in policies
    )


def has_timeouts(job: JobView) -> bool:
    """Whether any policy of the job acts after a time-out."""
    lists = [job.spec.policies, *(task.policies for task in job.tasks)]
    return any(_delay(policy) for policies in lists for policy in policies)


@dataclass(frozen=True, slots=True)
class Delayed:
    """An action that is due later, and the event that it answers."""

    serial: int
    action: str
    request: JobRequest
    due: float


@dataclass(slots=True)
class Timers:
    """Delayed actions by job. Per pod there is one for each action; a second one of the same action changes nothing."""

    jobs: dict[str, dict[tuple[str, str], Delayed]] = field(default_factory=dict)
    _serial: int = 0

    def arm(self, request: JobRequest, answer: Answer, now: float) -> Delayed | None:
        """Note a delayed action; None when the pod waits for the same action already."""
        if self.is_armed(request, answer.action):
            return None
        self._serial += 1
        delayed = Delayed(self._serial, answer.action, request, now + answer.delay_s)
        self.jobs.setdefault(request.key, {})[request.pod, answer.action] = delayed
        return delayed

    def is_armed(self, request: JobRequest, action: str) -> bool:
        """Whether the request's pod waits for this action already."""
        item = self.jobs.get(request.key, {}).get((request.pod, action))
        return item is not None and item.request.uid == request.uid

    def awaits_failure(self, key: str, uid: str, due: Delayed | None = None) -> bool:
        """Whether a failed pod of the job will be acted on later than `due`: until then the job must not end by itself."""
        waiting = self.jobs.get(key, {}).values()
        return any(
            item is not due and item.request.event == JobEvent.POD_FAILED and item.request.uid == uid
            for item in waiting
        )

    def due(self, request: JobRequest) -> Delayed | None:
        """The delayed action that a timer request stands for; None when it was cancelled."""
        waiting = self.jobs.get(request.key, {})
        return next((item for item in waiting.values() if item.serial == request.timer), None)

    def drop(self, key: str, doomed: Iterable[Delayed]) -> None:
        """Cancel."""
        waiting = self.jobs.get(key, {})
        for item in list(doomed):
            waiting.pop((item.request.pod, item.action), None)
        if not waiting:
            self.jobs.pop(key, None)

    def on_event(self, request: JobRequest, pod: JsonObject | None) -> None:
        """Cancel what an event of a pod makes pointless.

        A pod that waits no longer (`pod` is what is seen of it now) ends the time-outs of its pending; a pod that
        runs ends those that its predecessors of this name left by failing or by being evicted."""
        if not request.pod or request.event == JobEvent.POD_PENDING:
            return
        waiting = self.jobs.get(request.key, {})
        doomed = [
            item
            for (name, _), item in waiting.items()
            if name == request.pod and _is_pointless(item, request, pod)
        ]
        self.drop(request.key, doomed)

    def on_action(self, request: JobRequest, action: str) -> None:
        """Cancel what an action that was carried out has covered: those of its own class, within its target."""
        waiting = self.jobs.get(request.key, {})
        self.drop(request.key, [item for item in waiting.values() if _is_covered(item, request, action)])


def _is_pointless(item: Delayed, request: JobRequest, pod: JsonObject | None) -> bool:
    cause = item.request.event
    if cause == JobEvent.POD_PENDING:
        gone = pod is None or raw.uid(pod) != item.request.pod_uid or raw.terminating(pod)
        return request.pod_uid == item.request.pod_uid and (gone or pod is None or phase_of(pod) != "Pending")
    return cause in (JobEvent.POD_FAILED, JobEvent.POD_EVICTED) and request.event == JobEvent.POD_RUNNING


def _is_covered(item: Delayed, request: JobRequest, action: str) -> bool:
    if _class(item.action) != _class(action):
        return False
    if action == JobAction.RESTART_TASK:
        return item.request.task == request.task
    if action == JobAction.RESTART_POD:
        return item.request.pod == request.pod
    if action == JobAction.RESTART_PARTITION:
        return (item.request.task, item.request.partition) == (request.task, request.partition)
    return True


def _class(action: str) -> str:
    """RestartTask, RestartPod and RestartPartition each stand alone; everything else is about the whole job."""
    targeted = (JobAction.RESTART_TASK, JobAction.RESTART_POD, JobAction.RESTART_PARTITION)
    return action if action in targeted else "job"
