"""Quotas of devices in queues, with the capacity plugin (the six of Volcano's suite `dra` that need no driver).

The devices are told of by hand, as a driver would; kube-controller-manager makes claims from templates and takes back those
whose pods have gone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.e2e.arena import GROUPS
from tests.e2e.release.cluster import CI_CONF, Release
from tests.e2e.release.context import Context

Object = dict[str, Any]

API = "/apis/resource.k8s.io/v1"
CLASS = DRIVER = "gpu.example.com"
DEVICES, CORES = f"deviceclass/{CLASS}", f"cores.deviceclass/{CLASS}"
CONF = CI_CONF.replace(
    "- name: proportion",
    """- name: capacity
    arguments:
      capacity.DynamicResourceAllocationEnable: true
      capacity.DRAConsumableCapacityEnable: true""",
)


@pytest.fixture(scope="module")
def devices(release: Release) -> Iterator[None]:
    """Four devices of 400 cores on each of two nodes."""
    selector = {"cel": {"expression": f'device.driver == "{DRIVER}"'}}
    head = {"apiVersion": "resource.k8s.io/v1"}
    body = {**head, "kind": "DeviceClass", "metadata": {"name": CLASS}, "spec": {"selectors": [selector]}}
    release.client.create(f"{API}/deviceclasses", body)
    listed = [{"name": f"gpu-{number}", "capacity": {"cores": {"value": "400"}}} for number in range(4)]
    nodes = release.nodes()[:2]
    for node in nodes:
        pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": DRIVER, "nodeName": node, "pool": pool, "devices": listed}
        body = {**head, "kind": "ResourceSlice", "metadata": {"name": f"{node}-gpus"}, "spec": spec}
        release.client.create(f"{API}/resourceslices", body)
    yield
    for node in nodes:
        release.client.delete(f"{API}/resourceslices/{node}-gpus")
    release.client.delete(f"{API}/deviceclasses/{CLASS}")


@pytest.fixture(autouse=True)
def quotas(context: Context, devices: None) -> Iterator[None]:
    """Queues have quotas of devices."""
    with context.configured(CONF):
        yield


def claim(context: Context, name: str, count: int = 1, cores: int = 0, template: bool = False) -> Object:
    """Add a ResourceClaim of so many devices, or a template of such; how a pod refers to it."""
    exactly: Object = {"deviceClassName": CLASS, "count": count}
    if cores:
        exactly["capacity"] = {"requests": {"cores": str(cores)}}
    spec: Object = {"devices": {"requests": [{"name": "gpus", "exactly": exactly}]}}
    kind = "ResourceClaimTemplate" if template else "ResourceClaim"
    body = {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": {"name": name}}
    path = f"{API}/namespaces/{context.namespace}/{kind.lower()}s"
    context.client.create(path, {**body, "spec": {"spec": spec} if template else spec})
    return {"name": "gpus", f"resource{kind.removeprefix('Resource')}Name": name}


def start(context: Context, name: str, queue: str, reference: Object, replicas: int = 1) -> None:
    """Create a job in a queue whose pods use a claim."""
    task = context.task("user", replicas)
    task["template"]["spec"]["resourceClaims"] = [reference]
    task["template"]["spec"]["containers"][0]["resources"]["claims"] = [{"name": "gpus"}]
    context.create(context.job(name, task, queue=queue))


def wait_held(context: Context, queue: str, amounts: Mapping[str, str]) -> None:
    """Wait until the status of a queue tells that it holds so many devices and cores."""

    def held() -> Object:
        status = context.client.get(f"{GROUPS}/queues/{queue}").get("status") or {}
        return {name: status.get("allocated", {}).get(name) for name in amounts}

    context.wait(lambda: held() == amounts, f"queue {queue} to hold {amounts}")


def refused(context: Context, job: str) -> None:
    """A job is said to be unschedulable and waits, although there are devices enough."""

    def told() -> bool:
        return any(
            kind == "PodGroup" and reason == "Unschedulable" for kind, _, reason, _ in context.events(job)
        )

    context.wait(told, f"{job} to be unschedulable")
    context.stays(
        lambda: not any(pod["spec"].get("nodeName") for pod in context.of(job)), f"{job} waiting", 2.0
    )
    assert context.status(job)["state"]["phase"] == "Pending"


@pytest.mark.full
@pytest.mark.parametrize("template", [False, True], ids=["claim", "template"])
def test_a_queue_tells_the_devices_of_its_pods(context: Context, template: bool) -> None:
    queue = context.queue("q", capability={DEVICES: "4"})

    start(context, "j", queue, claim(context, "c", 2, template=template))

    context.running("j", 1)
    wait_held(context, queue, {DEVICES: "2"})


@pytest.mark.full
def test_a_claim_that_pods_share_counts_once(context: Context) -> None:
    queue = context.queue("q", capability={DEVICES: "1"})

    start(context, "j", queue, claim(context, "shared"), replicas=2)

    context.running("j", 2)
    wait_held(context, queue, {DEVICES: "1"})


@pytest.mark.full
def test_a_job_beyond_the_number_of_devices_waits(context: Context) -> None:
    queue = context.queue("q", capability={DEVICES: "2"})
    start(context, "first", queue, claim(context, "two", 2))
    context.running("first", 1)

    start(context, "second", queue, claim(context, "one"))

    refused(context, "second")


def test_a_job_beyond_the_cores_of_devices_waits(context: Context) -> None:
    queue = context.queue("q", capability={DEVICES: "2", CORES: "400"})
    start(context, "first", queue, claim(context, "most", cores=300))
    context.running("first", 1)
    wait_held(context, queue, {DEVICES: "1", CORES: "300"})

    start(context, "second", queue, claim(context, "more", cores=200))

    refused(context, "second")
    wait_held(context, queue, {DEVICES: "1", CORES: "300"})


@pytest.mark.full  # garbage collection of jobs begins half a minute after their definition
def test_devices_of_a_job_that_goes_are_free_for_the_next_one(context: Context) -> None:
    queue = context.queue("q", capability={DEVICES: "2", CORES: "400"})
    start(context, "first", queue, claim(context, "all", cores=400))
    context.running("first", 1)
    start(context, "second", queue, claim(context, "most", cores=300))
    refused(context, "second")

    context.client.delete(f"{context.jobs}/first")

    context.running("second", 1)
    wait_held(context, queue, {DEVICES: "1", CORES: "300"})
