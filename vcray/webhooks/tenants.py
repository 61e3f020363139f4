"""Tenants kept apart: who may use a queue, who may join a gang, who may mark what a controller owns.

Ours, not Volcano's, and off unless it is turned on (docs/tenants.md). A namespace is the border that Kubernetes' own rights draw;
what crosses it is the queue, and within it the objects of controllers. So there are three rules:

1. A queue may say whom it serves, by annotations on the Queue, else on the nearest queue above. Who asks is known by the
   namespace, by the user and groups of the request, and by the ServiceAccounts of the pods. Operators alone open and close it.
2. A PodGroup with an owner takes in pods of the same owner only, put there by somebody whose word on owners counts.
3. Pods of a vcjob and PodGroups with an owner carry marks, queue and priority as their controller wrote them.

Everything is judged by what a change changes, so that objects from before these rules can still be updated.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from typing import Final

from vcray.api import names
from vcray.api.jsonview import dig, dig_object, dig_objects, dig_str, dig_strings
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import QUEUES
from vcray.webhooks.base import Answer, Request, annotations_of, name_of
from vcray.webhooks.queue_access import accounts_of, queue_problem

MASTERS: Final = "system:masters"
"""The group that Kubernetes refuses nothing; nor do we."""
KUBERNETES: Final = (
    "system:serviceaccount:kube-system:*",
    "system:kube-controller-manager",
    "system:kube-scheduler",
    "system:node:*",
)
"""Accounts that write owners as they are."""
MARKS: Final = ("volcano.sh/", "scheduling.volcano.sh/", names.GROUP_NAME)
"""Beginnings of the annotations and labels that scheduling goes by."""
_JOBS: Final = f"{names.BATCH_GROUP}/"
_QUEUES: Final = f"{QUEUES.group}/"


def jobs(request: Request) -> Answer:
    """On CREATE, and on UPDATE of the queue: the one in which its PodGroup will wait serves whoever asks. A Job that our CronJob
    controller makes was judged with its CronJob."""
    queue, before = (
        dig_str(each, "spec", "queue") or names.DEFAULT_QUEUE for each in (request.new, request.old)
    )
    if _is_master(request) or (bool(request.old) and queue == before):
        return Answer()
    if is_operator(request) and _is_owned(request.new, _JOBS, "CronJob"):
        return Answer()
    templates = (dig_object(task, "template") for task in dig_objects(request.new, "spec", "tasks"))
    return Answer(_queue(request, _landing(request, queue), templates))


def cronjobs(request: Request) -> Answer:
    """On CREATE, and on UPDATE of the template: the queue of the jobs to come serves whoever asks."""
    before, after = (dig(each, "spec", "jobTemplate", "spec") for each in (request.old, request.new))
    if _is_master(request) or before == after:
        return Answer()
    templates = (dig_object(task, "template") for task in dig_objects(after, "tasks"))
    return Answer(_queue(request, _landing(request, dig_str(after, "queue")), templates))


def podgroups(request: Request) -> Answer:
    """On CREATE and UPDATE: no forged owner, no change of what a controller owns, and a queue that serves whoever asks. A Job's PodGroup was judged with
    its Job, unless it may be the namespace that brought it into its queue."""
    if _is_master(request):
        return Answer()
    new, old = request.new, request.old
    if not is_believed(request):
        if old and _owners(old) and _scheduling(old) != _scheduling(new):
            return Answer(_owned_text(request, "PodGroup", old))
        forged = _forged(new, old)
        if forged:
            return Answer(forged)
    queue = dig_str(new, "spec", "queue")
    if queue == dig_str(old, "spec", "queue"):
        return Answer()
    made_by_us = is_operator(request) and _is_owned(new, _JOBS, "Job")
    if made_by_us and (not queue or queue != _tied(request)):
        return Answer()
    return Answer(_queue(request, queue, (), for_pods=is_operator(request) and bool(_owners(new))))


def commands(request: Request) -> Answer:
    """On CREATE, and on UPDATE of the target: only operators ask something of a queue. The controller obeys a Command wherever it
    stands, so a namespace is no border here; it takes in changed ones when it starts anew (api-controllers.md 4.2)."""
    target = dig_object(request.new, "target")
    if _is_master(request) or is_operator(request) or target == dig_object(request.old, "target"):
        return Answer()
    if dig_str(target, "kind") != QUEUES.kind or not dig_str(target, "apiVersion").startswith(_QUEUES):
        return Answer()
    return Answer(
        f"command {request.namespace}/{_called(request)} must not target queue {dig_str(target, 'name')}: user {request.user.name or '-'} "
        "is no operator of the control plane; ask who administers the queue, or be named in --tenant-operators"
    )


def pods(request: Request) -> Answer:
    """On CREATE and UPDATE: no forged owner, no foreign gang, marks of a vcjob's pods untouched, a queue that serves the pod."""
    return Answer() if _is_master(request) else Answer(next(_pod_problems(request), ""))


