"""Makes a vcjob at each time of a CronJob's schedule, keeps count of those that run, and clears away old ones.

A turn: take ended and vanished jobs from the active ones, write down times that a cut-short turn left out, clear away history,
start what is due as the concurrency policy allows, write the status, come again 100 ms after the next time. A job's name follows
from its time, so no time is started twice: the server refuses the second one; and a job that is found keeps its time from being
due even when the status was not written any more (`Memory.served`). One step that fails does not stop those after it, except that
nothing is started beside a job that Replace could not delete; the turn then comes again, without limit.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import tzinfo
from typing import ClassVar, Final

from vcray.api.cron import Schedule, has_own_zone, load_zone, parse_schedule
from vcray.api.meta import JsonObject, seconds_of
from vcray.api.resources import CRONJOBS, JOBS, Resource
from vcray.controllers import raw
from vcray.controllers.base import (
    Again,
    Change,
    Create,
    Delete,
    Effects,
    Read,
    ReconcileError,
    Request,
    Seen,
    Steps,
    one_object_each,
)
from vcray.controllers.cronjob.book import Book, Memory
from vcray.controllers.cronjob.jobs import (
    CONCURRENCY,
    Beside,
    cron_job_of,
    history_to_delete,
    is_over,
    job_name,
    new_job,
    phase_of,
    slot_of,
)
from vcray.controllers.cronjob.times import plan, seconds_at

SLACK_S: Final = 0.1
"""A turn comes this much after a time of the schedule, so that it is over by then."""

AFTER_A_FAULT_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class CronRequest:
    """Look after a CronJob; `timer` is when this was promised, 0 for one that a change asks for."""

    namespace: str
    cron_job: str
    uid: str
    timer: float = 0.0

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.cron_job}"


class CronJobController:
    """Volcano's CronJobs."""

    name: ClassVar[str] = "cronjob-controller"
    watches: ClassVar[tuple[Resource, ...]] = (CRONJOBS, JOBS)
    starts_anew: bool = True

    def __init__(self, max_requeue: int = 15) -> None:
        self.max_requeue = max_requeue
        self._memory: dict[str, Memory] = {}

    def requests(self, change: Change, seen: Seen) -> Iterable[Request]:
        """Every change of a CronJob; jobs of one that come, go, change their phase or are being deleted."""
        for each in one_object_each(change):
            if change.resource == CRONJOBS:
                yield from self._on_cron_job(each)
            else:
                yield from self._on_job(each)

    def reconcile(self, request: Request, seen: Seen, now: float) -> Effects:
        """Bring a CronJob up to date. ReconcileError when something failed and nothing comes back yet, never against the limit."""
        assert isinstance(request, CronRequest)
        cron_job = seen.get(CRONJOBS, request.namespace, request.cron_job)
        if cron_job is None or raw.uid(cron_job) != request.uid:
            self._memory.pop(request.uid, None)
            return
        memory = self._of(request.uid)
        if memory.timer == request.timer:
            memory.timer = 0.0
        if memory.moved:
            memory.moved, memory.moved_at = False, now
        jobs = [job for job in seen.owned(JOBS, request.uid) if raw.controlled_by(job, request.uid)]
        try:
            yield from self._turn(Book.opened(cron_job, jobs, memory, now), request, seen)
        except ReconcileError:
            if memory.failing not in (None, request):
                return
            memory.failing = request
            raise
        if memory.failing == request:
            memory.failing = None

    def gave_up(self, request: Request, seen: Seen, now: float) -> Effects:
        """Only a fault of ours gets here: what stands in its way may be over in a while, and the clock must not stop."""
        assert isinstance(request, CronRequest)
        self._of(request.uid).failing = None
        yield Again(AFTER_A_FAULT_S, CronRequest(request.namespace, request.cron_job, request.uid))

    def _turn(self, book: Book, request: CronRequest, seen: Seen) -> Effects:
        memory = book.memory
        yield from _take_in_ends(book)
        if memory.served > (book.last_schedule or 0.0):
            book.last_schedule = memory.served
            yield from book.written()  # before a job that proves it is deleted
        for job in history_to_delete(book.cron_job, book.jobs):
            yield from _delete(book, job)
        yield from _check_references(book, seen)
        if not raw.terminating(book.cron_job) and raw.at(book.cron_job, "spec", "suspend") is not True:
            yield from _start_what_is_due(book, request)
        yield from book.written()
        if book.failures:
            raise ReconcileError("; ".join(book.failures), counts=False)

    def _of(self, uid: str) -> Memory:
        return self._memory.setdefault(uid, Memory())

    def _on_cron_job(self, change: Change) -> Iterable[Request]:
        cron_job = change.object
        if change.old is not None and change.new is not None and _when(change.old) != _when(change.new):
            self._of(raw.uid(cron_job)).moved = True
        yield CronRequest(raw.namespace(cron_job), raw.name(cron_job), raw.uid(cron_job))

    def _on_job(self, change: Change) -> Iterable[Request]:
        for job in (change.old, change.new):
            name, uid = ("", "") if job is None else cron_job_of(job)
            if job is None or not uid:
                continue
            memory = self._of(uid)
            memory.served = max(memory.served, slot_of(job))
            if change.new is None:
                memory.deleted.discard(raw.uid(job))
            if _standing(change.old) != _standing(change.new):
                yield CronRequest(raw.namespace(job), name, uid)


