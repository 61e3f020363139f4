"""Which jobs belong to a flow, which it lacks, and what each of them is made of.

A job is the flow's when the flow manages it, or when nobody does and it bears the flow's label, as after a flow was
deleted without its jobs and made again. How a job had ended before its time to live took it is read from the flow's
`jobStatusList`: a job that goes by itself must not be made and run again for that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from vcray.api import names
from vcray.api.batch import JobPhase
from vcray.api.meta import JsonObject
from vcray.api.resources import JOBFLOWS, JOBS, JOBTEMPLATES
from vcray.controllers import raw
from vcray.controllers.base import Seen

ENDED: Final = (JobPhase.COMPLETED, JobPhase.FAILED, JobPhase.TERMINATED)
"""Phases that a job does not leave."""


class FlowJobs:
    """The jobs of one flow as they were at one moment. `own` is by name, `foreign` are names that others have taken.

    `vanished` are jobs, by name, that went before the flow could note how they ended; they count as if they were there."""

    def __init__(self, flow: JsonObject, seen: Seen, vanished: Mapping[str, JsonObject]) -> None:
        self.flow = flow
        self._namespace = raw.namespace(flow)
        self._flows = raw.tables(flow, "spec", "flows")
        self.wanted: tuple[str, ...] = tuple(dict.fromkeys(raw.text(each, "name") for each in self._flows))
        """Names of the flow's templates, in order, each once."""
        uid = raw.uid(flow)
        own = [job for job in seen.owned(JOBS, uid) if raw.controlled_by(job, uid)]
        named = (seen.get(JOBS, self._namespace, self.job_name(each)) for each in self.wanted)
        there = [job for job in named if job is not None]
        own += [job for job in there if belongs(job, flow)]
        self.own: Mapping[str, JsonObject] = {**vanished, **{raw.name(job): job for job in own}}
        self.foreign = tuple(raw.name(job) for job in there if raw.name(job) not in self.own)
        self._ended = self._ended_and_gone(seen)

    def job_name(self, template: str) -> str:
        """The name of the job that is made from a template."""
        return job_name(self.flow, template)

    def doubles(self) -> list[str]:
        """Names that stand more than once in the flow."""
        counts = Counter(raw.text(each, "name") for each in self._flows)
        return [name for name in self.wanted if counts[name] > 1]

    def phases(self) -> list[str]:
        """Phases of the flow's jobs, of those too that their time to live took."""
        return [*map(phase_of, self.own.values()), *self._ended.values()]

    def completed(self, template: str) -> bool:
        """Has the job of this template completed?"""
        name = self.job_name(template)
        phase = phase_of(self.own[name]) if name in self.own else self._ended.get(name)
        return phase == JobPhase.COMPLETED

    def due(self) -> list[str]:
        """Templates whose job is not there, has not ended, and has nothing left to wait for, each once."""
        ready = {
            raw.text(each, "name")
            for each in self._flows
            if all(self.completed(target) for target in _targets(each))
        }
        taken = {*self.own, *self.foreign, *self._ended}
        return [name for name in self.wanted if name in ready and self.job_name(name) not in taken]

    def _ended_and_gone(self, seen: Seen) -> dict[str, str]:
        """Name -> phase of jobs that are gone, had ended as the flow's status tells, and have a time to live."""
        found = {}
        taken = {*self.own, *self.foreign}
        template_of = {self.job_name(name): name for name in self.wanted}
        for entry in raw.tables(self.flow, "status", "jobStatusList"):
            name, phase = raw.text(entry, "name"), raw.text(entry, "state")
            if name in template_of and name not in taken and phase in ENDED:
                template = seen.get(JOBTEMPLATES, self._namespace, template_of[name])
                if template is not None and goes_by_itself(template):
                    found[name] = phase
        return found


def job_name(flow: JsonObject, template: str) -> str:
    """`FLOW-TEMPLATE`."""
    return f"{raw.name(flow)}-{template}"


def mark(namespace: str, name: str) -> str:
    """The value of the labels and annotations that say what a job was made from and for: `NAMESPACE.NAME`."""
    return f"{namespace}.{name}"


def flow_of(job: JsonObject) -> str:
    """The name of the flow that manages the job, or that its label names if nobody manages it; "" for other jobs."""
    owner = raw.controller(job)
    if owner:
        is_flow = owner.get("kind") == JOBFLOWS.kind and owner.get("apiVersion") == JOBFLOWS.api_version
        return raw.text(owner, "name") if is_flow else ""
    namespace, _, name = raw.labels_of(job).get(names.CREATED_BY_JOB_FLOW, "").partition(".")
    return name if namespace == raw.namespace(job) else ""


def belongs(job: JsonObject, flow: JsonObject) -> bool:
    """Is the job this flow's, and not that of an earlier flow of its name?"""
    mine = not raw.controller(job) or raw.controlled_by(job, raw.uid(flow))
    return mine and flow_of(job) == raw.name(flow)


def goes_by_itself(item: JsonObject) -> bool:
    """Has a job, or a template's job, a time to live after its end?"""
    return raw.at(item, "spec", "ttlSecondsAfterFinished") is not None


def phase_of(job: JsonObject) -> str:
    """status.state.phase, "" for a job that nobody has looked at yet."""
    return raw.text(job, "status", "state", "phase")


def job_from(flow: JsonObject, template: JsonObject) -> JsonObject:
    """The job that a flow makes from a template: its spec as it is, and the flow as managing owner."""
    namespace = raw.namespace(flow)
    marks: dict[str, str] = {
        names.CREATED_BY_JOB_TEMPLATE: mark(namespace, raw.name(template)),
        names.CREATED_BY_JOB_FLOW: mark(namespace, raw.name(flow)),
    }
    return {
        "apiVersion": JOBS.api_version,
        "kind": JOBS.kind,
        "metadata": {
            "name": job_name(flow, raw.name(template)),
            "namespace": namespace,
            "labels": raw.strings(marks),
            "annotations": raw.strings(marks),
            "ownerReferences": [raw.owner_reference(JOBFLOWS.api_version, JOBFLOWS.kind, flow)],
        },
        "spec": raw.copied(raw.table(template, "spec")),
    }


def _targets(flow: JsonObject) -> list[str]:
    targets = raw.at(flow, "dependsOn", "targets")
    return [name for name in targets if isinstance(name, str)] if isinstance(targets, list) else []
