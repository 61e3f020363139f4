"""Rules of lifecycle policies."""

from __future__ import annotations

import pytest

from vcray.api.meta import JsonObject, JsonValue
from vcray.webhooks.job_policies import ACTIONS, policies_problem

CHOICES = (
    " valid events are [* PodFailed PodEvicted PodPending Unknown TaskCompleted TaskFailed JobUpdated], "
    "valid actions are [AbortJob RestartJob RestartTask RestartPod RestartPartition TerminateJob CompleteJob ResumeJob];"
)


def on(event: str, action: str = "RestartJob", **fields: JsonValue) -> JsonObject:
    return {"event": event, "action": action, **fields}


def code(number: int, **fields: JsonValue) -> JsonObject:
    return {"exitCode": number, **fields}


def listed(*faults: str) -> str:
    head = "1 error occurred:" if len(faults) == 1 else f"{len(faults)} errors occurred:"
    return head + "".join(f"\n\t* {fault}" for fault in faults) + "\n\n" + CHOICES


@pytest.mark.parametrize(
    ("policies", "fault"),
    [
        ([on("PodFailed", exitCode=1)], "must not specify event and exitCode simultaneously"),
        (
            [{"events": ["PodFailed"], "action": "AbortJob", "exitCode": 1}],
            "must not specify event and exitCode simultaneously",
        ),
        ([{"action": "AbortJob"}], "either event and exitCode should be specified"),
        ([on("PodRunning")], 'p: Invalid value: "PodRunning": invalid policy event'),
        ([on("CommandIssued")], 'p: Invalid value: "CommandIssued": invalid policy event'),
        ([on("PodFailed", "SyncJob")], 'p: Invalid value: "SyncJob": invalid policy action'),
        ([on("PodFailed", "")], 'p: Invalid value: "": invalid policy action'),
        ([on("PodFailed"), on("PodFailed")], "duplicate event PodFailed  across different policy"),
        ([code(0)], "0 is not a valid error code"),
        ([code(3), code(3)], "duplicate exitCode 3"),
        ([on("*"), on("PodFailed")], "if there's * here, no other policy should be here"),
        (
            [{"events": ["PodFailed", "*"], "action": "AbortJob"}],
            "if there's * here, no other policy should be here",
        ),
    ],
)
def test_first_fault_of_a_list_is_told_with_the_choices(policies: list[JsonObject], fault: str) -> None:
    """api-controllers.md 10.58d."""
    assert policies_problem(policies, "p") == listed(fault)


def test_list_is_not_read_beyond_its_first_fault() -> None:
    policies = [on("PodFailed", "bad"), code(0), on("*")]

    assert policies_problem(policies, "p") == listed('p: Invalid value: "bad": invalid policy action')


def test_star_is_checked_on_what_was_read_before_the_fault() -> None:
    policies = [on("*"), on("PodFailed"), code(0)]

    assert policies_problem(policies, "p") == listed(
        "0 is not a valid error code", "if there's * here, no other policy should be here"
    )


@pytest.mark.parametrize("action", ["", "SyncJob", "whatever"])
def test_exit_code_may_carry_any_action(action: str) -> None:
    assert policies_problem([code(3, action=action)], "p") == ""


@pytest.mark.parametrize("action", ACTIONS)
def test_every_user_action_passes(action: str) -> None:
    assert policies_problem([on("TaskCompleted", action)], "p") == ""


def test_event_named_twice_in_one_policy_counts_once() -> None:
    assert (
        policies_problem([on("PodFailed", events=["PodFailed", "PodEvicted"]), code(1), code(2)], "p") == ""
    )
