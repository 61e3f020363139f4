"""What the jobs of the training-operator and the mpi-operator have in common (integrations.md 2.1, 2.2, 5).

A job is a map of replica types. All of its pods start together, or as many as it says; the master, where it has one, is among
them. A job that is suspended or finished has no group once none of its pods runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from vcray.api.jsonview import holds
from vcray.api.meta import JsonObject
from vcray.api.quantity import QuantityError, parse_quantity
from vcray.api.resources import PODGROUPS, PODS
from vcray.controllers import raw
from vcray.controllers.base import Seen
from vcray.integrations.base import Asks, Gang, Integration, Malformed, Member, Part, count, template

JOB_NAME: Final = "training.kubeflow.org/job-name"
REPLICA_TYPE: Final = "training.kubeflow.org/replica-type"
JOB_ROLE: Final = "training.kubeflow.org/job-role"
TRAINING_OPERATOR: Final = "kubeflow.org/training-operator"
MPI_OPERATOR: Final = "kubeflow.org/mpi-operator"
REST: Final = "-rest"
FINISHED: Final = ("Succeeded", "Failed")
_LEADERS: Final = ("Chief", "Master", "Launcher")


@dataclass(frozen=True, slots=True)
class Shape:
    """`field` of spec has the replica types; `types` are those there may be, in the order in which pods count towards a
    minimum, leaders first. `elastic`: the kind knows elasticPolicy. `absent`: replicas of a type that says none."""

    field: str
    types: tuple[str, ...]
    elastic: bool = False
    absent: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Replicas:
    """One replica type of a job, by its name in lower case."""

    task: str
    count: int
    template: JsonObject
    leads: bool


class TrainingJob(Integration):
    """A job kind, told by its `shape`. `operator` is the value of managedBy that means its own operator."""

    pod_labels: ClassVar[tuple[str, ...]] = (JOB_NAME,)
    follows_pods: ClassVar[bool] = True
    shape: ClassVar[Shape]
    operator: ClassVar[str] = TRAINING_OPERATOR
    role: ClassVar[str] = REPLICA_TYPE
    """The label by whose value a pod's task is told."""

    def asks(self, owner: JsonObject) -> Asks:
        chosen = raw.table(owner, "spec", "runPolicy", "schedulingPolicy")
        manager = raw.text(owner, "spec", "runPolicy", "managedBy")
        specs = {kind: spec for kind, _, spec in self._entries(owner)}
        templates = tuple(raw.table(specs[kind], "template") for kind in self.shape.types if kind in specs)
        return Asks(
            raw.text(chosen, "queue"),
            raw.text(chosen, "priorityClass"),
            templates,
            "" if manager == self.operator else manager,
        )

    def gangs(self, owner: JsonObject, seen: Seen) -> Sequence[Gang]:
        name = raw.name(owner)
        if is_suspended(owner) or is_finished(owner):
            return _left(owner, seen)
        roles = self.replicas(owner)
        total = sum(role.count for role in roles)
        minimum, least = self.minimum(owner, roles)
        taken = minimum if minimum is not None else sum(least.values())
        room = _first(roles, total if self.reserves_all(owner) else taken)
        if minimum is not None:
            least = {role.task: least[role.task] for role in roles if minimum >= total or role.leads}
        parts = tuple(
            Part(role.task, least.get(role.task, 0), room[role.task], role.template) for role in roles
        )
        return (Gang(name, parts, minimum, _given_resources(owner)),)

    def member(self, owner: JsonObject, pod: JsonObject) -> Member | None:
        task = raw.labels_of(pod).get(self.role, "")
        leads = task in [kind.lower() for kind in _LEADERS] or self.hosts(owner, pod)
        return Member(raw.name(owner), task, leads) if task else None

    def begun(self, owner: JsonObject, seen: Seen) -> bool:
        """Pods show it: the operator has made its group, if it does, before them. A job that cannot be read never has pods, and
        is told of at once."""
        if is_finished(owner):
            return bool(_running(owner, seen))
        if is_suspended(owner):
            return False
        return bool(_live(owner, seen)) or not self._is_readable(owner)

    def rests(self, owner: JsonObject, seen: Seen) -> str:
        if _running(owner, seen):
            return ""
        if is_finished(owner):
            return "finished"
        return "suspended" if is_suspended(owner) else ""

    # -- what kinds may say otherwise -------------------------------------------------------------------------------------

    def minimum(self, owner: JsonObject, roles: Sequence[Replicas]) -> tuple[int | None, Mapping[str, int]]:
        """minAvailable where the job says it, and the least number of pods by task. Raises Malformed."""
        where = "spec.runPolicy.schedulingPolicy.minAvailable"
        path = where.split(".")
        given = count(owner, where, *path, default=0) if raw.at(owner, *path) is not None else None
        least = {role.task: role.count for role in roles}
        elastic = raw.table(owner, "spec", "elasticPolicy")
        if self.shape.elastic and elastic and "worker" in least:
            where = "spec.elasticPolicy"
            most = count(elastic, f"{where}.maxReplicas", "maxReplicas", default=least["worker"])
            wanted = count(elastic, f"{where}.minReplicas", "minReplicas", default=most)
            if wanted > most and raw.at(elastic, "maxReplicas") is not None:
                raise Malformed(f"{where}: minReplicas {wanted} is above maxReplicas {most}")
            least["worker"] = min(wanted, least["worker"])
        return given, least

    def hosts(self, owner: JsonObject, pod: JsonObject) -> bool:
        """Do the others find each other through this pod? The operator marks it where no type of its own leads."""
        return raw.labels_of(pod).get(JOB_ROLE) == "master"

    def reserves_all(self, owner: JsonObject) -> bool:
        """Is room asked for all pods, whatever the minimum?"""
        return False

    # -- reading --------------------------------------------------------------------------------------------------------

    def replicas(self, owner: JsonObject) -> tuple[Replicas, ...]:
        """The replica types of a job, leaders first. Raises Malformed."""
        shape, field = self.shape, f"spec.{self.shape.field}"
        found: dict[str, Replicas] = {}
        for kind, key, spec in self._entries(owner):
            if not kind:
                raise Malformed(f"{field}.{key}: no such replica type; there are {', '.join(shape.types)}")
            if kind in found:
                raise Malformed(f"{field}.{key}: the replica type {kind} is there twice; keep one of the two")
            absent = (shape.absent or {}).get(kind, 1)
            number = count(spec, f"{field}.{key}.replicas", "replicas", default=absent)
            pods = template(spec, f"{field}.{key}.template", "template")
            found[kind] = Replicas(kind.lower(), number, pods, kind in _LEADERS)
        if not found:
            raise Malformed(f"{field}: names no replica type; give at least one of {', '.join(shape.types)}")
        return tuple(found[kind] for kind in shape.types if kind in found)

    def _is_readable(self, owner: JsonObject) -> bool:
        try:
            self.replicas(owner)
        except Malformed:
            return False
        return True

    def _entries(self, owner: JsonObject) -> Iterator[tuple[str, str, JsonObject]]:
        """Replica type (empty when there is none such), its key as it stands, and its spec."""
        specs = raw.table(owner, "spec", self.shape.field)
        by_lower = {kind.lower(): kind for kind in self.shape.types}
        for key in specs:
            yield by_lower.get(key.lower(), ""), key, raw.table(specs, key)


