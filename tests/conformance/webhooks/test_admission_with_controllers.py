"""What the controllers write passes the webhooks: parents and annotations of queues, names of claims, groups of jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.conformance.harness.base import Server, wait_until
from tests.conformance.harness.client import ApiError
from tests.conformance.webhooks.conftest import QUEUES, Admitted, heeded
from tests.e2e.hosting import Hosted
from vcray.actors.deployment import ADMISSION, CONTROLLERS
from vcray.config.settings import Settings
from vcray.webhooks.services import PATHS

Object = dict[str, Any]
COMMANDS = "/apis/bus.volcano.sh/v1alpha1/namespaces/default/commands"


@pytest.fixture(scope="module")
def controlled(volcano_apiserver: Server) -> Iterator[Hosted]:
    """Admission and controllers; no actor may have failed at the end."""
    settings = Settings(admission=True, admission_port=0, enabled_admission=PATHS)
    with Hosted(volcano_apiserver.kubeconfig, ADMISSION, CONTROLLERS, settings=settings) as hosted:
        wait_until(lambda: heeded(volcano_apiserver.client), "the webhooks to be asked")
        yield hosted
        assert hosted.failures() == {}


@pytest.fixture
def admitted(volcano_apiserver: Server, controlled: Hosted) -> Iterator[Admitted]:
    """This test's namespace and queues."""
    made = Admitted(volcano_apiserver)
    yield made
    made.clean()


def stored(admitted: Admitted, queue: str) -> Object:
    return admitted.client.get(f"{QUEUES}/{queue}")


def state(admitted: Admitted, queue: str) -> str:
    return str((stored(admitted, queue).get("status") or {}).get("state") or "")


def soon(condition: Callable[[], bool], what: str) -> None:
    wait_until(condition, what, 20.0)


def command(admitted: Admitted, queue: str, action: str) -> None:
    """Ask for an action on a queue, as `vcctl queue operate` does."""
    found = stored(admitted, queue)
    target = {key: found[key] for key in ("apiVersion", "kind")}
    target |= {"name": queue, "uid": found["metadata"]["uid"]}
    body = {
        "apiVersion": "bus.volcano.sh/v1alpha1",
        "kind": "Command",
        "metadata": {"generateName": f"{queue}-"},
        "action": action,
        "target": target,
    }
    admitted.client.create(COMMANDS, body)


def test_new_queue_is_opened_below_the_root_and_takes_jobs(admitted: Admitted) -> None:
    queue = admitted.queue(state="")

    soon(lambda: state(admitted, queue) == "Open", "the queue to be open")
    soon(lambda: stored(admitted, queue)["spec"].get("parent") == "root", "the queue's parent")

    assert admitted.job(queue)["spec"]["queue"] == queue


def test_queue_and_its_job_may_be_applied_in_one_file(admitted: Admitted) -> None:
    for index in range(5):
        admitted.job(admitted.queue(state=""), name=f"at-once-{index}")

    assert len(admitted.client.get(admitted.jobs)["items"]) == 5


def test_queues_close_and_open_with_their_parent(admitted: Admitted) -> None:
    parent = admitted.queue(state="")
    child = admitted.queue(state="", parent=parent)
    soon(lambda: state(admitted, child) == "Open", "the child to be open")

    command(admitted, parent, "CloseQueue")
    soon(lambda: (state(admitted, parent), state(admitted, child)) == ("Closed", "Closed"), "both to close")
    closed = stored(admitted, child)["metadata"]["annotations"]["volcano.sh/closed-by-parent"]
    with pytest.raises(ApiError, match="can only submit job to queue with state"):
        admitted.job(child)
    command(admitted, parent, "OpenQueue")
    soon(lambda: (state(admitted, parent), state(admitted, child)) == ("Open", "Open"), "both to open")

    def opened() -> bool:
        notes = stored(admitted, child)["metadata"]["annotations"]
        return bool(notes["volcano.sh/closed-by-parent"] == "false")

    assert closed == "true"
    soon(opened, "the annotation to say so")
    assert admitted.job(child)


def test_queue_with_a_group_closes_when_the_group_goes(admitted: Admitted) -> None:
    queue = admitted.queue(state="")
    soon(lambda: state(admitted, queue) == "Open", "the queue to be open")
    admitted.group(queue=queue)

    command(admitted, queue, "CloseQueue")
    soon(lambda: state(admitted, queue) == "Closing", "the queue to be closing")
    admitted.client.delete(f"{admitted.groups}/g")
    soon(lambda: state(admitted, queue) == "Closed", "the queue to be closed")
    admitted.client.delete(f"{QUEUES}/{queue}")

    assert not admitted.client.exists(f"{QUEUES}/{queue}")


def test_names_of_claims_are_written_back_into_the_job(admitted: Admitted) -> None:
    queue = admitted.queue(state="")
    soon(lambda: state(admitted, queue) == "Open", "the queue to be open")
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    admitted.job(queue, volumes=[{"mountPath": "/data", "volumeClaim": claim}])

    def volume() -> Object:
        found: Object = admitted.client.get(f"{admitted.jobs}/j")["spec"]["volumes"][0]
        return found

    soon(lambda: bool(volume().get("volumeClaimName")), "the name of the claim")
    path = f"/api/v1/namespaces/{admitted.namespace}/persistentvolumeclaims/{volume()['volumeClaimName']}"
    assert admitted.client.exists(path)


def test_group_of_a_job_is_in_the_jobs_queue_whatever_the_namespace_says(admitted: Admitted) -> None:
    own, tied = admitted.queue(state=""), admitted.queue(state="")
    soon(lambda: state(admitted, own) == state(admitted, tied) == "Open", "the queues to be open")
    marks = {"scheduling.volcano.sh/queue-name": tied}
    admitted.client.patch(f"/api/v1/namespaces/{admitted.namespace}", {"metadata": {"annotations": marks}})

    admitted.job(own)

    soon(lambda: bool(admitted.client.get(admitted.groups)["items"]), "the job's group")
    (group,) = admitted.client.get(admitted.groups)["items"]
    assert group["spec"]["queue"] == own
