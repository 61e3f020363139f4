"""Training jobs: as many pods a type as it has replicas, restarts by policy, and an end by the rule of the kind.

With gang support on, a job has no pod before its PodGroup has left Pending, and stands still whenever it is back there; the group's
spec is written whole in each turn, whoever owns it, and the group goes when the job finishes or is suspended.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar, Final

from vcray.api.jsonview import holds
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import PODGROUPS, PODS, Resource
from vcray.api.times import seconds_of
from vcray.clock import rfc3339
from vcray.cluster.operators.base import Follow, Operator, conditions, phase
from vcray.cluster.operators.training import gangs
from vcray.cluster.operators.training.kinds import INDEX, KINDS, Kind, Role, Roles
from vcray.cluster.operators.training.pods import make_pod, roles_of, starts_again
from vcray.controllers import raw
from vcray.controllers.base import Again, Effects, Seen, Steps, Update, must

FINISHED: Final = ("Succeeded", "Failed")


class TrainingJobs(Operator):
    """One kind, `about`. It remembers how often it replaced failed pods, as the real one does, until it ends."""

    about: ClassVar[Kind]

    def __init__(self, gang: str = "") -> None:
        super().__init__(gang)
        self._replaced: dict[str, int] = {}

    def follow(self, obj: JsonObject, seen: Seen, now: float) -> Effects:
        """One turn of a job. One that cannot be read has no pods."""
        policy = raw.table(obj, "spec", "runPolicy")
        roles = roles_of(self.about, obj, self.owned(PODS, obj, seen))
        managed = raw.text(policy, "managedBy") in ("", "kubeflow.org/training-operator")
        if not managed or not _is_valid(self.about, obj, roles):
            return
        if any(holds(obj, kind) for kind in FINISHED):
            yield from self._clean(obj, policy, seen, now)
        elif raw.at(policy, "suspend") is True:
            yield from self._suspend(obj, seen, now)
        elif not raw.text(obj, "status", "startTime"):
            begun = {"Created": (True, self._reason("Created"))}
            if holds(obj, "Suspended"):
                begun["Suspended"] = (False, self._reason("Resumed"))
            yield from self.report(
                obj, {"startTime": rfc3339(now), "conditions": conditions(obj, begun, now)}
            )
        else:
            yield from self._run(obj, policy, roles, seen, now)

    def _run(self, job: JsonObject, policy: JsonObject, roles: Roles, seen: Seen, now: float) -> Steps[None]:
        if raw.at(policy, "activeDeadlineSeconds") is not None:
            due = when(job, "startTime") + raw.number(policy, "activeDeadlineSeconds")
            if now >= due:
                yield from self._end(job, "Failed", "DeadlineExceeded", now)
                return
            yield Again(due - now, Follow(raw.namespace(job), raw.name(job)))
        if self.gang:
            group = yield from self._group(job, roles, seen)
            if raw.text(group, "status", "phase") in ("", "Pending"):
                return
        restarts = False
        for role in roles.values():
            failed = [
                each for each in role.pods if phase(each) == "Failed" and starts_again(self.about, role, each)
            ]
            if failed and self._past_limit(job, policy):
                yield from self._end(job, "Failed", "BackoffLimitExceeded", now)
                return
            if failed:
                self._replaced[raw.uid(job)] = self._replaced.get(raw.uid(job), 0) + 1
                restarts = True
            yield from self.remove(PODS, failed)
            yield from self._size(job, roles, role)
        yield from self._judge(job, restarts, seen, now)

    def _past_limit(self, job: JsonObject, policy: JsonObject) -> bool:
        limit = raw.at(policy, "backoffLimit")
        return isinstance(limit, int) and self._replaced.get(raw.uid(job), 0) >= limit

    def _size(self, job: JsonObject, roles: Roles, role: Role) -> Steps[None]:
        """Make the pods that are missing, delete those that are too many."""
        present = {_index(pod): pod for pod in role.pods}
        yield from self.remove(PODS, [pod for index, pod in present.items() if index >= role.replicas])
        for index in range(role.replicas):
            if index not in present:
                yield from self.make(PODS, job, make_pod(self.about, job, roles, role, index, self.gang))

    def _group(self, job: JsonObject, roles: Roles, seen: Seen) -> Steps[JsonObject]:
        sizes = [(role.replicas, raw.table(role.spec, "template")) for role in roles.values()]
        present = seen.get(PODGROUPS, raw.namespace(job), raw.name(job))
        if present is None:
            head: JsonObject = {
                "name": raw.name(job),
                "annotations": raw.strings(raw.annotations_of(job)),
            }
            group: JsonObject = {"metadata": head, "spec": gangs.spec_of(job, sizes, "")}
            return (yield from self.make(PODGROUPS, job, group))
        spec = gangs.spec_of(job, sizes, raw.text(present, "spec", "queue"))
        if raw.table(present, "spec") == spec:
            return present  # the real one writes all the same, which changes nothing
        return must((yield Update(PODGROUPS, {**present, "spec": spec})), f"update PodGroup {raw.name(job)}")

    # -- ends -----------------------------------------------------------------------------------------------------------

    def _judge(self, job: JsonObject, restarts: bool, seen: Seen, now: float) -> Steps[None]:
        """Say how the job stands, by the pods that it has now."""
        roles = roles_of(self.about, job, self.owned(PODS, job, seen))
        numbers: dict[str, JsonValue] = {}
        for role in roles.values():
            numbers[role.type] = {
                "active": role.count("", "Pending", "Running"),
                "succeeded": role.count("Succeeded"),
                "failed": role.count("Failed"),
            }
        yield from self.report(job, {"replicaStatuses": numbers})
        if self.about.succeeded(job, roles):
            yield from self._end(job, "Succeeded", self._reason("Succeeded"), now)
        elif restarts:
            held = {
                "Running": (False, self._reason("Restarting")),
                "Restarting": (True, self._reason("Restarting")),
            }
            yield from self.report(job, {"conditions": conditions(job, held, now)})
        elif self._has_failed(roles):
            yield from self._end(job, "Failed", self._failed_reason(roles), now)
        elif self._is_running(roles):
            held = {"Running": (True, self._reason("Running"))}
            if holds(job, "Restarting"):
                held["Restarting"] = (False, self._reason("Running"))
            yield from self.report(job, {"conditions": conditions(job, held, now)})

    def _is_running(self, roles: Roles) -> bool:
        if not self.about.container:
            return all(role.count("Running") >= role.replicas for role in roles.values())
        leader = self.about.leader(roles)
        return any(
            role.count("Running") > 0
            for role in roles.values()
            if role.type == leader or leader in ("", "Worker")
        )

    def _has_failed(self, roles: Roles) -> bool:
        if self.about.container:
            return any(role.count("Failed") for role in roles.values())
        return roles["Launcher"].count("Failed") > 0 or _evicted(roles.get("Worker"))

    def _failed_reason(self, roles: Roles) -> str:
        is_evicted = not self.about.container and _evicted(roles.get("Worker"))
        return "MPIJobEvicted" if is_evicted else self._reason("Failed")

    def _end(self, job: JsonObject, kind: str, reason: str, now: float) -> Steps[None]:
        held = {"Running": (False, reason), kind: (True, reason)}
        yield from self.report(
            job, {"completionTime": rfc3339(now), "conditions": conditions(job, held, now)}
        )

    def _clean(self, job: JsonObject, policy: JsonObject, seen: Seen, now: float) -> Steps[None]:
        self._replaced.pop(raw.uid(job), None)
        which = raw.text(policy, "cleanPodPolicy") or "None"
        unwanted = {
            "All": ("Succeeded", "Failed", "", "Pending", "Running"),
            "Running": ("", "Pending", "Running"),
        }
        phases = unwanted.get(which, ())
        yield from self.remove(PODS, [each for each in self.owned(PODS, job, seen) if phase(each) in phases])
        yield from self._drop_group(job, seen)
        ttl = raw.at(policy, "ttlSecondsAfterFinished")
        if isinstance(ttl, int):
            due = when(job, "completionTime") + ttl
            if now >= due:
                yield from self.remove(self.resource, [job])
            else:
                yield Again(due - now, Follow(raw.namespace(job), raw.name(job)))

    def _suspend(self, job: JsonObject, seen: Seen, now: float) -> Steps[None]:
        yield from self.remove(PODS, self.owned(PODS, job, seen))
        yield from self._drop_group(job, seen)
        held = {
            "Created": (True, self._reason("Created")),
            "Suspended": (True, self._reason("Suspended")),
        }
        if holds(job, "Running"):
            held["Running"] = (False, self._reason("Suspended"))
        status: Mapping[str, JsonValue] = {
            "startTime": None,
            "replicaStatuses": None,
            "conditions": conditions(job, held, now),
        }
        yield from self.report(job, status)

    def _drop_group(self, job: JsonObject, seen: Seen) -> Steps[None]:
        present = seen.get(PODGROUPS, raw.namespace(job), raw.name(job)) if self.gang else None
        if present is not None and not raw.terminating(present):
            yield from self.remove(PODGROUPS, [present])

    def _reason(self, what: str) -> str:
        return f"{self.resource.kind}{what}"


def when(obj: JsonObject, field: str) -> float:
    """A time of the status, seconds since the epoch; 0 where there is none."""
    return seconds_of(raw.at(obj, "status", field)) or 0.0


def operators() -> Iterable[type[TrainingJobs]]:
    """A class a kind."""
    return tuple(_of(kind) for kind in KINDS)


def _of(kind: Kind) -> type[TrainingJobs]:
    class Jobs(TrainingJobs):
        resource: ClassVar[Resource] = kind.resource
        about: ClassVar[Kind] = kind

    return Jobs


def _is_valid(kind: Kind, job: JsonObject, roles: Roles) -> bool:
    """What the real one's admission lets pass: known types, counts of at least 0, templates with containers."""
    known = len(raw.table(job, "spec", kind.field)) == len(roles) > 0
    led = bool(kind.container) or "Launcher" in roles
    return (
        known
        and led
        and all(
            role.replicas >= 0 and raw.tables(role.spec, "template", "spec", "containers")
            for role in roles.values()
        )
    )


def _index(pod: JsonObject) -> int:
    """The launcher's is 0."""
    return int(raw.labels_of(pod).get(INDEX, "0"))


def _evicted(role: Role | None) -> bool:
    pods = () if role is None else role.pods
    return any(phase(pod) == "Failed" and raw.text(pod, "status", "reason") == "Evicted" for pod in pods)
