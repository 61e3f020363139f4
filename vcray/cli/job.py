"""`vcctl job ...`: what the commands do. Flags and defaults stand in `vcray.cli.vcctl`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TextIO

from vcray.api.jsonview import dig_int, dig_object, dig_objects, dig_str
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.quantity import QuantityError, canonical
from vcray.api.resources import COMMANDS, EVENTS, JOBS
from vcray.cli.cobra import CommandError, Invocation
from vcray.cli.connection import Connect
from vcray.cli.gotext import local_time
from vcray.cli.jobview import events_text, job_text
from vcray.kube.client import KubeClient
from vcray.kube.errors import ApiError

_JOB_NAME = "job.volcano.sh"
_JOB_TYPE = "volcano.sh/job-type"
_NOTHING = "No resources found"
_QUANTITY_FAULT = (
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
)


async def run_job(call: Invocation, connect: Connect, out: TextIO) -> None:
    """Create a job from a file, sent as it is, or from flags."""
    name, file = call.text("name"), call.text("filename")
    if not name and not file:
        raise CommandError("job name cannot be left blank")
    limits, requests = resource_list(call.text("limits")), resource_list(call.text("requests"))
    if file and ".yaml" not in file and ".yml" not in file:
        raise CommandError("only support yaml file")
    from vcray.cli.manifests import read_one

    kind: JsonObject = {"apiVersion": JOBS.api_version, "kind": JOBS.kind}
    job = kind | (read_one(file) if file else _job_of_flags(call, requests, limits))
    client = await connect()
    created = await client.create(JOBS, call.text("namespace"), job)
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


def _job_of_flags(call: Invocation, requests: JsonObject, limits: JsonObject) -> JsonObject:
    name = call.text("name")
    container: JsonObject = {
        "name": name,
        "image": call.text("image"),
        "imagePullPolicy": "IfNotPresent",
        "resources": {"limits": limits, "requests": requests},
    }
    template: JsonObject = {
        "metadata": {"name": name, "labels": {_JOB_NAME: name}},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }
    return {
        "metadata": {"name": name, "namespace": call.text("namespace")},
        "spec": {
            "minAvailable": call.number("min"),
            "schedulerName": call.text("scheduler"),
            "tasks": [{"replicas": call.number("replicas"), "template": template}],
        },
    }


_COLUMNS = (
    ("Creation", 15), ("Phase", 12), ("JobType", 12), ("Replicas", 12), ("Min", 6), ("Pending", 10),
    ("Running", 10), ("Succeeded", 12), ("Failed", 10), ("Unknown", 12), ("RetryCount", 10),
)  # fmt: skip


async def list_jobs(call: Invocation, connect: Connect, out: TextIO) -> None:
    """Print a line for each job that passes the filters."""
    client = await connect()
    everywhere = bool(call.number("all-namespaces"))
    page = await client.list(JOBS, None if everywhere else call.text("namespace"))
    queue, scheduler, part = call.text("queue"), call.text("scheduler"), call.text("selector")
    jobs = [
        job
        for job in page.items
        if (not queue or dig_str(job, "spec", "queue") == queue)
        and (not scheduler or dig_str(job, "spec", "schedulerName") == scheduler)
        and part in dig_str(job, "metadata", "name")
    ]
    if jobs:
        out.write(jobs_table(jobs, everywhere))
    else:
        print(_NOTHING, file=out)


def jobs_table(jobs: Sequence[JsonObject], with_namespace: bool) -> str:
    """The table of `job list`. Every column is padded, the last one too."""
    leading = (["namespace"] if with_namespace else []) + ["name"]
    widths = [max(len(key), *(len(dig_str(job, "metadata", key)) for job in jobs)) + 3 for key in leading] + [
        width for _, width in _COLUMNS
    ]
    rows = [[key.capitalize() for key in leading] + [title for title, _ in _COLUMNS]]
    rows += [[dig_str(job, "metadata", key) for key in leading] + _cells(job) for job in jobs]
    return "".join(
        "".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)) + "\n" for row in rows
    )


def _cells(job: JsonObject) -> list[str]:
    created = local_time(dig_str(job, "metadata", "creationTimestamp"))
    replicas = sum(dig_int(task, "replicas") for task in dig_objects(job, "spec", "tasks"))
    counts = ("minAvailable", "pending", "running", "succeeded", "failed", "unknown", "retryCount")
    return [
        f"{created:%Y-%m-%d}" if created else "0001-01-01",
        dig_str(job, "status", "state", "phase"),
        dig_str(job, "metadata", "labels", _JOB_TYPE) or "Batch",
        str(replicas),
        *(str(dig_int(job, "status", key)) for key in counts),
    ]


async def view_job(call: Invocation, connect: Connect, out: TextIO) -> None:
    """Print all about a job, and the events of the objects that are named after it."""
    name, namespace = call.text("name"), call.text("namespace")
    if not name:
        raise CommandError("job name (specified by --name or -N) is mandatory to view a particular job")
    client = await connect()
    job = await client.get(JOBS, namespace, name)
    out.write(job_text(job))
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
    name = _mandatory_name(call, "delete")
    client = await connect()
    await client.delete(JOBS, call.text("namespace"), name)
    print(f"delete job {name} successfully", file=out)


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
