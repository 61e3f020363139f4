"""The phases of vcjobs as a watch shows them (api-controllers.md 10.1): all cases at once, in one namespace of each server.

The test plays the scheduler and the kubelet: it lets PodGroups in, runs pods, and buries those that are being deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.conformance.harness.base import wait_until
from tests.conformance.harness.client import ApiError
from tests.conformance.harness.server import ControlPlane
from tests.e2e.arena import Arena
from tests.e2e.hosting import Hosted
from tests.e2e.watching import Watching
from vcray.app import CONTROLLERS

Object = dict[str, Any]

START = ["Pending", "Running"]
AGAIN = ["Restarting", "Pending", "Running"]


def on(event: str, action: str, **more: Any) -> Object:
    return {"event": event, "action": action, **more}


@dataclass(frozen=True)
class Case:
    """A job of two pods `worker` (or its own tasks), what befalls it once it runs, and the phases that follow."""

    trouble: str
    then: list[str]
    policies: list[Object] = field(default_factory=list)
    of_task: list[Object] = field(default_factory=list)
    leader: bool = False
    """A task `leader` of one pod stands before the workers, with the task's policies."""


CASES = {
    "failed-restart": Case("exit 127", AGAIN, [on("PodFailed", "RestartJob")]),
    "failed-terminate": Case("exit 127", ["Terminating", "Terminated"], [on("PodFailed", "TerminateJob")]),
    "failed-abort": Case("exit 127", ["Aborting", "Aborted"], [on("PodFailed", "AbortJob")]),
    "failed-restartpod": Case(
        "exit 127", AGAIN, [on("PodFailed", "RestartPod"), on("PodEvicted", "TerminateJob", timeout="5m")]
    ),
    "deleted-restart": Case("delete", AGAIN, [on("PodEvicted", "RestartJob")]),
    "deleted-any": Case("delete", AGAIN, [on("*", "RestartJob")]),
    "deleted-task": Case("delete", AGAIN, of_task=[on("PodEvicted", "RestartJob")]),
    "deleted-terminate": Case("delete", ["Terminating", "Terminated"], [on("PodEvicted", "TerminateJob")]),
    "deleted-abort": Case("delete", ["Aborting", "Aborted"], [on("PodEvicted", "AbortJob")]),
    "unknown-restart": Case("unknown", AGAIN, [on("Unknown", "RestartJob")]),
    "unknown-abort": Case("unknown", ["Aborting", "Aborted"], [on("Unknown", "AbortJob")]),
    "completed": Case(
        "succeed",
        ["Completing", "Completed"],
        of_task=[on("TaskCompleted", "CompleteJob")],
        leader=True,
    ),
    "restarts": Case("restarts", ["Terminating", "Terminated"], [on("TaskFailed", "TerminateJob")]),
    "exit-code": Case("exit 3", AGAIN, [{"exitCode": 3, "action": "RestartJob"}]),
    "task-first": Case(
        "exit 1", AGAIN, [on("PodFailed", "AbortJob")], of_task=[on("PodFailed", "RestartJob")]
    ),
    "suspended": Case("suspend", ["Aborting", "Aborted", *AGAIN]),
}


@pytest.fixture(scope="module")
def arena(volcano_cluster: ControlPlane) -> Iterator[Arena]:
    """A namespace on a server where the controllers work; none of their actors may have failed at the end."""
    with Hosted(volcano_cluster.kubeconfig, CONTROLLERS) as hosted:
        made = Arena(volcano_cluster)
        yield made
        made.clean()
        assert hosted.failures() == {}


