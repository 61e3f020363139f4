"""The controllers are killed again and again while jobs come, run, fail, are deleted and end: nothing is left, made twice or stuck.

`VCRAY_CHURN` is `JOBS,RESTARTS`: `40,3` by default, `500,10` in `make conformance-full`.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.harness.process import Child
from tests.conformance.harness.server import ControlPlane
from tests.e2e.arena import ARENA, Arena
from tests.e2e.program import Program
from tests.e2e.watching import Watching

Object = dict[str, Any]

JOBS, RESTARTS = (int(each) for each in os.environ.get("VCRAY_CHURN", "40,3").split(","))
PATIENCE_S = 60.0 + JOBS
COLLECTED_S = 90.0
"""kube-controller-manager's collector takes up to half a minute to hear of new kinds of owners."""
DELETED_AFTER = 6
"""So many jobs later a job that is to be deleted goes."""

ENDS = {"plain": "Completed", "fails": "Failed", "led": "Completed", "deleted": "", "collected": ""}
"""Kind of job -> the phase that it ends in; empty when it is gone in the end."""


def shell(task: Object, script: str) -> Object:
    """The task with a command for its container."""
    task["template"]["spec"]["containers"][0]["command"] = ["sh", "-c", script]
    return task


def job(arena: Arena, kind: str, name: str) -> Object:
    """A job of a kind."""
    if kind == "fails":
        policy = {"event": "PodFailed", "action": "RestartJob"}
        task = shell(arena.task(replicas=2, cpu="10m"), "sleep 1 && exit 3")
        return arena.job(name, task, policies=[policy], maxRetry=2, plugins={"svc": [], "ssh": []})
    if kind == "led":
        policy = {"event": "TaskCompleted", "action": "CompleteJob"}
        master = shell(arena.task("master", 1, cpu="10m", policies=[policy]), "sleep 2")
        worker = shell(arena.task("worker", 2, cpu="10m"), "sleep infinity")
        return arena.job(name, master, worker, plugins={"svc": [], "env": []})
    script = "sleep infinity" if kind == "deleted" else "sleep 1"
    extra = {"ttlSecondsAfterFinished": 1} if kind == "collected" else {}
    return arena.job(name, shell(arena.task(replicas=2, cpu="10m"), script), **extra)


class Killable:
    """One component of the control plane as a process; `kill -9` is its end."""

    def __init__(self, server: ControlPlane, component: str, log: Path) -> None:
        self._start = lambda: Program(server.kubeconfig, log, "--only", component).ready()

    def __enter__(self) -> Killable:
        self._program = self._start()
        return self

    def __exit__(self, *_: object) -> None:
        self._program.kill()

    def restart(self) -> None:
        """Kill it and start it again."""
        self._program.kill()
        self._program = self._start()


@contextmanager
def simulated_nodes(server: ControlPlane, arena: Arena, log: Path) -> Iterator[None]:
    """`vcray nodes` for this arena alone."""
    place = f"{ARENA}={arena.namespace}"
    flags = [
        "--count",
        "10",
        "--prefix",
        f"{arena.namespace}-sim",
        "--pods",
        "1000",
        "--start-seconds",
        "0.1",
    ]
    flags += ["--lease-seconds", "0", "--label", place, "--taint", f"{place}:NoSchedule"]
    command = [
        sys.executable,
        "-m",
        "vcray.cli.main",
        "nodes",
        "--kubeconfig",
        str(server.kubeconfig),
        *flags,
    ]
    child = Child(command, log)
    try:
        yield
    finally:
        child.stop(20)


def made_twice(pods: dict[tuple[str, str], set[str]]) -> dict[tuple[str, str], int]:
    """Pods of which one version of a job had more than one."""
    return {key: len(uids) for key, uids in pods.items() if len(uids) > 1}


def left_behind(arena: Arena) -> list[str]:
    """What no job is there for any more, or must go when its job ends."""
    paths = {
        "PodGroup": arena.groups,
        "Service": f"{arena.core}/services",
        "ConfigMap": f"{arena.core}/configmaps",
        "NetworkPolicy": f"{arena.core}/networkpolicies".replace("/api/v1", "/apis/networking.k8s.io/v1"),
    }
    found = [
        f"{kind} {item['metadata']['name']}"
        for kind, path in paths.items()
        for item in arena.client.get(path)["items"]
        if item["metadata"].get("ownerReferences")
    ]
    there = {each["metadata"]["uid"] for each in arena.client.get(arena.jobs)["items"]}
    found += [
        f"pod {pod['metadata']['name']} {pod['status'].get('phase')}"
        for pod in arena.pods()
        if pod["metadata"]["ownerReferences"][0]["uid"] not in there
        or pod["status"].get("phase") not in ("Succeeded", "Failed")
    ]
    return found


@pytest.mark.long
@pytest.mark.timeout(120 + 3 * PATIENCE_S)
def test_controllers_that_crash_in_a_churn_leave_no_orphan_no_duplicate_and_no_stuck_job(
    server: ControlPlane, arena: Arena, tmp_path: Path
) -> None:
    kinds = list(ENDS)
    kind_of = {f"{kinds[i % len(kinds)]}-{i:03}": kinds[i % len(kinds)] for i in range(JOBS)}
    pods: dict[tuple[str, str], set[str]] = defaultdict(set)

    def heard(event: str, pod: Object) -> None:
        notes = pod["metadata"]["annotations"]
        pods[pod["metadata"]["name"], notes["volcano.sh/job-version"]].add(pod["metadata"]["uid"])

    watching = Watching(server.client, f"{arena.core}/pods", heard)
    logs = {name: tmp_path / f"{name}.log" for name in ("scheduler", "controllers")}

    with (
        simulated_nodes(server, arena, tmp_path / "nodes.log"),
        Killable(server, "scheduler", logs["scheduler"]),
        Killable(server, "controllers", logs["controllers"]) as controllers,
    ):
        submitting = threading.Thread(target=submit, args=(arena, kind_of))
        submitting.start()
        for crash in range(RESTARTS):
            time.sleep(0.5 + 0.3 * (crash % 4))
            controllers.restart()
        submitting.join()
        arena.wait(lambda: settled(arena, kind_of), "all jobs to end", PATIENCE_S)
        arena.wait(lambda: not left_behind(arena), "all that belonged to them to go", COLLECTED_S)
    watching.close()

    for log in logs.values():
        assert "Traceback" not in log.read_text(), log.read_text()[-5000:]
    assert made_twice(pods) == {}
    assert len({name for name, _ in pods}) >= JOBS


def submit(arena: Arena, kind_of: dict[str, str]) -> None:
    """Create all jobs, and delete those that are to be deleted a while after."""
    names = list(kind_of)
    for number, name in enumerate([*names, *[""] * DELETED_AFTER]):
        if name:
            arena.client.create(arena.jobs, job(arena, kind_of[name], name))
        earlier = names[number - DELETED_AFTER] if number >= DELETED_AFTER else ""
        if kind_of.get(earlier) == "deleted":
            arena.client.request("DELETE", f"{arena.jobs}/{earlier}", {"propagationPolicy": "Background"})
        time.sleep(0.02)


def settled(arena: Arena, kind_of: dict[str, str]) -> bool:
    """Is every job in the phase that it must end in? A look costs something, so not at once again."""
    time.sleep(0.2)
    expected = {name: ENDS[kind] for name, kind in kind_of.items() if ENDS[kind]}
    phases = {
        each["metadata"]["name"]: ((each.get("status") or {}).get("state") or {}).get("phase", "")
        for each in arena.client.get(arena.jobs)["items"]
    }
    return phases == expected
