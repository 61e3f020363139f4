"""Expectations against what is seen: sentences for what does not hold, and what must never be."""

from __future__ import annotations

import pytest

from vcray.api.meta import JsonObject
from vcray.api.resources import CONFIGMAPS
from vcray.sim.expectations import failures, held, holds
from vcray.sim.observed import Observed
from vcray.sim.scenario import Expectations

METRICS = """\
# HELP waiting Pods that wait.
# TYPE waiting gauge
waiting{job_id="a"} 2.0
waiting{job_id="b"} 3.0
rounds_total 7.0
"""


def pod(name: str, phase: str = "Pending", node: str = "", **labels: str) -> JsonObject:
    spec: JsonObject = {"nodeName": node} if node else {}
    condition: JsonObject = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    return {
        "metadata": {"name": name, "labels": {**labels}},
        "spec": spec,
        "status": {"phase": phase, "conditions": [{**condition, "message": f"0/2 nodes: {name}"}]},
    }


def member(name: str, task: str, phase: str = "Running", node: str = "n1") -> JsonObject:
    return pod(name, phase, node, **{"volcano.sh/job-name": "j", "volcano.sh/task-spec": task})


def event(on: str, reason: str, message: str = "", kind: str = "Pod") -> JsonObject:
    about: JsonObject = {"kind": kind, "name": on}
    return {"involvedObject": about, "reason": reason, "message": message, "type": "Warning"}


SEEN = Observed(
    pods=[
        member("j-ps-0", "ps"),
        member("j-w-0", "w"),
        member("j-w-1", "w", "Succeeded", "n2"),
        pod("lone"),
    ],
    groups=[
        {
            "metadata": {"name": "j-123", "ownerReferences": [{"kind": "Job", "name": "j"}]},
            "status": {
                "phase": "Running",
                "conditions": [{"type": "Scheduled", "status": "True", "reason": "tasks in gang are ready"}],
            },
        }
    ],
    jobs=[{"metadata": {"name": "j"}, "status": {"state": {"phase": "Running"}}}],
    queues=[
        {"metadata": {"name": "q"}, "status": {"state": "Open", "allocated": {"cpu": "1500m"}, "running": 2}}
    ],
    nodes=[{"metadata": {"name": "n1"}}],
    events=[event("lone", "FailedScheduling", "no room"), event("j", "PluginError", "svc", "Job")],
    evicted=[("j-w-2", "j")],
    others={
        CONFIGMAPS: [
            {
                "metadata": {"name": "c", "namespace": "default"},
                "data": {"k": "v"},
                "list": [{"a": 1, "b": 2}],
            }
        ]
    },
    metrics=METRICS,
)

TRUE: list[dict[str, object]] = [
    {"bound": {"j": 2, "j/w": 1, "lone": 0, "j-*": "2..3"}},
    {"running": {"j": ">=2"}, "pending": {"lone": 1}, "succeeded": {"j": 1}, "failed": {"*": 0}},
    {"pods": {"*": 4, "nobody": 0}},
    {"nodes": {"n1": 2, "n2": 0, "n9": "<1"}},
    {"nodes": {"n1": ["j-w-0", "j-ps-0"]}},
    {"nodes": {"n1": {"j/w": 1, "lone": 0}}},
    {
        "phases": {
            "job/j": "Running",
            "group/j": ["Inqueue", "Running"],
            "queue/q": "Open",
            "pod/l*": "Pending",
        }
    },
    {"conditions": {"group/j:Scheduled": "True", "pod/lone:PodScheduled": "False Unschedulable"}},
    {"messages": {"pod/lone": "0/2 nodes*"}},
    {"evicted": 1},
    {"evicted": {"j": 1, "j-w-*": 1, "lone": 0}},
    {"events": [{"on": "pod/lone", "reason": "FailedScheduling", "type": "Warning", "message": "*room"}]},
    {"no_events": [{"on": "pod/j-*", "reason": "FailedScheduling"}]},
    {"objects": [{"kind": "ConfigMap", "name": "c", "fields": {"data": {"k": "v", "x": None}}}]},
    {"objects": [{"kind": "cm", "name": "c", "fields": {"list": {"0": {"b": 2}}}}]},
    {"objects": [{"kind": "ConfigMap", "name": "c", "namespace": "other", "exists": False}]},
    {
        "queues": {
            "q": {"allocated": {"cpu": "1.5", "memory": 0}, "running": 2, "inqueue": 0, "state": "Open"}
        }
    },
    {"queues": {"q": {"allocated": {"cpu": "<=1500m"}}}},
    {"metrics": {"waiting": 5, 'waiting{job_id="b"}': 3, "rounds_total": ">6", "gone": None}},
    {"metrics": {'waiting{job_id="c"}': None}},
]

