"""`vcctl pod list`: the pods of vcjobs, in the words of `kubectl get pods`. Flags stand in `vcray.cli.vcctl`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TextIO

from vcray.api.ages import since
from vcray.api.jsontypes import JsonObject
from vcray.api.jsonview import dig, dig_str
from vcray.api.names import DEFAULT_QUEUE, JOB_NAME, POD_QUEUE_NAME, QUEUE_NAME
from vcray.api.podstate import pod_state
from vcray.api.resources import JOBS, PODS
from vcray.cli.cobra import CommandError, Invocation
from vcray.cli.connection import Connect
from vcray.cli.output import NOTHING, padded_table
from vcray.kube.client import KubeClient
from vcray.kube.errors import NotFound

_TITLES = ("Name", "Ready", "Status", "Restart", "Age")


async def list_pods(call: Invocation, connect: Connect, out: TextIO) -> None:
    """Print a line for each pod of a vcjob, of one job, or of one queue, by namespace and name.

    CommandError when a job and a queue are named and the job is not in the queue."""
    client = await connect()
    everywhere = bool(call.number("all-namespaces"))
    pods = await _pods(
        client, None if everywhere else call.text("namespace"), call.text("job"), call.text("queue")
    )
    if pods:
        out.write(pods_table(pods, everywhere, time.time()))
    else:
        print(NOTHING, file=out)


async def _pods(client: KubeClient, namespace: str | None, job: str, queue: str) -> list[JsonObject]:
    if job and queue:
        places = await _places(client, namespace, job, queue)
        pods = (await client.list(PODS, namespace, f"{JOB_NAME}={job}")).items
        return [pod for pod in pods if dig_str(pod, "metadata", "namespace") in places]
    if queue:
        return [pod for pod in (await client.list(PODS, namespace)).items if queue in _queues(pod)]
    return (await client.list(PODS, namespace, f"{JOB_NAME}={job}" if job else JOB_NAME)).items


async def _places(client: KubeClient, namespace: str | None, job: str, queue: str) -> set[str]:
    """The namespaces in which a job of that name is in the queue. NotFound, CommandError where there is none."""
    if namespace is None:
        jobs = (await client.list(JOBS, field_selector=f"metadata.name={job}")).items
        if not jobs:
            raise NotFound(f'{JOBS.full_name} "{job}" not found')
    else:
        jobs = [await client.get(JOBS, namespace, job)]
    found = {
        dig_str(each, "metadata", "namespace")
        for each in jobs
        if (dig_str(each, "spec", "queue") or DEFAULT_QUEUE) == queue
    }
    if not found:
        raise CommandError(f"the input vcjob {job} does not match the queue {queue}")
    return found


def _queues(pod: JsonObject) -> tuple[str, str]:
    """Which queue a pod names: by the label of a vcjob's pods, by the annotation of any pod."""
    return (
        dig_str(pod, "metadata", "labels", QUEUE_NAME),
        dig_str(pod, "metadata", "annotations", POD_QUEUE_NAME),
    )


def pods_table(pods: Sequence[JsonObject], with_namespace: bool, now: float) -> str:
    """The table of pods, with ages at `now` (seconds since 1970).

    A column is 2 wider than its title or 8 wider than its longest cell, whichever is more."""
    ordered = sorted(
        pods, key=lambda pod: (dig_str(pod, "metadata", "namespace"), dig_str(pod, "metadata", "name"))
    )
    titles = (["Namespace"] if with_namespace else []) + [*_TITLES]
    rows = [
        ([dig_str(pod, "metadata", "namespace")] if with_namespace else []) + _cells(pod, now)
        for pod in ordered
    ]
    widths = [
        max(len(title) + 2, *(len(row[column]) + 8 for row in rows)) for column, title in enumerate(titles)
    ]
    return padded_table([titles, *rows], widths)


def _cells(pod: JsonObject, now: float) -> list[str]:
    state = pod_state(pod)
    age = since(dig(pod, "metadata", "creationTimestamp"), now)
    return [
        dig_str(pod, "metadata", "name"),
        f"{state.ready}/{state.total}",
        state.word,
        str(state.restarts),
        age,
    ]
