"""Admission of Jobs: what is filled in, and everything that would keep a job from ever running.

Texts and order after Volcano's `/jobs/mutate` and `/jobs/validate`. A new job hears all its problems at once, a changed
one the first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from vcray.api import names
from vcray.api.formats import dns_subdomain, qualified_name
from vcray.api.jobsize import too_many_pods
from vcray.api.jsonview import dig, dig_int, dig_object, dig_objects, dig_str
from vcray.api.meta import JsonObject
from vcray.api.scheduling import QueueState
from vcray.webhooks.base import Answer, Look, Request, add, name_of, queue_not_found, replace
from vcray.webhooks.job_policies import policies_problem
from vcray.webhooks.job_tasks import (
    dependencies_form_a_dag,
    examined_tasks,
    has_dependencies,
    missing_lead,
    task_problems,
    total_replicas,
)
from vcray.webhooks.job_updates import update_problem
from vcray.webhooks.jobs_defaults import default_job
from vcray.webhooks.podgroups import BOTH_TIERS, names_both_tiers

PLUGINS: Final = ("env", "hcclrank", "mpi", "pytorch", "ray", "ssh", "svc", "tensorflow")
"""Job plugins that a job may name: Volcano's."""


def mutate(request: Request) -> Answer:
    """On CREATE: the defaults as a patch. `tasks` is sent whole when any of it changes, `plugins` whenever there are any."""
    if request.operation != "CREATE":
        return Answer("expect operation to be 'CREATE' ")
    return Answer(patch=tuple(_defaults(request.new, request.rules.scheduler_name)))


def validate(request: Request) -> Answer:
    """On CREATE everything that is wrong, on UPDATE the first thing."""
    if request.operation == "CREATE":
        return Answer(_creation(request.new, request.look).strip())
    if request.operation == "UPDATE":
        return Answer(update_problem(request.old, request.new))
    return Answer("expect operation to be 'CREATE' or 'UPDATE'")


def _defaults(job: JsonObject, scheduler_name: str) -> Iterator[JsonObject]:
    before, after = dig_object(job, "spec"), dig_object(default_job(job, scheduler_name), "spec")
    for field in ("queue", "schedulerName", "maxRetry"):
        if before.get(field) != after.get(field):
            yield add(f"/spec/{field}", after[field])
    if before.get("tasks") != after.get("tasks"):
        yield replace("/spec/tasks", after["tasks"])
    if before.get("minAvailable") != after.get("minAvailable"):
        yield add("/spec/minAvailable", after["minAvailable"])
    if after.get("plugins") is not None:
        yield replace("/spec/plugins", after["plugins"])


def _creation(job: JsonObject, look: Look) -> str:
    if not dig_objects(job, "spec", "tasks"):
        return "No task specified in job spec"
    return missing_lead(job) or "".join(_problems(job, look))


def _problems(job: JsonObject, look: Look) -> Iterator[str]:
    if names_both_tiers(dig(job, "spec", "networkTopology")):
        yield BOTH_TIERS
    yield from task_problems(job)
    name = name_of(job)
    wrong = qualified_name(name)
    if wrong:
        yield f"create job with name {name} validate failed [{' '.join(wrong)}]"
    if total_replicas(examined_tasks(job)) < dig_int(job, "spec", "minAvailable"):
        yield " job 'minAvailable' should not be greater than total replicas in tasks;"
    too_many = too_many_pods(job)
    if too_many:
        yield f" {too_many};"
    yield policies_problem(dig_objects(job, "spec", "policies"), "spec.policies")
    for plugin in dig_object(job, "spec", "plugins"):
        if plugin not in PLUGINS:
            yield f" unable to find job plugin: {plugin};"
    yield _volume_problem(dig_objects(job, "spec", "volumes"))
    yield from _queue_problems(dig_str(job, "spec", "queue"), look)
    if has_dependencies(job) and not dependencies_form_a_dag(job):
        yield " job has dependencies between tasks, but doesn't form a directed acyclic graph(DAG);"


def _volume_problem(volumes: list[JsonObject]) -> str:
    """The first problem of the job's volumes."""
    paths: set[str] = set()
    for volume in volumes:
        path, claim = dig_str(volume, "mountPath"), dig_str(volume, "volumeClaimName")
        makes_claim = volume.get("volumeClaim") is not None
        if not path:
            return " mountPath is required;"
        if path in paths:
            return f" duplicated mountPath: {path};"
        paths.add(path)
        if not claim and not makes_claim:
            return " either VolumeClaim or VolumeClaimName must be specified;"
        if claim and makes_claim:
            return (
                "conflict: If you want to use an existing PVC, just specify VolumeClaimName."
                "If you want to create a new PVC, you do not need to specify VolumeClaimName"
            )
        wrong = dns_subdomain(claim) if claim else []
        if wrong:
            return f"invalid VolumeClaimName {claim} : [{' '.join(wrong)}]"
    return ""


def _queue_problems(name: str, look: Look) -> Iterator[str]:
    queue = look.queue(name)
    if queue is None:
        yield f" unable to find job queue: {queue_not_found(name)};"
        return
    state = dig_str(queue, "status", "state")
    if state != QueueState.OPEN:
        yield f" can only submit job to queue with state `Open`, queue `{name}` status is `{state}`;"
    if name == names.ROOT_QUEUE:
        yield " can not submit job to root queue;"
        return
    children = len(look.children(name))
    if children:
        yield f" can only submit job to leaf queue, queue `{name}` has {children} child queues;"
