"""`vcctl job ...`, `vsub`, `vjobs`, `vcancel`, `vsuspend`, `vresume`: what they do.

Flags and defaults stand in `vcray.cli.vcctl` and `vcray.cli.slurm`.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable, Sequence
from typing import TextIO

from vcray.api.jsontypes import JsonObject, JsonValue
from vcray.api.jsonview import dig_int, dig_object, dig_objects, dig_str
from vcray.api.names import JOB_TYPE, JOB_VOLCANO
from vcray.api.quantity import QuantityError, canonical
from vcray.api.resources import COMMANDS, EVENTS, JOBS
from vcray.cli.cobra import CommandError, Invocation
from vcray.cli.connection import Connect
from vcray.cli.gotext import local_time
from vcray.cli.jobview import events_text, job_text
from vcray.cli.output import NOTHING, padded_table
from vcray.kube.client import KubeClient
from vcray.kube.errors import ApiError

_NO_NAME = "job name cannot be left blank"
_DEFAULTS = (
    ("image", "VOLCANO_DEFAULT_IMAGE", "busybox"),
    ("namespace", "VOLCANO_DEFAULT_JOB_NAMESPACE", "default"),
    ("scheduler", "VOLCANO_SCHEDULER_NAME", "volcano"),
)
"""vsub's flag, the variable that stands in for it, and what holds without either."""
_QUANTITY_FAULT = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)


async def run_job(call: Invocation, connect: Connect, out: TextIO) -> None:
    """Create a job from a file, sent as it is, or from flags."""
    name, file, namespace = call.text("name"), call.text("filename"), call.text("namespace")
    if not name and not file:
        raise CommandError(_NO_NAME)
    sizes = _resources(call)
    if file and ".yaml" not in file and ".yml" not in file:
        raise CommandError("only support yaml file")
    if file:
        from vcray.cli.manifests import read_one

        job = {"apiVersion": JOBS.api_version, "kind": JOBS.kind} | read_one(file)
    else:
        container: JsonObject = {"image": call.text("image"), "resources": sizes}
        job = _job_of_flags(call, namespace, call.text("scheduler"), container)
    await _create(connect, namespace, job, out)


async def submit_job(call: Invocation, connect: Connect, out: TextIO) -> None:
    """`vsub`: create a job from flags, the environment in place of those that are not given."""
    if not call.text("name"):
        raise CommandError(_NO_NAME)
    sizes = _resources(call)
    given = {flag: call.text(flag) or os.environ.get(variable) or last for flag, variable, last in _DEFAULTS}
    container: JsonObject = {"image": given["image"], "resources": sizes}
    try:
        words: list[JsonValue] = [*shlex.split(call.text("command"))]
    except ValueError as error:
        raise CommandError(f"invalid command {call.text('command')}: {error}") from error
    if words:
        container["command"] = words
    job = _job_of_flags(call, given["namespace"], given["scheduler"], container)
    await _create(connect, given["namespace"], job, out)


async def _create(connect: Connect, namespace: str, job: JsonObject, out: TextIO) -> None:
    client = await connect()
    created = await client.create(JOBS, namespace, job)
    print(f"run job {dig_str(created, 'metadata', 'name')} successfully", file=out)


def resource_list(pairs: str) -> JsonObject:
    """`cpu=1000m,memory=100Mi` as a resource list in the API's own spelling. CommandError for another form."""
    found: JsonObject = {}
    for pair in pairs.split(",") if pairs else []:
        parts = pair.split("=")
        if len(parts) != 2:
            raise CommandError(f"invalid argument syntax {pair}, expected <resource>=<value>")
        try:
            found[parts[0]] = canonical(parts[1])
        except QuantityError as error:
            raise CommandError(_QUANTITY_FAULT) from error
    return found


def _resources(call: Invocation) -> JsonObject:
    return {kind: resource_list(call.text(kind)) for kind in ("limits", "requests")}


def _job_of_flags(call: Invocation, namespace: str, scheduler: str, container: JsonObject) -> JsonObject:
    """A job of one task without a name, whose pods have one container, named like the job."""
    name = call.text("name")
    whole: JsonObject = {"name": name, "imagePullPolicy": "IfNotPresent", **container}
    template: JsonObject = {
        "metadata": {"name": name, "labels": {JOB_VOLCANO: name}},
        "spec": {"restartPolicy": "Never", "containers": [whole]},
    }
    return {
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "minAvailable": call.number("min"),
            "schedulerName": scheduler,
            "tasks": [{"replicas": call.number("replicas"), "template": template}],
        },
    }


_COLUMNS = (
    ("Creation", 15), ("Phase", 12), ("JobType", 12), ("Replicas", 12), ("Min", 6), ("Pending", 10),
    ("Running", 10), ("Succeeded", 12), ("Failed", 10), ("Unknown", 12), ("RetryCount", 10),
)  # fmt: skip


async def list_jobs(call: Invocation, connect: Connect, out: TextIO) -> None:
    """Print a line for each job that passes the filters."""
    queue = call.text("queue")
    found = [job for job in await _jobs(call, connect) if not queue or dig_str(job, "spec", "queue") == queue]
    jobs = _passing(call, found)
    if jobs:
        out.write(jobs_table(jobs, bool(call.number("all-namespaces"))))
    else:
        print(NOTHING, file=out)


async def show_jobs(call: Invocation, connect: Connect, out: TextIO) -> None:
    """`vjobs`: print all about one job but its conditions, or a line for each that passes the filters.

    Where jobs are and none passes, that is the line of titles alone."""
    name = call.text("name")
    if name:
        await _view(call, connect, name, out, conditions=False)
        return
    jobs = await _jobs(call, connect)
    if jobs:
        out.write(jobs_table(_passing(call, jobs), bool(call.number("all-namespaces"))))
    else:
        print(NOTHING, file=out)


