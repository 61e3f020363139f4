"""Pods that ask their queue before they are scheduled (Volcano's suite `schedulinggates`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.release.cluster import Release
from tests.e2e.release.context import Context
from tests.e2e.release.scheduling import CAPACITY

Object = dict[str, Any]
GATE = "scheduling.volcano.sh/queue-allocation-gate"
OTHER = "example.com/other-gate"

pytestmark = [pytest.mark.full, pytest.mark.usefixtures("asking")]


@pytest.fixture(scope="module")
def asking(release: Release, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The release with the feature gate and an empty admission configuration, and with plugin capacity."""
    empty = tmp_path_factory.mktemp("admission") / "volcano-admission.conf"
    empty.write_text("")
    flags = ["--feature-gates=SchedulingGatesQueueAdmission=true", f"--admission-conf={empty}"]
    with release.flagged(*flags), release.configured(CAPACITY):
        yield


def asks(context: Context, queue: str, name: str, **spec: Any) -> list[str]:
    """Create a pod of half a CPU that asks the queue; the gates that it was created with."""
    notes = {
        "scheduling.k8s.io/group-name": "group",
        "scheduling.volcano.sh/queue-name": queue,
        GATE: "true",
    }
    body = {
        "metadata": {"name": name, "annotations": notes},
        "spec": context.pod_spec("500m") | {"restartPolicy": "Never"} | spec,
    }
    return gates(context.client.create(f"{context.core}/pods", body))


def gates(pod: Object) -> list[str]:
    """Names of the gates of a pod."""
    return sorted(each["name"] for each in pod["spec"].get("schedulingGates") or [])


def gates_of(context: Context, name: str) -> list[str]:
    """Names of the gates that a pod has now."""
    return gates(context.client.get(f"{context.core}/pods/{name}"))


def phase_of(context: Context, name: str) -> str:
    """The phase of a pod."""
    return str(context.client.get(f"{context.core}/pods/{name}")["status"]["phase"])


@pytest.fixture
def queue(context: Context) -> str:
    """A queue that may have half a CPU, and a group in it."""
    made = context.queue("narrow", capability={"cpu": "500m"})
    context.group("group", 1, queue=made, minResources={"cpu": "500m"})
    return made


def test_a_pod_without_its_gate_keeps_its_room_even_if_it_fits_nowhere(context: Context, queue: str) -> None:
    assert asks(context, queue, "first") == [GATE]
    context.wait(lambda: phase_of(context, "first") == "Running", "the first pod to run")
    assert not gates_of(context, "first")
    context.client.delete(f"{context.core}/pods/first", grace_s=0)

    asks(context, queue, "misfit", nodeSelector={"kind": "none"})
    context.wait(lambda: not gates_of(context, "misfit"), "the gate of the misfit to go")
    asks(context, queue, "third")
    context.stays(lambda: gates_of(context, "third") == [GATE], "the gate of the third pod")
    assert phase_of(context, "misfit") == "Pending"

    context.client.delete(f"{context.core}/pods/misfit", grace_s=0)
    context.wait(lambda: phase_of(context, "third") == "Running", "the third pod to run")


def test_the_gate_stays_while_there_is_another_one(context: Context, queue: str) -> None:
    assert asks(context, queue, "pod", schedulingGates=[{"name": OTHER}]) == sorted([GATE, OTHER])
    context.stays(lambda: gates_of(context, "pod") == sorted([GATE, OTHER]), "both gates")
    assert not context.bound()

    context.client.patch(f"{context.core}/pods/pod", {"spec": {"schedulingGates": [{"name": GATE}]}})
    context.wait(lambda: phase_of(context, "pod") == "Running", "the pod to run")
    assert not gates_of(context, "pod")