FALSE: list[tuple[dict[str, object], str]] = [
    (
        {"bound": {"j/w": 2}},
        "bound.j/w: expected 2, found 1 (j-w-0 Running on n1, j-w-1 Succeeded on n2)",
    ),
    ({"pods": {"nobody": 1}}, "pods.nobody: expected 1, found 0 (no pod matches)"),
    ({"nodes": {"n1": ["lone"]}}, "nodes.n1: expected ['lone'], found ['j-ps-0', 'j-w-0']"),
    ({"nodes": {"n1": 3}}, "nodes.n1: expected 3 pods, found 2: ['j-ps-0', 'j-w-0']"),
    ({"nodes": {"n1": {"j/w": 2}}}, "nodes.n1.j/w: expected 2, found 1 of ['j-ps-0', 'j-w-0']"),
    ({"phases": {"job/j": ["Failed", "Aborted"]}}, "phases.job/j: expected Failed or Aborted, j is Running"),
    ({"phases": {"pod/none": "Running"}}, "phases.pod/none: there is no such object"),
    (
        {"conditions": {"group/j:Scheduled": "False"}},
        "conditions.group/j:Scheduled: expected False, found True tasks in gang are ready",
    ),
    (
        {"conditions": {"job/j:Ready": "True"}},
        "conditions.job/j:Ready: expected True, found no such condition",
    ),
    ({"messages": {"pod/lone": "x"}}, "messages.pod/lone: expected 'x', found '0/2 nodes: lone'"),
    ({"evicted": 0}, "evicted: expected 0, found 1: ['j-w-2']"),
    ({"evicted": {"j": 2}}, "evicted.j: expected 2, found 1 of ['j-w-2']"),
    (
        {"events": [{"on": "pod/lone", "reason": "Scheduled"}]},
        "events[0]: no event Scheduled '*' on pod/lone; seen there: ['FailedScheduling']",
    ),
    (
        {"no_events": [{"on": "job/*", "reason": "PluginError"}]},
        "no_events[0]: PluginError 'svc' on job/*",
    ),
    ({"objects": [{"kind": "ConfigMap", "name": "d"}]}, "objects[0]: ConfigMap d does not exist"),
    (
        {"objects": [{"kind": "ConfigMap", "name": "c", "exists": False}]},
        "objects[0]: ConfigMap c exists",
    ),
    (
        {"objects": [{"kind": "ConfigMap", "name": "c", "fields": {"data": {"k": "w"}}}]},
        "objects[0]: ConfigMap c.data.k: expected 'w', found 'v'",
    ),
    (
        {"objects": [{"kind": "ConfigMap", "name": "c", "fields": {"list": {"1": {"b": 2}}}}]},
        "objects[0]: ConfigMap c.list[1]: expected {'b': 2}, found None",
    ),
    ({"queues": {"q": {"allocated": {"cpu": 2}}}}, "queues.q.allocated.cpu: expected 2, found 1500m"),
    ({"queues": {"r": {"running": 1}}}, "queues.r: there is no such queue"),
    ({"metrics": {"waiting": 4}}, "metrics.waiting: expected 4, found 5"),
    ({"metrics": {"gone": 0}}, "metrics.gone: there is no such series"),
    ({"metrics": {"waiting": None}}, "metrics.waiting: expected no such series, found 2"),
]


@pytest.mark.parametrize("given", TRUE)
def test_what_is_so_holds(given: dict[str, object]) -> None:
    assert failures(Expectations.model_validate(given), SEEN) == []


@pytest.mark.parametrize(("given", "sentence"), FALSE)
def test_what_is_not_so_is_one_sentence(given: dict[str, object], sentence: str) -> None:
    assert failures(Expectations.model_validate(given), SEEN) == [sentence]


@pytest.mark.parametrize("given", [each for each in TRUE if "no_events" not in each])
def test_what_is_so_is_held_against_never(given: dict[str, object]) -> None:
    assert held(Expectations.model_validate(given), SEEN) != []


@pytest.mark.parametrize("given", [each for each, _ in FALSE if "no_events" not in each])
def test_what_is_not_so_is_not_held_against_never(given: dict[str, object]) -> None:
    assert held(Expectations.model_validate(given), SEEN) == []


def test_never_judges_each_entry_by_itself_and_any_object_counts() -> None:
    never = Expectations.model_validate(
        {
            "phases": {"pod/*": "Succeeded", "job/*": "Failed"},
            "nodes": {"n1": {"j/ps": 5, "j/w": 1}},
            "queues": {"q": {"allocated": {"cpu": ">1", "memory": ">1"}, "running": 9}},
        }
    )

    assert held(never, SEEN) == ["nodes.n1.j/w", "phases.pod/*", "queues.q.allocated.cpu"]


@pytest.mark.parametrize(
    ("count", "number", "so"),
    [
        (3, 3, True),
        ("3", 4, False),
        (">2", 2, False),
        (">= 2", 2, True),
        ("<2", 1, True),
        ("<=1", 2, False),
        ("!=0", 1, True),
        ("2..3", 3, True),
        ("2..3", 4, False),
        (">0.5", 0.6, True),
    ],
)
def test_comparisons(count: int | str, number: float, so: bool) -> None:
    assert holds(count, number) is so
