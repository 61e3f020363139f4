"""What tests of jobs do to a release besides creating objects: nodes that take nobody, pods that go, clients that ask."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.conformance.harness.base import wait_until
from tests.conformance.harness.client import ApiError
from tests.e2e.arena import GROUPS, PATIENCE_S, Phases
from tests.e2e.release.context import Context

Object = dict[str, Any]

FORCED = 0
"""The grace of a pod that goes at once."""
COLLECTED_S = 60.0
"""How soon what lost its owner is gone: Kubernetes' collector looks for new kinds of owners every half a minute."""


def taint(context: Context, *taints: Object) -> None:
    """Give all workers just these taints."""
    for node in context.release.workers():
        context.client.patch(f"/api/v1/nodes/{node}", {"spec": {"taints": list(taints) or None}})


@contextmanager
def shut(context: Context) -> Iterator[None]:
    """No worker takes a new pod while the block runs; what runs goes on."""
    taint(context, {"key": "tests/shut", "value": "yes", "effect": "NoSchedule"})
    try:
        yield
    finally:
        taint(context)


def remove(context: Context, pod: str, grace_s: int | None = None) -> None:
    """Delete a pod as somebody from outside would."""
    context.client.delete(f"{context.core}/pods/{pod}", grace_s=grace_s)


def started(context: Context, job: Object) -> Phases:
    """Create a job and wait until it has been Pending and is Running."""
    phases = context.phases(job["metadata"]["name"])
    context.create(job)
    phases.wait("Pending", "Running")
    return phases


def follow(phases: Phases, *wanted: str, timeout_s: float = PATIENCE_S) -> None:
    """Wait until these phases have been seen in this order, whatever was seen between them.

    For jobs that may be Pending in between, such as one that waits for the place of a pod that is gone.
    """

    def followed() -> bool:
        rest = iter(list(phases.seen))
        return all(phase in rest for phase in wanted)

    try:
        wait_until(followed, "the phases", timeout_s)
    except TimeoutError:
        raise AssertionError(f"expected {list(wanted)} in this order, saw {phases.seen}") from None


def group_phase(context: Context, name: str) -> str:
    """The phase of a PodGroup; empty before it has one, and when there is none of that name."""
    try:
        status = context.client.get(f"{context.groups}/{name}").get("status") or {}
    except ApiError as error:
        if error.code != 404:
            raise
        return ""
    return str(status.get("phase", ""))


def scaled(context: Context, job: str, **replicas: int) -> None:
    """Change the replicas of a job's tasks, and its minimum to all of them at most."""
    tasks = context.client.get(f"{context.jobs}/{job}")["spec"]["tasks"]
    for task in tasks:
        task["replicas"] = replicas.get(task["name"], task["replicas"])
        task["minAvailable"] = min(task["minAvailable"], task["replicas"])
    least = sum(task["minAvailable"] for task in tasks)
    context.client.patch(f"{context.jobs}/{job}", {"spec": {"minAvailable": least, "tasks": tasks}})


def dismantle(context: Context, *queues: str) -> None:
    """Delete queues, the lowest first; the webhook may go on seeing one that is gone for a moment."""

    def gone(path: str) -> bool:
        try:
            context.client.delete(path)
        except ApiError as error:
            return error.code == 404
        return False

    for queue in queues:
        wait_until(lambda path=f"{GROUPS}/queues/{queue}": gone(path), f"{queue} to go")  # type: ignore[misc]


def vcctl(context: Context, *words: str) -> tuple[int, str]:
    """Run vcctl as a program: exit code and standard output."""
    command = [sys.executable, "-m", "vcray.cli.vcctl", *words]
    environment = {**os.environ, "KUBECONFIG": str(context.server.kubeconfig)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=environment)
    return done.returncode, done.stdout
