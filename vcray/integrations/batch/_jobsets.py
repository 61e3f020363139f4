"""What JobSets, and those that TrainJobs make, have in common (integrations.md 4.1).

A JobSet starts in stages where it says so: Jobs of a later stage do not exist yet, or are suspended. A gang of all pods could never
be whole, so the gang is the current stage, while room is held for the most that ever live at once (traps T12, T24).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from vcray.api.jsonview import holds
from vcray.api.meta import JsonObject
from vcray.controllers import raw
from vcray.controllers.podusage import Usage, add_usage, usage_json
from vcray.integrations.base import Gang, Malformed, Part, SubGroups, count, template
from vcray.integrations.podgroups import pod_room

NAME: Final = "jobset.sigs.k8s.io/jobset-name"
REPLICATED_JOB: Final = "jobset.sigs.k8s.io/replicatedjob-name"
JOB_KEY: Final = "jobset.sigs.k8s.io/job-key"
ATTEMPT: Final = "jobset.sigs.k8s.io/restart-attempt"
EXCLUSIVE: Final = "alpha.jobset.sigs.k8s.io/exclusive-topology"
NODE_SELECTOR: Final = "alpha.jobset.sigs.k8s.io/node-selector"
OPERATOR: Final = "jobset.sigs.k8s.io/jobset-controller"
FINISHED: Final = ("Completed", "Failed")
READY: Final = "Ready"
COMPLETE: Final = "Complete"


@dataclass(frozen=True, slots=True)
class Step:
    """A replicatedJob: `jobs` Jobs of `pods` pods each, of which `first` exist before the others may.

    `after` are steps that come before it, each with the status that it waits for."""

    name: str
    jobs: int
    pods: int
    first: int
    template: JsonObject
    after: Mapping[str, str]


def steps_of(jobset: JsonObject, spec: JsonObject, where: str) -> tuple[Step, ...]:
    """The replicatedJobs of a JobSet's spec, which `where` names; raises Malformed. `jobset` is the object whose annotations count."""
    in_order = raw.text(spec, "startupPolicy", "startupPolicyOrder") == "InOrder"
    steps: dict[str, Step] = {}
    for index, each in enumerate(raw.tables(spec, "replicatedJobs")):
        place = f"{where}.replicatedJobs[{index}]"
        name = raw.text(each, "name")
        if not name or name in steps:
            raise Malformed(f"{place}.name: each replicatedJob needs a name of its own, got '{name}'")
        after = {raw.text(on, "name"): raw.text(on, "status") for on in raw.tables(each, "dependsOn")}
        unknown = next((other for other in after if other not in steps), None)
        if unknown is not None:
            raise Malformed(f"{place}.dependsOn: '{unknown}' is no replicatedJob before this one")
        if in_order and steps:
            after.setdefault(next(reversed(steps)), READY)
        steps[name] = _step(jobset, each, place, name, after)
    if not steps:
        raise Malformed(f"{where}.replicatedJobs: at least one must be given")
    return tuple(steps.values())


def _step(jobset: JsonObject, each: JsonObject, place: str, name: str, after: Mapping[str, str]) -> Step:
    jobs = count(each, f"{place}.replicas", "replicas", default=1)
    at_once = count(each, f"{place}.template.spec.parallelism", "template", "spec", "parallelism", default=1)
    ends = count(
        each, f"{place}.template.spec.completions", "template", "spec", "completions", default=at_once
    )
    pods = min(at_once, ends)
    held = any(
        EXCLUSIVE in notes and NODE_SELECTOR not in notes
        for notes in (raw.annotations_of(jobset), raw.annotations_of(raw.table(each, "template")))
    )
    pod = template(each, f"{place}.template.spec.template", "template", "spec", "template")
    return Step(name, jobs, pods, min(pods, 1) if held else pods, pod, after)


def gang_of(jobset: JsonObject, steps: Sequence[Step], jobs: Sequence[JsonObject], name: str) -> Gang:
    """The current stage of a JobSet with these Jobs, as a gang `name`; room for the most that live at once."""
    now = stage(steps, newest(jobset, jobs))
    parts = tuple(_part(name, step, now[step.name]) for step in steps)
    return Gang(name, parts, min_resources=usage_json(most_room(steps)))


