"""vcctl as users call it, a program on a cluster (Volcano's suite `vcctl`)."""

from __future__ import annotations

import pytest

from tests.cli.test_vcctl_help import ROOT, TEXTS
from tests.e2e.release.acts import COLLECTED_S, follow, shut, started, vcctl
from tests.e2e.release.context import Context


@pytest.mark.full
@pytest.mark.parametrize("words", ["", "job", "job list", "job suspend", "job resume", "job run"])
def test_help_is_volcanos(context: Context, words: str) -> None:
    expected = TEXTS[words] if words else ROOT

    assert vcctl(context, *words.split(), "--help") == (0, expected)


@pytest.mark.full
def test_the_list_shows_what_the_objects_say(context: Context) -> None:
    context.create(context.job("first", context.task("a", 2)))
    context.create(context.job("second", context.task("a", 1, cpu=10_000), context.task("b", 3)))
    context.running("first", 2)
    context.wait(lambda: context.status("first").get("running") == 2, "its pods to be counted")
    context.wait(lambda: bool(context.status("second").get("state")), "the other to have a phase")

    code, out = vcctl(context, "job", "list", "-n", context.namespace)

    heading, *rows = [line.split() for line in out.splitlines()]
    assert code == 0
    assert heading[:6] == ["Name", "Creation", "Phase", "JobType", "Replicas", "Min"]
    wanted = []
    for job in context.client.get(context.jobs)["items"]:
        status = job["status"]
        counts = [status.get(key, 0) for key in ("minAvailable", "pending", "running", "succeeded", "failed")]
        counts += [status.get(key, 0) for key in ("unknown", "retryCount")]
        replicas = sum(task["replicas"] for task in job["spec"]["tasks"])
        head, day = job["metadata"]["name"], job["metadata"]["creationTimestamp"][:10]
        wanted.append([head, day, status["state"]["phase"], "Batch", str(replicas), *map(str, counts)])
    assert rows == wanted
    assert [row[0] for row in rows] == ["first", "second"]


def test_a_running_job_is_suspended_and_resumed(context: Context) -> None:
    """Its pods go, and come back."""
    where = ("-N", "pause", "-n", context.namespace)
    seen = started(context, context.job("pause", context.task("a", 2)))

    assert vcctl(context, "job", "suspend", *where) == (0, "")
    follow(seen, "Pending", "Running", "Aborting", "Aborted")
    context.wait(lambda: not context.pods(), "its pods to go")

    assert vcctl(context, "job", "resume", *where) == (0, "")
    follow(seen, "Aborted", "Restarting", "Pending", "Running")
    context.running("pause", 2)


@pytest.mark.full
def test_a_job_that_waits_is_suspended(context: Context) -> None:
    seen = context.phases("waits")
    context.create(context.job("waits", context.task("a", 1, cpu=10_000)))
    seen.wait("Pending")

    assert vcctl(context, "job", "suspend", "-N", "waits", "-n", context.namespace) == (0, "")

    context.wait(lambda: seen.seen[-1] == "Aborted", "the job to be suspended")
    context.wait(lambda: not context.client.get(context.groups)["items"], "its PodGroup to go")


@pytest.mark.full
def test_a_job_that_no_node_takes_is_deleted(context: Context) -> None:
    with shut(context):
        context.create(context.job("shut-out", context.task("a", 2)))
        context.wait(lambda: len(context.of("shut-out", "Pending")) == 2, "its pods to wait")

        done = vcctl(context, "job", "delete", "-N", "shut-out", "-n", context.namespace)

        assert done == (0, "delete job shut-out successfully\n")
        context.wait(lambda: not context.client.exists(f"{context.jobs}/shut-out"), "the job to go")
        context.wait(lambda: not context.pods(), "its pods to go", COLLECTED_S)