class Stage:
    """The jobs of all cases, the phases that a watch has shown of each, those with pods that were about to end, and who plays
    beside the controllers."""

    def __init__(self, arena: Arena) -> None:
        self.arena = arena
        self.seen: dict[str, list[str]] = {name: [] for name in CASES}
        self.ending: set[tuple[str, str]] = set()
        self._watching = Watching(arena.client, arena.jobs, self._heard)
        self._watching.listed.wait(10)
        arena.apply(*(self._job(name, case) for name, case in CASES.items()))

    def close(self) -> None:
        self._watching.close()

    def _job(self, name: str, case: Case) -> Object:
        workers = self.arena.task(
            "worker", replicas=2, **({"policies": case.of_task} if not case.leader else {})
        )
        leader = [self.arena.task("leader", policies=case.of_task)] if case.leader else []
        return self.arena.job(name, *leader, workers, policies=case.policies)

    def _heard(self, kind: str, job: Object) -> None:
        phase = (job.get("status") or {}).get("state", {}).get("phase")
        seen = self.seen[job["metadata"]["name"]]
        if kind != "DELETED" and (job.get("status") or {}).get("terminating"):
            self.ending.add((job["metadata"]["name"], phase))
        if kind != "DELETED" and phase and seen[-1:] != [phase]:
            seen.append(phase)

    def play(self) -> None:
        """One look: groups that wait are let in, new pods run, pods that are being deleted go."""
        for group in self.arena.client.get(self.arena.groups)["items"]:
            if (group.get("status") or {}).get("phase") in (None, "Pending"):
                self._try(lambda g=group: self._group_is(g, "Inqueue"))
        for pod in self.arena.pods():
            name = pod["metadata"]["name"]
            if pod["metadata"].get("deletionTimestamp"):
                self._try(lambda n=name: self.arena.client.delete(f"{self.arena.core}/pods/{n}", grace_s=0))
            elif pod["status"].get("phase") == "Pending":
                self._try(lambda n=name: self.arena.play("Running", [n]))

    def until(self, holds: Callable[[str], bool], what: str) -> None:
        """Play on until something holds for every case."""

        def looked() -> bool:
            self.play()
            return all(map(holds, CASES))

        try:
            wait_until(looked, what, 20)
        except TimeoutError as error:
            missing = {name: self.seen[name] for name in CASES if not holds(name)}
            raise AssertionError(f"{error}: {missing}") from None

    def befall(self, name: str, trouble: str) -> None:
        """What happens to a job once it runs."""
        pod = f"{name}-{'leader' if CASES[name].leader else 'worker'}-0"
        path = f"{self.arena.core}/pods/{pod}"
        match trouble.split():
            case ["exit", code]:
                self.arena.play("Failed", [pod], int(code))
            case ["succeed"]:
                self.arena.play("Succeeded", [pod])
            case ["delete"]:
                self.arena.client.delete(path, grace_s=0)
            case ["unknown"]:
                (group,) = (
                    each
                    for each in self.arena.client.get(self.arena.groups)["items"]
                    if each["metadata"]["ownerReferences"][0]["name"] == name
                )
                self._group_is(group, "Unknown")
            case ["restarts"]:
                status = self.arena.client.get(path)["status"]["containerStatuses"][0]
                patch = {"status": {"containerStatuses": [{**status, "restartCount": 4}]}}
                self.arena.client.patch(f"{path}/status", patch)
            case _:
                self.arena.command(name, "AbortJob")

    def _group_is(self, group: Object, phase: str) -> None:
        path = f"{self.arena.groups}/{group['metadata']['name']}"
        self.arena.client.patch(path, {"status": {"phase": phase}})

    @staticmethod
    def _try(act: Callable[[], object]) -> None:
        try:
            act()
        except ApiError as error:
            if error.code != 404:
                raise


def test_watch_shows_the_phases_of_every_case(arena: Arena) -> None:
    """api-controllers.md 10.1, the table of phase sequences."""
    stage = Stage(arena)
    try:
        stage.until(lambda name: stage.seen[name] == START, "all jobs to run")
        for name, case in CASES.items():
            stage.befall(name, case.trouble)
        stage.until(
            lambda name: "Aborted" in stage.seen[name] or CASES[name].trouble != "suspend",
            "the suspended job",
        )
        assert not [pod for pod in arena.pods() if pod["metadata"]["name"].startswith("suspended")]
        arena.command("suspended", "ResumeJob")
        stage.until(
            lambda name: len(stage.seen[name]) >= len(START + CASES[name].then), "all jobs to come to rest"
        )
    finally:
        stage.close()

    assert stage.seen == {name: [*START, *case.then] for name, case in CASES.items()}
    two_steps = {"Restarting", "Aborting", "Terminating", "Completing"}
    announced = {(name, phase) for name, case in CASES.items() for phase in case.then if phase in two_steps}
    announced.discard(("suspended", "Restarting"))  # nothing is left of it when it is resumed
    assert {each for each in stage.ending if each[1] in two_steps} == announced
