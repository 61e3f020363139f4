"""JobFlows: which jobs are made when, under which names and marks, and which are deleted."""

from __future__ import annotations

import pytest

from tests.controllers.flow_world import FlowWorld, a_flow, a_template
from tests.controllers.world import a_job
from vcray.api.meta import JsonObject
from vcray.api.resources import JOBFLOWS, JOBS, JOBTEMPLATES
from vcray.controllers import raw
from vcray.controllers.base import Create, Delete, Emit, Outcome, Read, UpdateStatus

CHAIN = ("a", ("b", ["a"]))
DIAMOND = ("a", ("b", ["a"]), ("c", ["a"]), ("d", ["b", "c"]))


def test_a_job_bears_name_marks_owner_and_spec() -> None:
    w = FlowWorld("a")

    w.begin("a")

    job = w.job("f-a")
    marks = {"volcano.sh/createdByJobTemplate": "ns.a", "volcano.sh/createdByJobFlow": "ns.f"}
    assert (raw.labels_of(job), raw.annotations_of(job)) == (marks, marks)
    assert raw.tables(job, "metadata", "ownerReferences") == [
        {
            "apiVersion": "flow.volcano.sh/v1alpha1",
            "kind": "JobFlow",
            "name": "f",
            "uid": raw.uid(w.flow()),
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]
    assert job["spec"] == a_template("a")["spec"]
    assert w.events == [("Created", "create a job named f-a!")]


def test_patch_and_probe_are_not_looked_at() -> None:
    """api-controllers.md 10.46."""
    w = FlowWorld("a", "b")
    flow = a_flow("a", "b")
    probe: JsonObject = {"taskStatusList": [{"taskName": "t", "phase": "Running"}]}
    patch: JsonObject = {"jobSpec": {"queue": "other"}}
    raw.table(flow, "spec")["flows"] = [
        {"name": "a", "patch": patch},
        {"name": "b", "dependsOn": {"probe": probe}},
    ]

    w.put(JOBFLOWS, flow)
    w.settle()

    assert w.jobs() == ["f-a", "f-b"]
    assert raw.text(w.job("f-a"), "spec", "queue") == "default"


def test_a_job_waits_until_all_its_targets_have_completed() -> None:
    w = FlowWorld("a", "b", "c", "d")
    w.begin(*DIAMOND)
    assert w.jobs() == ["f-a"]

    w.now_is("Running", "f-a")
    assert w.jobs() == ["f-a"]
    w.now_is("Completed", "f-a")
    assert w.jobs() == ["f-a", "f-b", "f-c"]
    w.now_is("Completed", "f-b")
    assert w.jobs() == ["f-a", "f-b", "f-c"]
    w.now_is("Completing", "f-c")
    assert w.jobs() == ["f-a", "f-b", "f-c"]
    w.now_is("Completed", "f-c")
    assert w.created() == ["f-a", "f-b", "f-c", "f-d"]
    w.now_is("Completed", "f-d")

    assert w.flow_phases == ["Pending", "Running", "Succeed"]
    assert raw.at(w.flow_status(), "completedJobs") == ["f-a", "f-b", "f-c", "f-d"]


@pytest.mark.parametrize("phase", ["Failed", "Terminated"])
def test_a_failed_or_terminated_job_fails_a_running_flow_for_good(phase: str) -> None:
    w = FlowWorld("a", "b", "c")
    w.begin("a", "b", ("c", ["a"]))
    w.now_is("Running", "f-a")

    w.now_is(phase, "f-b")
    w.now_is("Completed", "f-a", "f-b")

    assert w.flow_phases == ["Pending", "Running", "Failed"]
    assert w.jobs() == ["f-a", "f-b"]
    assert raw.at(w.flow_status(), "runningJobs") == ["f-a"]


def test_a_deleted_job_is_made_again_at_the_next_event_only() -> None:
    w = FlowWorld("a", "b")
    w.begin("a", "b")

    w.remove(JOBS, "ns", "f-a")
    w.settle()
    assert w.jobs() == ["f-b"]
    w.now_is("Running", "f-b")

    assert w.jobs() == ["f-a", "f-b"]


def test_a_job_that_its_time_to_live_took_has_completed_nevertheless() -> None:
    w = FlowWorld("b", "c")
    w.put(JOBTEMPLATES, a_template("a", ttlSecondsAfterFinished=0))
    w.begin("a", "b", ("c", ["a", "b"]))
    w.now_is("Completed", "f-a")
    w.remove(JOBS, "ns", "f-a")

    w.now_is("Completed", "f-b")
    w.now_is("Completed", "f-c")

    assert w.created() == ["f-a", "f-b", "f-c"]
    assert w.flow_phases == ["Pending", "Running", "Succeed"]


def test_a_job_that_goes_as_soon_as_it_completes_is_noted_even_if_the_write_fails() -> None:
    w = FlowWorld("b")
    w.put(JOBTEMPLATES, a_template("a", ttlSecondsAfterFinished=0))
    w.begin(*CHAIN)
    w.now_is("Running", "f-a")
    errors = [Outcome(ok=False, status=500, message="slow")]
    w.fail = lambda effect: errors.pop() if isinstance(effect, UpdateStatus) and errors else None

    w.change(JOBS, "ns", "f-a", status__state__phase="Completed")
    w.remove(JOBS, "ns", "f-a")
    w.settle()
    assert w.errors == ["slow"]
    w.now_is("Completed", "f-b")

    assert w.created() == ["f-a", "f-b"]
    entries = raw.tables(w.flow_status(), "jobStatusList")
    assert [(raw.text(e, "name"), raw.text(e, "state")) for e in entries] == [
        ("f-a", "Completed"),
        ("f-b", "Completed"),
    ]
    assert raw.at(w.flow_status(), "completedJobs") == ["f-b"]
    assert w.flow_phases == ["Pending", "Running", "Succeed"]


@pytest.mark.parametrize("phase", ["Failed", "Terminated"])
def test_a_job_that_goes_as_soon_as_it_fails_is_not_run_again(phase: str) -> None:
    w = FlowWorld("b")
    w.put(JOBTEMPLATES, a_template("a", ttlSecondsAfterFinished=0))
    w.begin("a", "b")

    w.change(JOBS, "ns", "f-a", status__state__phase=phase)
    w.remove(JOBS, "ns", "f-a")
    w.settle()
    w.now_is("Running", "f-b")

    assert w.created() == ["f-a", "f-b"]
    assert w.flow_phases == ["Pending", "Failed"]


def test_a_terminated_job_that_is_gone_counts_still() -> None:
    w = FlowWorld("b")
    w.put(JOBTEMPLATES, a_template("a", ttlSecondsAfterFinished=0))
    w.begin("a", "b")

    w.change(JOBS, "ns", "f-b", status__state__phase="Running")
    w.change(JOBS, "ns", "f-a", status__state__phase="Terminated")
    w.remove(JOBS, "ns", "f-a")
    w.settle()

    assert w.created() == ["f-a", "f-b"]
    assert w.flow_phases == ["Pending", "Running", "Failed"]


def test_a_spec_that_changes_is_followed_at_the_next_event() -> None:
    w = FlowWorld("a", "b")
    w.begin("a")

    w.change(JOBFLOWS, "ns", "f", spec__flows=[{"name": "a"}, {"name": "b"}])
    w.settle()
    assert w.jobs() == ["f-a"]
    w.now_is("Running", "f-a")

    assert w.jobs() == ["f-a", "f-b"]


def test_jobs_of_a_flow_that_succeeded_go_under_the_policy_delete() -> None:
    w = FlowWorld("a", "b")
    w.begin(*CHAIN, policy="delete")
    w.now_is("Completed", "f-a")
    uids = {raw.name(job): raw.uid(job) for job in w.list(JOBS)}

    w.now_is("Completed", "f-b")

    assert w.jobs() == []
    assert {e.name: e.uid for e in w.did(Delete) if isinstance(e, Delete)} == uids
    assert w.flow_phase() == "Succeed"
    assert raw.at(w.flow_status(), "completedJobs") == ["f-a", "f-b"]
    w.restart()
    assert w.jobs() == []


@pytest.mark.parametrize("policy", ["", "retain"])
def test_jobs_stay_otherwise_and_go_once_the_policy_says_so(policy: str) -> None:
    w = FlowWorld("a")
    w.begin("a", policy=policy)
    w.now_is("Completed", "f-a")
    assert w.jobs() == ["f-a"]

    w.change(JOBFLOWS, "ns", "f", spec__jobRetainPolicy="delete")
    w.settle()

    assert w.jobs() == []


def test_a_delete_that_fails_is_tried_again_and_what_is_going_is_left() -> None:
    w = FlowWorld("a", "b")
    w.begin("a", "b", policy="delete")
    w.now_is("Completed", "f-a")
    w.change(JOBS, "ns", "f-a", metadata__deletionTimestamp="2027-01-15T08:00:00Z")
    errors = [Outcome(ok=False, status=500, message="slow")]
    w.fail = lambda effect: errors.pop() if isinstance(effect, Delete) and errors else None

    w.now_is("Completed", "f-b")

    assert w.jobs() == ["f-a"]
    assert w.errors == ["slow"]


def test_a_failed_flow_keeps_its_jobs_under_the_policy_delete() -> None:
    w = FlowWorld("a")
    w.begin("a", policy="delete")

    w.now_is("Failed", "f-a")

    assert (w.flow_phases, w.jobs()) == (["Pending", "Failed"], ["f-a"])


def test_a_job_that_exists_already_is_no_error() -> None:
    w = FlowWorld("a")
    exists = Outcome(ok=False, status=409, reason="AlreadyExists", message="exists")
    w.fail = lambda effect: exists if isinstance(effect, Create) else None

    w.begin("a")

    assert (w.errors, w.events) == ([], [])
    assert w.flow_status() == {"state": {"phase": "Pending"}}


def test_a_missing_template_is_told_after_fifteen_retries_and_holds_up_nobody_else() -> None:
    w = FlowWorld("b")

    w.begin("a", "b")

    error = 'jobtemplate.flow.volcano.sh "a" not found'
    assert w.errors == [error] * 16
    assert w.events == [
        ("Created", "create a job named f-b!"),
        ("SyncJobFlow", f"SyncJobFlow JobFlow failed for {error}"),
    ]
    warning = w.did(Emit)[-1]
    assert isinstance(warning, Emit)
    assert (warning.type, warning.object) == ("Warning", w.flow())
    assert raw.at(w.flow_status(), "unKnowJobs") == ["f-b"]

    w.put(JOBTEMPLATES, a_template("a"))
    w.settle()
    assert w.jobs() == ["f-a", "f-b"]


def test_a_refused_job_is_told_and_others_are_made() -> None:
    w = FlowWorld("a", "b")
    denied = Outcome(ok=False, status=400, reason="BadRequest", message="denied")
    w.fail = lambda e: denied if isinstance(e, Create) and raw.name(e.object) == "f-a" else None

    w.begin("a", "b")

    assert w.jobs() == ["f-b"]
    assert w.events[-1] == ("SyncJobFlow", "SyncJobFlow JobFlow failed for denied")


def test_names_with_dots_are_names() -> None:
    w = FlowWorld("a.b")
    w.put(JOBFLOWS, a_flow("a.b", name="f.g"))
    w.settle()

    w.now_is("Running", "f.g-a.b")
    w.now_is("Completed", "f.g-a.b")

    assert raw.labels_of(w.job("f.g-a.b"))["volcano.sh/createdByJobFlow"] == "ns.f.g"
    assert w.flow_phases == ["Pending", "Running", "Succeed"]


def test_a_name_that_stands_twice_means_one_job_and_the_flow_ends_o_062() -> None:
    """api-controllers.md 10.58c, decided otherwise: docs/differences.md."""
    w = FlowWorld("a", "b")
    w.begin("a", "a", "b")

    w.now_is("Completed", "f-a", "f-b")

    assert w.created() == ["f-a", "f-b"]
    assert w.flow_phases == ["Pending", "Running", "Succeed"]
    message = "flows a stand more than once, one job is made for each name"
    assert [event for event in w.events if event[0] == "DuplicateFlow"] == [("DuplicateFlow", message)] * 3


def test_somebody_elses_job_under_the_name_is_neither_counted_nor_touched() -> None:
    w = FlowWorld("a", "b")
    w.put(JOBS, {**a_job("f-a"), "status": {"state": {"phase": "Completed"}}})

    w.begin(*CHAIN, policy="delete")
    assert w.jobs() == ["f-a"]
    assert w.flow_status() == {"state": {"phase": "Pending"}}
    assert w.events == [
        ("SyncJobFlow", 'SyncJobFlow JobFlow failed for jobs.batch.volcano.sh "f-a" already exists')
    ]

    w.remove(JOBS, "ns", "f-a")
    w.settle()
    assert w.created() == ["f-a"]


def test_jobs_that_lost_their_flow_are_taken_up_by_the_next_of_its_name() -> None:
    w = FlowWorld("a", "b")
    marks: JsonObject = {"volcano.sh/createdByJobFlow": "ns.f"}
    w.put(JOBS, {**a_job("f-a", labels=marks), "status": {"state": {"phase": "Running"}}})

    w.begin(*CHAIN)
    assert w.flow_phases == ["Running"]
    w.now_is("Completed", "f-a")

    assert w.created() == ["f-b"]


def test_a_name_that_can_be_cut_in_several_ways_wakes_the_flow_that_waits_for_it() -> None:
    w = FlowWorld("c-d")
    w.put(JOBFLOWS, a_flow("d", name="a-b-c"))
    w.put(JOBS, a_job("a-b-c-d"))
    w.put(JOBFLOWS, a_flow("c-d", name="a-b"))
    w.settle()

    w.remove(JOBS, "ns", "a-b-c-d")
    w.settle()

    assert raw.text(raw.controller(w.job("a-b-c-d")), "name") == "a-b"


def test_jobs_of_an_earlier_flow_of_the_name_are_waited_for() -> None:
    w = FlowWorld("a")
    w.begin("a")
    w.now_is("Completed", "f-a")
    w.remove(JOBFLOWS, "ns", "f")

    w.begin("a")
    assert w.created() == ["f-a"]
    w.remove(JOBS, "ns", "f-a")
    w.settle()

    assert w.created() == ["f-a", "f-a"]
    assert raw.controlled_by(w.job("f-a"), raw.uid(w.flow()))


def test_nothing_is_made_for_a_flow_that_is_going_or_gone() -> None:
    w = FlowWorld("a")
    going = a_flow("a")
    raw.table(going, "metadata")["deletionTimestamp"] = "2027-01-15T08:00:00Z"
    w.put(JOBFLOWS, going)
    w.settle()
    gone = Outcome(ok=False, status=404, reason="NotFound", message="gone")
    w.fail = lambda effect: gone if isinstance(effect, Read) else None
    w.put(JOBFLOWS, a_flow("a", name="g"))
    w.settle()

    assert w.jobs() == []
    assert w.did(UpdateStatus) == []


def test_a_restart_catches_up_with_all_that_happened_meanwhile() -> None:
    w = FlowWorld("a", "b")
    w.begin(*CHAIN)
    w.controllers = []
    w.now_is("Completed", "f-a")

    w.restart()
    assert w.jobs() == ["f-a", "f-b"]
    w.controllers = []
    w.now_is("Completed", "f-b")
    w.restart()

    assert w.flow_phases == ["Pending", "Running", "Succeed"]
