"""The ray plugin: commands of head and workers, the head's ports, and its Service."""

from __future__ import annotations

import pytest

from tests.controllers.dressing import a_role, container, made, spec_of
from tests.controllers.world import World
from vcray.api.meta import JsonObject
from vcray.api.resources import PODS, SERVICES
from vcray.controllers import raw
from vcray.controllers.job.controller import JobController

HEAD_COMMAND = [
    "sh",
    "-c",
    "ray start --head --block --dashboard-host=0.0.0.0"
    " --port=6379 --dashboard-port=8265 --ray-client-server-port=10001",
]
HEAD_PORTS: list[JsonObject] = [
    {"name": "gcs", "containerPort": 6379},
    {"name": "dashboard", "containerPort": 8265},
    {"name": "client-server", "containerPort": 10001},
]
WORKER_COMMAND = ["sh", "-c", "ray start --block --address=j-head-0.j:6379"]


def head(**more: object) -> JsonObject:
    return a_role("head", 1, container("head", **more))


def test_head_and_workers_run_ray():
    w = made({"ray": []}, head(args=["a"]), a_role("worker", 2, container("worker", command=["old"])))

    assert spec_of(w, "j-head-0") == {
        "containers": [container("head", args=["a"], command=HEAD_COMMAND, ports=HEAD_PORTS)],
        "schedulerName": "volcano",
    }
    for worker in ("j-worker-0", "j-worker-1"):
        assert spec_of(w, worker) == {
            "containers": [container("worker", command=WORKER_COMMAND)],
            "schedulerName": "volcano",
        }


def test_service_leads_to_the_head():
    w = made({"ray": []}, head(), a_role("worker", 1, container("worker")))

    service = w.get(SERVICES, "ns", "j-head-svc") or {}
    assert service["spec"] == {
        "type": "ClusterIP",
        "selector": {
            "volcano.sh/job-name": "j",
            "volcano.sh/job-namespace": "ns",
            "volcano.sh/task-spec": "head",
        },
        "ports": [
            {"name": "gcs", "port": 6379, "targetPort": "gcs", "protocol": "TCP"},
            {"name": "dashboard", "port": 8265, "targetPort": "dashboard", "protocol": "TCP"},
            {"name": "client-server", "port": 10001, "targetPort": "client-server", "protocol": "TCP"},
        ],
    }
    assert raw.controlled_by(service, raw.uid(w.job()))
    assert w.status()["controlledResources"] == {"plugin-ray": "ray"}


def test_arguments_name_tasks_containers_and_ports():
    arguments = ["--head=h", "--headContainer=hc", "--worker=w", "--workerContainer=wc"]
    ports = ["--port=1", "--dashboardPort=2", "--clientPort=3"]
    w = made({"ray": [*arguments, *ports]}, a_role("h", 1, container("hc")), a_role("w", 1, container("wc")))

    lead = "ray start --head --block --dashboard-host=0.0.0.0 --port=1 --dashboard-port=2 --ray-client-server-port=3"
    numbers = [("gcs", 1), ("dashboard", 2), ("client-server", 3)]
    assert spec_of(w, "j-h-0")["containers"] == [
        container(
            "hc",
            command=["sh", "-c", lead],
            ports=[{"name": name, "containerPort": number} for name, number in numbers],
        )
    ]
    assert spec_of(w, "j-w-0")["containers"] == [
        container("wc", command=["sh", "-c", "ray start --block --address=j-h-0.j:1"])
    ]
    service = raw.table(w.get(SERVICES, "ns", "j-head-svc") or {}, "spec")
    assert raw.text(service, "selector", "volcano.sh/task-spec") == "h"
    assert [port["port"] for port in raw.tables(service, "ports")] == [1, 2, 3]


def test_unknown_argument_ends_the_reading():
    w = made(
        {"ray": ["--port=1", "--gpus=2", "--head=other"]}, head(), a_role("worker", 1, container("worker"))
    )

    assert spec_of(w, "j-worker-0")["containers"][0]["command"] == [
        "sh",
        "-c",
        "ray start --block --address=j-head-0.j:1",
    ]


def test_other_containers_init_containers_and_tasks_are_left_alone():
    side, init = container("side", command=["s"]), container("head", command=["i"])
    task = a_role("head", 1, container("head"), side, initContainers=[init])
    w = made(
        {"ray": []}, task, a_role("driver", 1, container("worker")), a_role("worker", 1, container("main"))
    )

    spec = spec_of(w, "j-head-0")
    assert [raw.tables(spec, "containers")[1], *raw.tables(spec, "initContainers")] == [side, init]
    assert spec_of(w, "j-driver-0")["containers"] == [container("worker")]
    assert spec_of(w, "j-worker-0")["containers"] == [container("main")]


def test_ports_that_are_exposed_already_stay_as_they_are():
    exposed: JsonObject = {"name": "board", "containerPort": 8265}
    w = made({"ray": []}, head(ports=[exposed]))

    assert spec_of(w, "j-head-0")["containers"][0]["ports"] == [exposed, HEAD_PORTS[0], HEAD_PORTS[2]]


def test_fixed_host_name_of_the_head_is_its_address():
    lead = a_role("head", 1, container("head"), hostname="h", subdomain="s")
    w = made({"ray": []}, lead, a_role("worker", 1, container("worker")))

    command = spec_of(w, "j-worker-0")["containers"][0]["command"]
    assert command == ["sh", "-c", "ray start --block --address=h.s:6379"]


def test_job_without_a_head_gets_no_pod():
    w = made({"ray": ["--head=lead"]}, head(), a_role("worker", 1, container("worker")))

    assert "job j doesn't have head task lead" in w.errors
    assert w.list(PODS) == []
    assert not [event for event in w.events if event[0] == "PluginError"]


def test_service_goes_when_the_job_ends():
    w = made({"ray": []}, head())
    w.pod_phase("Running")

    w.pod_phase("Succeeded")

    assert w.phase() == "Completed"
    assert w.get(SERVICES, "ns", "j-head-svc") is None
    assert "controlledResources" not in w.status()


@pytest.mark.parametrize("owners", [[], [{"kind": "Job", "name": "j", "uid": "old", "controller": True}]])
def test_service_of_somebody_else_is_never_touched_and_the_job_waits_o_063(owners):
    w = World([JobController()])
    metadata: JsonObject = {"name": "j-head-svc", "namespace": "ns", "ownerReferences": owners}
    foreign = w.put(SERVICES, {"metadata": metadata, "spec": {"type": "ExternalName"}})

    w.submit(plugins={"ray": []}, tasks=[head()])
    w.advance(30)

    assert w.get(SERVICES, "ns", "j-head-svc") == foreign
    assert w.phase() == "Pending"
    assert any(reason == "PluginError" and "j-head-svc" in message for reason, message in w.events)