def _when(cron_job: JsonObject) -> tuple[str, str]:
    return raw.text(cron_job, "spec", "schedule"), raw.text(cron_job, "spec", "timeZone")


def _standing(job: JsonObject | None) -> tuple[str, bool, str] | None:
    """What a CronJob wants to know of a job."""
    return None if job is None else (phase_of(job), raw.terminating(job), cron_job_of(job)[1])


def _take_in_ends(book: Book) -> Effects:
    """Ended jobs are not active; the latest success is noted; jobs that a cut-short turn made are active."""
    active = {raw.text(each, "uid") for each in book.active}
    for job in book.jobs:
        uid, name = raw.uid(job), raw.name(job)
        if is_over(job):
            if uid in active:
                yield from _end(book, job)
            _note_success(book, job)
        elif uid not in active:
            if slot_of(job):
                book.begun(job)
            else:
                why = f"Detected orphaned job forgotten or not managed by controller: {name} (UID: {uid})"
                yield from book.warn_once("OrphanedJob", why, uid, uid)


def _end(book: Book, job: JsonObject) -> Effects:
    book.ended(raw.uid(job))
    yield from book.tell("Normal", "SawCompletedJob", f"Saw completed job: {raw.name(job)} in active, remove")


def _note_success(book: Book, job: JsonObject) -> None:
    ended = seconds_at(job, "status", "state", "lastTransitionTime")
    if phase_of(job) != "Completed" or ended is None:
        return
    known = seconds_of(book.last_successful)
    if known is None or ended > known:
        book.last_successful = raw.text(job, "status", "state", "lastTransitionTime")


def _delete(book: Book, job: JsonObject) -> Steps[bool]:
    """Delete a job, unless somebody does already; whether it is on its way."""
    name, uid = raw.name(job), raw.uid(job)
    if not raw.terminating(job):
        outcome = yield Delete(JOBS, raw.namespace(job), name, uid=uid)
        if not (outcome.ok or outcome.not_found or outcome.conflict):
            why = outcome.why
            yield from book.tell("Warning", "FailedDelete", f'Error deleting job "{name}": {why}')
            book.failures.append(f"delete Job {name}: {why}")
            return False
        yield from book.tell("Normal", "SuccessfulDelete", f'Deleted job "{name}"')
    book.memory.deleted.add(uid)
    book.ended(uid)
    book.jobs = [each for each in book.jobs if raw.uid(each) != uid]
    return True


def _check_references(book: Book, seen: Seen) -> Effects:
    """Active jobs that are not among the CronJob's are looked up: the mirror may be behind, or somebody disowned them."""
    known = {raw.uid(job) for job in book.jobs}
    for each in list(book.active):
        name, uid = raw.text(each, "name"), raw.text(each, "uid")
        if uid in known:
            continue
        if uid in book.memory.deleted:
            book.ended(uid)
            continue
        namespace = raw.namespace(book.cron_job)
        job = seen.get(JOBS, namespace, name)
        if job is None or raw.uid(job) != uid:
            outcome = yield Read(JOBS, namespace, name)
            if not outcome.ok and not outcome.not_found:
                yield from book.tell("Warning", "FailedGet", f"Get job: {outcome.why}")
                book.failures.append(f"read Job {name}: {outcome.why}")
                continue
            job = outcome.object if outcome.ok else None
        if job is None:
            book.ended(uid)
            why = f'Active job "{name}" no longer exists (UID: {uid})'
            yield from book.tell("Warning", "StaleReference", why)
        elif raw.uid(job) != uid:
            book.ended(uid)
            why = f"points to a different UID (expected: {uid}, actual: {raw.uid(job)})"
            yield from book.tell("Warning", "StaleReference", f'Active job reference "{name}" {why}')
        elif is_over(job):
            yield from _end(book, job)


