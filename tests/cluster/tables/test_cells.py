"""Cells say what kubectl's users know: a pod's state in one word."""

from typing import Any

import pytest

from vcray.cluster.tables.cells import selector
from vcray.cluster.tables.custom import at_path
from vcray.cluster.tables.pods import PRINTERS


def container(state: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": "c", "restartCount": 0, "state": state, **more}


def state_of(status: dict[str, Any], spec: dict[str, Any] | None = None, **metadata: Any) -> tuple[Any, Any]:
    """The Ready and Status cells of a pod with one container."""
    pod = {
        "metadata": {"name": "p", **metadata},
        "spec": {"containers": [{"name": "c"}], **(spec or {})},
        "status": status,
    }
    cells = PRINTERS["pods"].cells(pod, 0.0)  # type: ignore[arg-type]
    return cells[1], cells[2]


def test_a_pod_is_as_far_as_its_phase() -> None:
    assert state_of({"phase": "Pending"}) == ("0/1", "Pending")


def test_a_running_container_is_ready() -> None:
    status = {"phase": "Running", "containerStatuses": [container({"running": {}}, ready=True)]}

    assert state_of(status) == ("1/1", "Running")


def test_a_waiting_container_gives_its_reason() -> None:
    waiting = container({"waiting": {"reason": "ImagePullBackOff"}})

    assert state_of({"phase": "Pending", "containerStatuses": [waiting]}) == ("0/1", "ImagePullBackOff")


@pytest.mark.parametrize(
    ("terminated", "word"),
    [
        ({"exitCode": 0, "reason": "Completed"}, "Completed"),
        ({"exitCode": 137, "reason": "OOMKilled"}, "OOMKilled"),
        ({"exitCode": 3}, "ExitCode:3"),
        ({"exitCode": 1, "signal": 9}, "Signal:9"),
    ],
)
def test_an_ended_container_tells_how_it_ended(terminated: dict[str, Any], word: str) -> None:
    status = {"phase": "Failed", "containerStatuses": [container({"terminated": terminated})]}

    assert state_of(status)[1] == word


def test_init_containers_count_what_is_done() -> None:
    spec = {"initContainers": [{"name": "a"}, {"name": "b"}]}
    done = {"name": "a", "state": {"terminated": {"exitCode": 0}}}
    status = {"phase": "Pending", "initContainerStatuses": [done, {"name": "b", "state": {"running": {}}}]}

    assert state_of(status, spec) == ("0/1", "Init:1/2")


def test_a_sidecar_counts_as_a_container() -> None:
    spec = {"initContainers": [{"name": "s", "restartPolicy": "Always"}]}
    sidecar = {"name": "s", "ready": True, "started": True, "state": {"running": {}}}
    status = {
        "phase": "Running",
        "initContainerStatuses": [sidecar],
        "containerStatuses": [container({"running": {}}, ready=True)],
    }

    assert state_of(status, spec) == ("2/2", "Running")


def test_a_gated_pod_says_so() -> None:
    gated = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}

    assert state_of({"phase": "Pending", "conditions": [gated]})[1] == "SchedulingGated"


def test_a_deleted_pod_is_terminating_unless_it_is_done() -> None:
    when = "2026-01-01T00:00:00Z"

    assert state_of({"phase": "Running"}, deletionTimestamp=when)[1] == "Terminating"
    assert state_of({"phase": "Succeeded"}, deletionTimestamp=when)[1] == "Succeeded"


def test_restarts_tell_when_the_last_was() -> None:
    ended = {"terminated": {"exitCode": 1, "finishedAt": "1970-01-01T00:01:00Z"}}
    pod: dict[str, Any] = {
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c"}]},
        "status": {
            "phase": "Running",
            "containerStatuses": [{**container({"running": {}}), "restartCount": 3, "lastState": ended}],
        },
    }

    assert PRINTERS["pods"].cells(pod, 120.0)[3] == "3 (60s ago)"


def test_selectors_read_as_kubectl_takes_them() -> None:
    expressions = [
        {"key": "b", "operator": "In", "values": ["y", "x"]},
        {"key": "c", "operator": "DoesNotExist"},
    ]

    assert selector({"matchLabels": {"a": "1"}, "matchExpressions": expressions}) == "a=1,b in (x,y),!c"
    assert selector({}) == "<none>"


OBJECT: dict[str, Any] = {
    "a": {"b": [{"c": 1, "t": "x"}, {"c": 2, "t": "y"}]},
    "m": {"k.with/dots": "v"},
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".a.b[0].c", [1]),
        (".a.b[-1].c", [2]),
        (".a.b[*].c", [1, 2]),
        ('.a.b[?(@.t=="y")].c', [2]),
        (".m.k\\.with/dots", ["v"]),
        (".m['k.with/dots']", ["v"]),
        (".nowhere.at.all", []),
    ],
)
def test_json_paths_lead_to_values(path: str, found: list[Any]) -> None:
    assert at_path(path, OBJECT) == found
