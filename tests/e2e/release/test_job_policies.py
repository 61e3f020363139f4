"""What sets off a policy of a job or a task, and what the job does then (Volcano's suite `jobseq`, part `error handling`)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.release.acts import follow, remove, shut, started
from tests.e2e.release.context import Context

Object = dict[str, Any]

RESTARTS = ("Restarting", "Pending", "Running")
TERMINATES = ("Terminating", "Terminated")
ABORTS = ("Aborting", "Aborted")
BEGUN = ("Pending", "Running")


def policy(action: str, *events: str, **more: Any) -> Object:
    """A policy of one event, or of several."""
    named = {"event": events[0]} if len(events) == 1 else {"events": list(events)}
    return {**(named if events else {}), "action": action, **more}


DELETED = {
    "PodEvicted restarts": ([policy("RestartJob", "PodEvicted")], [], RESTARTS),
    "PodEvicted terminates": ([policy("TerminateJob", "PodEvicted")], [], TERMINATES),
    "PodEvicted aborts": ([policy("AbortJob", "PodEvicted")], [], ABORTS),
    "any event restarts": ([policy("RestartJob", "*")], [], RESTARTS),
    "one of several events terminates": ([policy("TerminateJob", "PodFailed", "PodEvicted")], [], TERMINATES),
    "the task's own restarts": ([], [policy("RestartJob", "PodEvicted")], RESTARTS),
    "the task's own terminates": ([], [policy("TerminateJob", "PodEvicted")], TERMINATES),
}
FAILED = {
    "an exit code restarts": ([policy("RestartJob", exitCode=3)], [], RESTARTS),
    "one of several events restarts": ([policy("RestartJob", "PodEvicted", "PodFailed")], [], RESTARTS),
    "the task's own restarts": ([], [policy("RestartJob", "PodFailed")], RESTARTS),
    "the task's own goes first": (
        [policy("AbortJob", "PodFailed")],
        [policy("RestartJob", "PodFailed")],
        RESTARTS,
    ),
}


def in_ci(cases: dict[str, Any], *quick: str) -> list[Any]:
    """Parameters of which only some run in CI."""
    return [
        pytest.param(*case, id=name, marks=() if name in quick else pytest.mark.full)
        for name, case in cases.items()
    ]


@pytest.mark.parametrize(("whole", "own", "phases"), in_ci(DELETED, "the task's own restarts"))
def test_a_pod_that_is_deleted_sets_off_a_policy(
    context: Context, whole: list[Object], own: list[Object], phases: tuple[str, ...]
) -> None:
    tasks = context.task("a", 1, policies=own), context.task("b", 1)
    seen = started(context, context.job("hit", *tasks, policies=whole))

    remove(context, "hit-a-0")

    seen.wait(*BEGUN, *phases)


@pytest.mark.parametrize(("whole", "own", "phases"), in_ci(FAILED, "the task's own goes first"))
def test_a_pod_that_fails_sets_off_a_policy(
    context: Context, whole: list[Object], own: list[Object], phases: tuple[str, ...]
) -> None:
    fails, other = context.shell("sleep 1 && exit 3", "fails", policies=own), context.task("other", 1)

    started(context, context.job("hit", fails, other, policies=whole)).wait(*BEGUN, *phases)


@pytest.mark.full
def test_another_exit_code_sets_off_nothing(context: Context) -> None:
    fails = context.shell("sleep 1 && exit 4", "fails")
    tasks = fails, context.task("other", 1)
    seen = started(context, context.job("spared", *tasks, policies=[policy("RestartJob", exitCode=3)]))

    context.wait(lambda: context.status("spared").get("failed") == 1, "the failed pod to be counted")

    assert seen.seen == [*BEGUN]


@pytest.mark.full
@pytest.mark.parametrize("own", [False, True], ids=["of the job", "of the other task"])
def test_a_policy_of_another_task_is_not_set_off(context: Context, own: bool) -> None:
    """A deleted pod is made again when only the other task has a policy; with the job's own it ends the job."""
    ends = [policy("TerminateJob", "PodEvicted")]
    tasks = context.task("a", 1), context.task("b", 1, policies=ends)
    seen = started(context, context.job("hit", *tasks, policies=[] if own else ends))
    before = {pod["metadata"]["uid"] for pod in context.of("hit")}

    remove(context, "hit-a-0")

    if not own:
        seen.wait(*BEGUN, *TERMINATES)
        return
    context.wait(
        lambda: len({pod["metadata"]["uid"] for pod in context.of("hit", "Running")} - before) == 1,
        "the deleted pod to run again",
    )
    assert "Terminating" not in seen.seen