async def _jobs(call: Invocation, connect: Connect) -> list[JsonObject]:
    """The jobs of the namespace, or of all, in the server's order."""
    client = await connect()
    return (await client.list(JOBS, None if call.number("all-namespaces") else call.text("namespace"))).items


def _passing(call: Invocation, jobs: Iterable[JsonObject]) -> list[JsonObject]:
    scheduler, part = call.text("scheduler"), call.text("selector")
    return [
        job
        for job in jobs
        if (not scheduler or dig_str(job, "spec", "schedulerName") == scheduler)
        and part in dig_str(job, "metadata", "name")
    ]


def jobs_table(jobs: Sequence[JsonObject], with_namespace: bool) -> str:
    """The table of jobs, perhaps without any; names and namespaces 3 wider than the longest, the rest of fixed width."""
    leading = (["namespace"] if with_namespace else []) + ["name"]
    widths = [
        max(len(text) for text in (key, *(dig_str(job, "metadata", key) for job in jobs))) + 3
        for key in leading
    ]
    titles = [key.capitalize() for key in leading] + [title for title, _ in _COLUMNS]
    rows = [[dig_str(job, "metadata", key) for key in leading] + _cells(job) for job in jobs]
    return padded_table([titles, *rows], [*widths, *(width for _, width in _COLUMNS)])


def _cells(job: JsonObject) -> list[str]:
    created = local_time(dig_str(job, "metadata", "creationTimestamp"))
    replicas = sum(dig_int(task, "replicas") for task in dig_objects(job, "spec", "tasks"))
    counts = ("minAvailable", "pending", "running", "succeeded", "failed", "unknown", "retryCount")
    return [
        f"{created:%Y-%m-%d}" if created else "0001-01-01",
        dig_str(job, "status", "state", "phase"),
        dig_str(job, "metadata", "labels", JOB_TYPE) or "Batch",
        str(replicas),
        *(str(dig_int(job, "status", key)) for key in counts),
    ]


async def view_job(call: Invocation, connect: Connect, out: TextIO) -> None:
    """Print all about a job, and the events of the objects that are named after it."""
    name = call.text("name")
    if not name:
        raise CommandError("job name (specified by --name or -N) is mandatory to view a particular job")
    await _view(call, connect, name, out)


async def _view(call: Invocation, connect: Connect, name: str, out: TextIO, conditions: bool = True) -> None:
    client, namespace = await connect(), call.text("namespace")
    job = await client.get(JOBS, namespace, name)
    out.write(job_text(job, conditions))
    out.write(events_text(await _events_of(client, namespace, name)))


async def _events_of(client: KubeClient, namespace: str, name: str) -> list[JsonObject]:
    """Events of the job; none, and a line on standard error, for a user who may not list them."""
    try:
        page = await client.list(EVENTS, namespace)
    except ApiError as error:
        print(f"Failed to list events: {error.message}", file=sys.stderr)
        return []
    return [each for each in page.items if dig_str(each, "metadata", "name").startswith(f"{name}.")]


async def suspend_job(call: Invocation, connect: Connect, out: TextIO) -> None:
    """Ask for a job to be aborted."""
    await _command(call, connect, "suspend", "AbortJob")


async def resume_job(call: Invocation, connect: Connect, out: TextIO) -> None:
    """Ask for an aborted job to be started again."""
    await _command(call, connect, "resume", "ResumeJob")


async def delete_job(call: Invocation, connect: Connect, out: TextIO) -> None:
    """Delete a job."""
    await _delete(call, connect, out, "delete")


async def cancel_job(call: Invocation, connect: Connect, out: TextIO) -> None:
    """`vcancel`: delete a job, in other words."""
    await _delete(call, connect, out, "cancel")


async def _delete(call: Invocation, connect: Connect, out: TextIO, verb: str) -> None:
    name = _mandatory_name(call, verb)
    client = await connect()
    await client.delete(JOBS, call.text("namespace"), name)
    print(f"{verb} job {name} successfully", file=out)


async def _command(call: Invocation, connect: Connect, verb: str, action: str) -> None:
    name, namespace = _mandatory_name(call, verb), call.text("namespace")
    client = await connect()
    job = await client.get(JOBS, namespace, name)
    reference = controller_reference(JOBS.api_version, JOBS.kind, job)
    body = bus_command(action, f"{name}-{action.lower()}-", namespace, reference)
    await client.create(COMMANDS, namespace, body)


def bus_command(action: str, generate_name: str, namespace: str, reference: JsonObject) -> JsonObject:
    """A Command on the object that `reference` names, which also owns it."""
    owners: list[JsonValue] = [reference]
    return {
        "apiVersion": COMMANDS.api_version,
        "kind": COMMANDS.kind,
        "metadata": {"generateName": generate_name, "namespace": namespace, "ownerReferences": owners},
        "target": reference,
        "action": action,
    }


def controller_reference(api_version: str, kind: str, owner: JsonObject) -> JsonObject:
    """The owner reference of a managing controller."""
    metadata = dig_object(owner, "metadata")
    return {
        "apiVersion": api_version,
        "kind": kind,
        "name": dig_str(metadata, "name"),
        "uid": dig_str(metadata, "uid"),
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _mandatory_name(call: Invocation, verb: str) -> str:
    name = call.text("name")
    if not name:
        raise CommandError(f"job name is mandatory to {verb} a particular job")
    return name