def _start_what_is_due(book: Book, request: CronRequest) -> Effects:
    """Promise the turn after the next time, and start the time that is due. What cannot be read is told, and waits for a change."""
    read = yield from _read_schedule(book)
    if read is None:
        return
    schedule, zone = read
    cron_job, memory, now = book.cron_job, book.memory, book.now
    since = book.last_schedule or seconds_at(cron_job, "metadata", "creationTimestamp") or now
    limit = raw.at(cron_job, "spec", "startingDeadlineSeconds")
    deadline = now - limit if isinstance(limit, int) else 0.0
    found = plan(schedule, since, max(deadline, memory.moved_at), now)
    if found.following is not None:
        yield from _promise(book, request, found.following + SLACK_S)
    elif found.due is None:
        why = "Error getting schedule time: the schedule has no time within five years"
        yield from book.warn_once("InvalidSchedule", why, _generation(cron_job))
    if found.due is None:
        return
    if found.too_many:
        why = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"
        yield from book.warn_once("TooManyMissedTimes", why, str(found.due))
    if job_name(cron_job, found.due) in map(raw.name, book.jobs):
        book.last_schedule = found.due  # a second time within the minute: its job is there
    elif (yield from _make_room(book, found.due)):
        yield from _create(book, found.due, zone)


def _read_schedule(book: Book) -> Steps[tuple[Schedule, tzinfo] | None]:
    """The schedule with the CronJob's time zone, which one within the schedule goes before."""
    cron_job = book.cron_job
    (text, name), about = _when(cron_job), _generation(cron_job)
    try:
        zone = load_zone(name)
    except ValueError as error:
        yield from book.warn_once("InvalidTimeZone", f'Invalid time zone "{name}": {error}', about + name)
        return None
    if has_own_zone(text):
        why = f'CRON_TZ or TZ in the schedule "{text}" is not officially supported.'
        what = "If set, the TimeZone field will be ignored during execution."
        yield from book.warn_once("UnsupportedSchedule", f"{why} {what}", about + text)
    try:
        return parse_schedule(text, zone), zone
    except ValueError:
        why = f"unparseable schedule for cronjob: {text}"
        yield from book.warn_once("UnParseableCronJobSchedule", why, about + text)
        return None


def _promise(book: Book, request: CronRequest, at: float) -> Effects:
    if book.memory.timer != at:
        book.memory.timer = at
        yield Again(at - book.now, CronRequest(request.namespace, request.cron_job, request.uid, at))


def _make_room(book: Book, slot: float) -> Steps[bool]:
    """What the concurrency policy does about active jobs; whether another one may be made."""
    policy = CONCURRENCY.get(raw.text(book.cron_job, "spec", "concurrencyPolicy"), Beside.MAKE)
    if not book.active or policy is Beside.MAKE:
        return True
    if policy is Beside.SKIP:
        why = "Skipping job creation because another job is already running"
        yield from book.warn_once("ForbidConcurrent", why, str(slot))
        return False
    yield from book.warn_once("ReplaceConcurrent", "Replacing active job for CronJob", str(slot))
    jobs = {raw.uid(job): job for job in book.jobs}
    for each in list(book.active):
        job: JsonObject = jobs.get(raw.text(each, "uid")) or {"metadata": {**each}}
        if not (yield from _delete(book, job)):
            return False
    return True


def _create(book: Book, slot: float, zone: tzinfo) -> Effects:
    cron_job = book.cron_job
    namespace, name = raw.namespace(cron_job), job_name(cron_job, slot)
    outcome = yield Create(JOBS, new_job(cron_job, slot, zone))
    if outcome.ok and outcome.object is not None:
        book.begun(outcome.object)
        book.last_schedule = slot
        whose = f"CronJob {namespace}/{raw.name(cron_job)}"
        yield from book.tell("Normal", "SuccessfulCreate", f"Created job {name} for {whose}")
    elif outcome.already_exists:
        yield from _take_over(book, slot, name)
    elif outcome.status == 403 and "being terminated" in outcome.message:
        why = f"Namespace {namespace} is terminating, skipping job creation"
        yield from book.warn_once("NamespaceTerminating", why, namespace)
    else:
        yield from book.tell("Warning", "FailedCreate", f"Failed to create job: {outcome.why}")
        book.failures.append(f"create Job {name}: {outcome.why}")


def _take_over(book: Book, slot: float, name: str) -> Effects:
    """A job of that name exists: ours has served the time, somebody else's keeps it from being served."""
    outcome = yield Read(JOBS, raw.namespace(book.cron_job), name)
    job = outcome.object
    if not outcome.ok or job is None:
        if not outcome.not_found:
            yield from book.tell("Warning", "FailedGet", f"Get job: {outcome.why}")
        book.failures.append(f"read Job {name}: {outcome.why}")
    elif not raw.controlled_by(job, raw.uid(book.cron_job)):
        owner = raw.text(raw.controller(job), "name") or "none"
        why = f"Job {name} exists but is not owned by this CronJob (current owner: {owner})"
        yield from book.warn_once("ForeignJob", why, str(slot))
    else:
        book.last_schedule = slot
        if not is_over(job):
            book.begun(job)


def _generation(cron_job: JsonObject) -> str:
    return f"{raw.number(cron_job, 'metadata', 'generation')} "
