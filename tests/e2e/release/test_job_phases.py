"""Phases of jobs in the order in which a watch shows them (Volcano's suites `jobseq` and `jobp`)."""

from __future__ import annotations

import pytest

from tests.e2e.release.context import Context

ENDS = {
    "RestartJob": ("Restarting", "Pending", "Running"),
    "TerminateJob": ("Terminating", "Terminated"),
    "AbortJob": ("Aborting", "Aborted"),
}


@pytest.mark.parametrize("action", ENDS)
def test_a_failed_pod_sets_off_the_policy_of_its_job(context: Context, action: str) -> None:
    phases = context.phases("fails")
    once = context.shell("sleep 2 && exit 3", "once")
    server = context.task("server", 2)
    context.create(context.job("fails", once, server, policies=[{"event": "PodFailed", "action": action}]))

    phases.wait("Pending", "Running", *ENDS[action])


def test_a_completed_task_completes_its_job(context: Context) -> None:
    phases = context.phases("led")
    policy = {"event": "TaskCompleted", "action": "CompleteJob"}
    master = context.shell("sleep 2", "master", policies=[policy])
    context.create(context.job("led", master, context.task("worker", 2)))

    phases.wait("Pending", "Running", "Completing", "Completed")
    context.wait(lambda: len(context.pods()) == 1, "only the master's pod to stay")


def test_an_edit_of_the_configuration_acts_within_two_seconds(context: Context) -> None:
    """Without the action that places pods nothing is bound; with it again, what waits is."""
    with context.configured('actions: "enqueue"\ntiers:\n- plugins:\n  - name: gang\n'):
        context.create(context.job("waits", context.task("server", 2)))
        context.wait(lambda: len(context.of("waits")) == 2, "pods to be made")
        context.stays(lambda: not context.bound(), "nothing bound", 2.0)
    context.running("waits", 2)