def _pod_problems(request: Request) -> Iterator[str]:
    new, old = request.new, request.old
    if not is_believed(request):
        if (
            old
            and _is_owned(old, _JOBS, "Job")
            and (_owners(old), _marks(old)) != (_owners(new), _marks(new))
        ):
            yield _owned_text(request, "pod", old)
        forged = _forged(new, old)
        if forged:
            yield forged
    if not is_operator(request):
        yield from _gang_problems(request)
    queue = annotations_of(new).get(names.POD_QUEUE_NAME, "")
    made_by_us = is_operator(request) and _is_owned(new, _JOBS, "Job")
    if queue and queue != annotations_of(old).get(names.POD_QUEUE_NAME) and not made_by_us:
        problem = _queue(request, queue, (new,))
        if problem:
            yield problem


def _gang_problems(request: Request) -> Iterator[str]:
    """A group that has owners takes in their pods only; an owner that a user wrote himself does not count."""
    new, old = request.new, request.old
    for key in (names.GROUP_NAME, names.VOLCANO_GROUP_NAME):
        name = annotations_of(new).get(key, "")
        if not name or name == annotations_of(old).get(key):
            continue
        group = request.look.podgroup(request.namespace, name)
        owners = _owners(group or {})
        vouched = _owners(new) if is_believed(request) else _owners(old)
        if owners and owners.isdisjoint(vouched | {dig_str(new, "metadata", "uid")}):
            first = dig_object(group or {}, "metadata", "ownerReferences", 0)
            yield (
                f"pod {request.namespace}/{_called(request)} must not join PodGroup {name}: that belongs to "
                f"{dig_str(first, 'kind')} {dig_str(first, 'name')}; leave out the annotation {key}, or name a PodGroup of your own"
            )


# -- who asks ---------------------------------------------------------------------------------------------------------


def is_operator(request: Request) -> bool:
    """Is it the control plane, or an account that an administrator named as an operator?"""
    ours = f"system:serviceaccount:{request.rules.release_namespace}:*"
    wanted = (ours, *request.rules.operators)
    return any(
        fnmatchcase(each, pattern) for each in (request.user.name, *request.user.groups) for pattern in wanted
    )


def is_believed(request: Request) -> bool:
    """Does its word on who owns an object count?"""
    return is_operator(request) or any(fnmatchcase(request.user.name, pattern) for pattern in KUBERNETES)


def _is_master(request: Request) -> bool:
    return MASTERS in request.user.groups


def _tied(request: Request) -> str:
    """The queue that an annotation ties the namespace to; empty without one."""
    return annotations_of(request.look.namespace(request.namespace) or {}).get(names.POD_QUEUE_NAME, "")


def _landing(request: Request, queue: str) -> str:
    """The queue of the PodGroup that a Job of this queue is given, once `/podgroups/mutate` has seen it."""
    return _tied(request) or queue if queue in ("", names.DEFAULT_QUEUE) else queue


def _queue(request: Request, queue: str, pods: Iterable[JsonObject], for_pods: bool = False) -> str:
    """Why the queue does not serve this request; `for_pods`: asked for pods whose own accounts are not known any more."""
    accounts = accounts_of(request.namespace, pods)
    return queue_problem(request, queue or names.DEFAULT_QUEUE, accounts, for_pods)


# -- what an object says ----------------------------------------------------------------------------------------------


def _owners(obj: JsonObject) -> set[str]:
    return {dig_str(each, "uid") for each in dig_objects(obj, "metadata", "ownerReferences")} - {""}


def _is_owned(obj: JsonObject, group: str, kind: str) -> bool:
    return any(_is_of(each, group, kind) for each in dig_objects(obj, "metadata", "ownerReferences"))


def _is_of(owner: JsonObject, group: str, kind: str) -> bool:
    return dig_str(owner, "apiVersion").startswith(group) and dig_str(owner, "kind") == kind


def _forged(new: JsonObject, old: JsonObject) -> str:
    """A vcjob that somebody else than its controller writes down as an owner."""
    for owner in dig_objects(new, "metadata", "ownerReferences"):
        if _is_of(owner, _JOBS, "Job") and dig_str(owner, "uid") not in _owners(old):
            return (
                f"metadata.ownerReferences must not name Job {dig_str(owner, 'name')}: only the job controller makes what a Job "
                "owns; leave the owner out"
            )
    return ""


def _marks(obj: JsonObject) -> tuple[dict[str, str], ...]:
    """Annotations and labels that scheduling goes by."""
    return tuple(
        {key: value for key, value in dig_strings(obj, "metadata", field).items() if key.startswith(MARKS)}
        for field in ("annotations", "labels")
    )


def _scheduling(group: JsonObject) -> tuple[JsonValue, ...]:
    """What only the owner's controller changes: spec, owners, marks. The status is the scheduler's, and not looked at."""
    return (dig(group, "spec"), sorted(_owners(group)), *_marks(group))  # type: ignore[arg-type]


def _owned_text(request: Request, kind: str, obj: JsonObject) -> str:
    owner = dig_object(obj, "metadata", "ownerReferences", 0)
    return (
        f"{kind} {request.namespace}/{_called(request)} belongs to {dig_str(owner, 'kind')} {dig_str(owner, 'name')}, whose controller "
        "alone changes its queue, priority and volcano.sh marks; change the owner instead"
    )


def _called(request: Request) -> str:
    return request.name or name_of(request.new) or dig_str(request.new, "metadata", "generateName")
