"""JobFlows: which change asks for which flow, and which asks for none."""

from __future__ import annotations

import pytest

from tests.controllers.flow_world import FlowWorld, a_flow, a_template
from tests.controllers.world import a_job
from vcray.api.meta import JsonObject
from vcray.api.resources import JOBFLOWS, JOBS, JOBTEMPLATES, Resource
from vcray.controllers import raw
from vcray.controllers.base import Change, Outcome, Read, UpdateStatus
from vcray.controllers.jobflow.controller import FlowRequest, JobFlowController


def owned(kind: str = "JobFlow", version: str = "flow.volcano.sh/v1alpha1") -> JsonObject:
    job = a_job("f-a", uid="1")
    owner: JsonObject = {"apiVersion": version, "kind": kind, "name": "f", "uid": "u", "controller": True}
    raw.table(job, "metadata")["ownerReferences"] = [owner]
    return job


def labelled(value: str) -> JsonObject:
    return a_job("f-a", uid="1", labels={"volcano.sh/createdByJobFlow": value})


def flow(phase: str = "", policy: str = "") -> JsonObject:
    return {**a_flow("a", policy=policy), "status": {"state": {"phase": phase}}}


@pytest.mark.parametrize(
    ("resource", "old", "new", "woken"),
    [
        (JOBFLOWS, None, flow(), True),
        (JOBFLOWS, flow(), flow(), False),
        (JOBFLOWS, flow(), flow("Succeed"), False),
        (JOBFLOWS, flow(), flow("Succeed", "retain"), False),
        (JOBFLOWS, flow(), flow("Running", "delete"), False),
        (JOBFLOWS, flow(), flow("Succeed", "delete"), True),
        (JOBFLOWS, flow(), None, False),
        (JOBS, None, owned(), False),
        (JOBS, owned(), owned(), True),
        (JOBS, owned(), None, True),
        (JOBS, owned("CronJob"), owned("CronJob"), False),
        (JOBS, owned(version="example.com/v1"), owned(version="example.com/v1"), False),
        (JOBS, labelled("ns.f"), labelled("ns.f"), True),
        (JOBS, labelled("other.f"), labelled("other.f"), False),
        (JOBS, a_job("f-a", uid="1"), a_job("f-a", uid="1"), False),
        (JOBTEMPLATES, None, a_template("a"), True),
        (JOBTEMPLATES, None, a_template("b"), False),
        (JOBTEMPLATES, a_template("a"), a_template("a"), False),
        (JOBTEMPLATES, a_template("a"), None, False),
    ],
)
def test_a_change_wakes_the_flow_or_not(
    resource: Resource, old: JsonObject | None, new: JsonObject | None, woken: bool
) -> None:
    w = FlowWorld()
    w.put(JOBFLOWS, a_flow("a"))

    requests = list(JobFlowController().requests(Change(resource, old, new), w))

    assert requests == ([FlowRequest("ns", "f")] if woken else [])


def test_a_flow_that_is_going_is_not_written() -> None:
    w = FlowWorld("a")
    w.begin("a")
    w.change(JOBFLOWS, "ns", "f", metadata__deletionTimestamp="2027-01-15T08:00:00Z")
    w.effects.clear()

    w.now_is("Running", "f-a")

    assert w.effects == []


@pytest.mark.parametrize("live", [{"uid": "other"}, {"deletionTimestamp": "2027-01-15T08:00:00Z"}])
def test_the_servers_word_on_whether_the_flow_lives_counts(live: JsonObject) -> None:
    w = FlowWorld("a")
    w.fail = lambda e: (
        Outcome(object={"metadata": {**raw.table(w.flow(), "metadata"), **live}})
        if isinstance(e, Read)
        else None
    )

    w.begin("a")

    assert w.jobs() == []
    assert w.did(UpdateStatus) == []
