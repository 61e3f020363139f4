"""Names on each JobTemplate the jobs that were made from it: `status.jobDependsOnList`.

The list is written anew when a template or a job of it appears, and holds the jobs that are there then, alphabetically;
a deletion alone writes nothing, and while there is no job nothing is written. The rules are Volcano's. Remembered is
which jobs bear the label of which template, built again from the first list.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from vcray.api import names
from vcray.api.meta import JsonObject
from vcray.api.resources import JOBS, JOBTEMPLATES, Resource
from vcray.controllers import raw
from vcray.controllers.base import (
    Change,
    Effects,
    Emit,
    ReconcileError,
    Request,
    Seen,
    UpdateStatus,
    one_object_each,
)


@dataclass(frozen=True, slots=True)
class TemplateRequest:
    """Bring a template's list up to date."""

    namespace: str
    template: str

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.template}"


class JobTemplateController:
    """Keeps `status.jobDependsOnList` of every JobTemplate."""

    name: ClassVar[str] = "jobtemplate-controller"
    watches: ClassVar[tuple[Resource, ...]] = (JOBTEMPLATES, JOBS)
    starts_anew: bool = True

    def __init__(self, max_requeue: int = 15) -> None:
        self.max_requeue = max_requeue
        self._jobs: dict[TemplateRequest, set[tuple[str, str]]] = {}
        self._errors: dict[Request, str] = {}

    def requests(self, change: Change, seen: Seen) -> Iterable[Request]:
        """A template that appears, or a job with a template's label that does."""
        for each in one_object_each(change):
            if change.resource == JOBTEMPLATES:
                if each.old is None:
                    yield TemplateRequest(raw.namespace(each.object), raw.name(each.object))
                continue
            found = self._follow(each)
            if found is not None and each.old is None:
                yield found

    def reconcile(self, request: Request, seen: Seen, now: float) -> Effects:
        """Write the list where it differs; a template that is gone needs none."""
        assert isinstance(request, TemplateRequest)
        template = seen.get(JOBTEMPLATES, request.namespace, request.template)
        jobs = sorted({name for _, name in self._jobs.get(request, ())})
        if template is not None and jobs:
            status: JsonObject = {"jobDependsOnList": list(jobs)}
            if status != raw.table(template, "status"):
                outcome = yield UpdateStatus(JOBTEMPLATES, {**template, "status": status})
                if not outcome.ok and not outcome.not_found:
                    self._errors[request] = outcome.why
                    raise ReconcileError(self._errors[request])
        self._errors.pop(request, None)

    def gave_up(self, request: Request, seen: Seen, now: float) -> Effects:
        """Say so on the template."""
        assert isinstance(request, TemplateRequest)
        error = self._errors.pop(request, "")
        template = seen.get(JOBTEMPLATES, request.namespace, request.template)
        if template is not None:
            message = f"SyncJobTemplate JobTemplate failed for {error}"
            yield Emit(JOBTEMPLATES, template, "Warning", "SyncJobTemplate", message)

    def _follow(self, change: Change) -> TemplateRequest | None:
        """Note which template a job is of now; that template."""
        job = change.object
        key = (raw.namespace(job), raw.name(job))
        old = None if change.old is None else _template_of(change.old)
        new = None if change.new is None else _template_of(change.new)
        if old is not None and old != new:
            jobs = self._jobs.get(old, set())
            jobs.discard(key)
            if not jobs:
                self._jobs.pop(old, None)
        if new is not None:
            self._jobs.setdefault(new, set()).add(key)
        return new


def _template_of(job: JsonObject) -> TemplateRequest | None:
    """The template that the label names, `NAMESPACE.NAME`: a namespace has no dots, a name may have some."""
    label = raw.labels_of(job).get(names.CREATED_BY_JOB_TEMPLATE, "")
    namespace, dot, name = label.partition(".")
    return TemplateRequest(namespace, name) if dot and name and namespace == raw.namespace(job) else None