def _part(name: str, step: Step, jobs: int) -> Part:
    units = None
    if step.jobs > 1 and step.pods > 1 and step.first == step.pods:
        units = SubGroups(step.pods, jobs, {NAME: name, REPLICATED_JOB: step.name}, (JOB_KEY,))
    return Part(step.name, jobs * step.first, step.jobs * step.pods, step.template, units)


def newest(jobset: JsonObject, jobs: Sequence[JsonObject]) -> list[JsonObject]:
    """The Jobs of the last restart that are not being deleted."""
    attempts = [int(found) for job in jobs if (found := raw.labels_of(job).get(ATTEMPT, "")).isdecimal()]
    last = max([raw.number(jobset, "status", "restarts"), *attempts])
    return [
        job
        for job in jobs
        if not raw.terminating(job) and raw.labels_of(job).get(ATTEMPT, str(last)) == str(last)
    ]


def stage(steps: Sequence[Step], jobs: Sequence[JsonObject]) -> Mapping[str, int]:
    """Jobs of each step whose pods are here, or may come at any moment: those that are under way, and all of a step that waits
    for nothing any more. Jobs that have ended make no pods."""
    live, ended, good, ready = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    pods = {step.name: step.pods for step in steps}
    for job in jobs:
        name = raw.labels_of(job).get(REPLICATED_JOB, "")
        if has_ended(job):
            ended[name] += 1
            good[name] += not holds(job, "Failed")
        elif raw.at(job, "spec", "suspend") is not True:
            live[name] += 1
        done = raw.number(job, "status", "ready") + raw.number(job, "status", "succeeded")
        ready[name] += has_ended(job) or done >= pods.get(name, 0) > 0
    found: dict[str, int] = {}
    sizes = {step.name: step.jobs for step in steps}
    for step in steps:
        may_start = all(
            (good if status == COMPLETE else ready)[other] >= sizes[other]
            for other, status in step.after.items()
        )
        found[step.name] = max(0, step.jobs - ended[step.name]) if live[step.name] or may_start else 0
    return found


def most_room(steps: Sequence[Step]) -> Usage:
    """The most that the pods of all steps take at once, by resource: a step that another one waits for to complete is gone when
    that one starts."""
    level: dict[str, int] = {}
    gone_at: dict[str, int] = {}
    for step in steps:
        level[step.name] = 1 + max((level[other] for other in step.after), default=-1)
        for other in _completed_before(step, steps):
            gone_at[other] = min(gone_at.get(other, level[step.name]), level[step.name])
    most: Usage = {}
    for now in range(1 + max(level.values())):
        total: Usage = {}
        for step in steps:
            if level[step.name] <= now < gone_at.get(step.name, now + 1):
                room = pod_room(Part(step.name, 0, 0, step.template))
                add_usage(total, room, step.jobs * step.pods)
        for name, amount in total.items():
            most[name] = max(most.get(name, 0), amount)
    return most


def _completed_before(step: Step, steps: Sequence[Step]) -> Iterator[str]:
    """Steps that are over once this one starts."""
    by_name = {each.name: each for each in steps}
    for other, status in step.after.items():
        if status == COMPLETE:
            yield other
        yield from _completed_before(by_name[other], steps)


def is_finished(obj: JsonObject, kinds: Sequence[str] = FINISHED) -> bool:
    """Does one of these conditions hold?"""
    return any(holds(obj, kind) for kind in kinds)


def has_ended(job: JsonObject) -> bool:
    """Has a Job completed or failed?"""
    return holds(job, "Complete") or holds(job, "Failed")


def pod_templates(spec: JsonObject) -> tuple[JsonObject, ...]:
    """The pod templates of a JobSet's spec."""
    return tuple(
        raw.table(each, "template", "spec", "template") for each in raw.tables(spec, "replicatedJobs")
    )