def is_finished(job: JsonObject) -> bool:
    """Has it succeeded or failed?"""
    return any(holds(job, kind) for kind in FINISHED)


def is_suspended(job: JsonObject) -> bool:
    """Is it to have no pods?"""
    return raw.at(job, "spec", "runPolicy", "suspend") is True


def _live(job: JsonObject, seen: Seen) -> list[JsonObject]:
    """Pods of its own that neither ended nor are about to go."""
    return [
        pod
        for pod in seen.owned(PODS, raw.uid(job))
        if raw.controlled_by(pod, raw.uid(job))
        and not raw.terminating(pod)
        and raw.text(pod, "status", "phase") not in FINISHED
    ]


def _running(job: JsonObject, seen: Seen) -> tuple[str, ...]:
    """Names of those that have a node."""
    return tuple(raw.name(pod) for pod in _live(job, seen) if raw.text(pod, "spec", "nodeName"))


def _left(job: JsonObject, seen: Seen) -> Sequence[Gang]:
    """The group of pods that still run, so that their queue is charged. The training-operator deletes the group that bears the
    job's name when the job ends, and would do so again: one of another name takes the pods over then."""
    name, running = raw.name(job), _running(job, seen)
    if not running:
        return ()
    present = seen.get(PODGROUPS, raw.namespace(job), name)
    if present is not None and raw.controlled_by(present, raw.uid(job)):
        return (Gang(name),)
    return (Gang(f"{name}{REST}", takes=running),) if is_finished(job) else ()


def _first(roles: Sequence[Replicas], most: int) -> Mapping[str, int]:
    """How many pods of each task are among the first `most`."""
    taken: dict[str, int] = {}
    for role in roles:
        taken[role.task] = min(role.count, most)
        most -= taken[role.task]
    return taken


def _given_resources(job: JsonObject) -> JsonObject | None:
    """minResources as the job says them. Malformed when an amount cannot be read."""
    path = ("spec", "runPolicy", "schedulingPolicy", "minResources")
    found = raw.at(job, *path)
    if found is None:
        return None
    if not isinstance(found, dict):
        raise Malformed(f"{'.'.join(path)}: must be a map of resources, got {found!r}")
    for resource, amount in found.items():
        try:
            readable = isinstance(amount, str | int | float) and parse_quantity(amount) >= 0
        except QuantityError:
            readable = False
        if not readable:
            raise Malformed(f"{'.'.join(path)}.{resource}: must be an amount of at least 0, got {amount!r}")
    return found
