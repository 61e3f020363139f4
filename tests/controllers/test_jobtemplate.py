"""JobTemplates: which jobs were made from each, and when that is written."""

from __future__ import annotations

from tests.controllers.flow_world import a_template
from tests.controllers.world import World, a_job
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import JOBS, JOBTEMPLATES
from vcray.controllers import raw
from vcray.controllers.base import Outcome, UpdateStatus
from vcray.controllers.jobtemplate import JobTemplateController


def world(*templates: str) -> World:
    w = World([JobTemplateController()])
    for name in templates:
        w.put(JOBTEMPLATES, a_template(name))
    w.settle()
    return w


def job(w: World, name: str, label: str = "ns.a", namespace: str = "ns") -> None:
    labels: JsonObject = {"volcano.sh/createdByJobTemplate": label}
    w.put(JOBS, a_job(name, namespace, labels=labels))
    w.settle()


def listed(w: World, name: str = "a") -> JsonValue:
    return raw.at(w.get(JOBTEMPLATES, "ns", name), "status", "jobDependsOnList")


def test_jobs_of_a_template_are_listed_by_name_as_they_appear() -> None:
    w = world("a", "b")

    job(w, "y")
    assert listed(w) == ["y"]
    job(w, "x")
    job(w, "z", "ns.b")

    assert listed(w) == ["x", "y"]
    assert listed(w, "b") == ["z"]


def test_a_template_that_appears_after_its_jobs_lists_them() -> None:
    w = world()
    job(w, "x")

    w.put(JOBTEMPLATES, a_template("a"))
    w.settle()

    assert listed(w) == ["x"]


def test_nothing_is_written_without_jobs_or_without_news() -> None:
    w = world("a", "b")
    job(w, "x")
    assert len(w.did(UpdateStatus)) == 1

    w.change(JOBS, "ns", "x", status__state__phase="Running")
    w.replay(JOBS, JOBTEMPLATES)
    w.settle()

    assert len(w.did(UpdateStatus)) == 1
    assert listed(w, "b") is None


def test_a_deletion_writes_nothing_and_the_next_job_brings_the_list_up_to_date() -> None:
    w = world("a")
    job(w, "x")
    job(w, "y")

    w.remove(JOBS, "ns", "x")
    w.settle()
    assert listed(w) == ["x", "y"]
    job(w, "z")

    assert listed(w) == ["y", "z"]


def test_a_job_that_loses_its_label_is_listed_no_more() -> None:
    w = world("a")
    job(w, "x")

    w.change(JOBS, "ns", "x", metadata__labels={})
    job(w, "y")

    assert listed(w) == ["y"]


def test_labels_without_a_template_of_the_jobs_namespace_mean_nothing() -> None:
    w = world("a")

    for number, label in enumerate(("", "a", "ns.", ".a", "ns.ghost", "other.a")):
        job(w, f"x{number}", label)
    job(w, "y", "ns.a", namespace="other")

    assert listed(w) is None
    assert w.did(UpdateStatus) == []


def test_names_with_dots_are_names() -> None:
    w = world("a.b")

    job(w, "x", "ns.a.b")

    assert listed(w, "a.b") == ["x"]


def test_a_restart_finds_the_jobs_again() -> None:
    w = world("a")
    job(w, "x")
    w.controllers = [JobTemplateController()]
    w.replay(JOBTEMPLATES, JOBS)
    w.settle()

    job(w, "y")

    assert listed(w) == ["x", "y"]


def test_a_refused_write_is_tried_again_and_told_of_in_the_end() -> None:
    w = world("a")
    refusal = Outcome(ok=False, status=409, reason="Conflict", message="modified")
    refusals = [refusal] * 3
    w.fail = lambda e: refusals.pop() if isinstance(e, UpdateStatus) and refusals else None
    job(w, "x")
    assert listed(w) == ["x"]

    refusals = [refusal] * 16
    job(w, "y")

    assert listed(w) == ["x"]
    assert w.events == [("SyncJobTemplate", "SyncJobTemplate JobTemplate failed for modified")]


def test_a_template_that_goes_meanwhile_is_no_error() -> None:
    w = world("a")
    gone = Outcome(ok=False, status=404, reason="NotFound", message="gone")
    w.fail = lambda e: gone if isinstance(e, UpdateStatus) else None

    job(w, "x")

    assert (w.errors, w.events) == ([], [])