@pytest.mark.full
def test_a_failed_pod_alone_is_restarted_and_a_late_termination_does_not_come(context: Context) -> None:
    """The deletion of the failed pod is ours, so it starts no clock of the policy of evictions."""
    policies = [policy("RestartPod", "PodFailed"), policy("TerminateJob", "PodEvicted", timeout="3s")]
    fails, other = context.shell("sleep 2 && exit 1", "fails"), context.task("other", 1)
    seen = started(context, context.job("hit", fails, other, policies=policies, maxRetry=20))
    (kept,) = [pod["metadata"]["uid"] for pod in context.of("hit") if "other" in pod["metadata"]["name"]]

    seen.wait(*BEGUN, "Restarting", "Pending", "Running")

    context.stays(lambda: not {"Terminating", "Terminated"} & set(seen.seen), "no termination", 4.0)
    assert kept in {pod["metadata"]["uid"] for pod in context.of("hit")}


@pytest.mark.full
def test_a_termination_that_may_wait_comes_late_and_only_if_no_pod_takes_the_place(context: Context) -> None:
    policies = [policy("TerminateJob", "PodEvicted", timeout="2s")]
    seen = started(context, context.job("hit", context.task("a", 2), policies=policies))

    remove(context, "hit-a-0")
    context.wait(lambda: "hit-a-0" in context.bound(), "the pod to be made and bound again")
    context.stays(lambda: "Terminating" not in seen.seen, "no termination", 3.0)

    with shut(context):
        remove(context, "hit-a-0")
        context.stays(lambda: "Terminating" not in seen.seen, "no termination yet", 1.0)
        follow(seen, *BEGUN, *TERMINATES)


@pytest.mark.full
@pytest.mark.parametrize("action", ["RestartJob", "AbortJob"])
def test_a_member_that_finds_no_place_again_makes_the_job_unknown(context: Context, action: str) -> None:
    """A running gang loses a pod while no node takes another."""
    seen = started(context, context.job("lame", context.task("a", 2), policies=[policy(action, "Unknown")]))

    with shut(context):
        remove(context, "lame-a-0")
        if action == "AbortJob":
            follow(seen, *BEGUN, *ABORTS)
            assert not context.of("lame")
            return
        follow(seen, *BEGUN, "Restarting", "Pending")
        context.stays(lambda: seen.seen[-1] == "Pending", "no place yet", 2.0)
    follow(seen, *BEGUN, *RESTARTS)
    assert context.status("lame")["retryCount"] == 1


@pytest.mark.full
@pytest.mark.parametrize("own", [False, True], ids=["of the job", "of the task"])
def test_a_task_that_completes_completes_its_job(context: Context, own: bool) -> None:
    """The other task serves for ever, and its pods go."""
    policies = [policy("CompleteJob", "TaskCompleted")]
    short = context.shell("sleep 1", "short", 2, policies=policies if own else [])
    seen = context.phases("done")
    context.create(context.job("done", short, context.task("long", 1), policies=[] if own else policies))

    context.wait(lambda: seen.seen[-1:] == ["Completed"], "the job to complete")
    assert seen.seen == [*BEGUN, "Completing", "Completed"]
    assert {pod["metadata"]["name"] for pod in context.of("done")} == {"done-short-0", "done-short-1"}


@pytest.mark.full
def test_a_container_that_was_restarted_too_often_fails_its_task(context: Context) -> None:
    """The tries of a task are those of its containers; the kubelet leaves what another wrote."""
    worn = context.task("worn", 1, policies=[policy("TerminateJob", "TaskFailed")], maxRetry=3)
    seen = started(context, context.job("tired", worn, context.task("other", 1)))
    path = f"{context.core}/pods/tired-worn-0/status"
    (status,) = context.client.get(path)["status"]["containerStatuses"]

    context.client.patch(path, {"status": {"containerStatuses": [{**status, "restartCount": 4}]}})

    seen.wait(*BEGUN, *TERMINATES)


@pytest.mark.full
def test_pods_of_the_task_with_more_priority_run_where_not_all_find_room(context: Context) -> None:
    """Four CPUs are left for eight pods, and the first task of the job has less priority."""
    high, low = context.priority("high", 100), context.priority("low", 1)
    context.fill(cpu=1)
    tasks = [context.task("low", 4), context.task("high", 4)]
    for task, name in zip(tasks, (low, high), strict=True):
        task["template"]["spec"]["priorityClassName"] = name
        task["minAvailable"] = 0
    context.create(context.job("ranked", *tasks, minAvailable=4))

    context.running("ranked", 4)
    assert {pod["metadata"]["name"] for pod in context.of("ranked", "Running")} == {
        f"ranked-high-{number}" for number in range(4)
    }
