"""The mpi plugin: the workers' hosts and a port for ssh."""

from __future__ import annotations

from tests.controllers.dressing import a_role, container, made, spec_of, variables
from vcray.api.meta import JsonObject

PORT: JsonObject = {"name": "mpijob-port", "containerPort": 22}


def test_master_knows_the_workers_and_all_have_the_port():
    w = made({"mpi": []}, a_role("master"), a_role("worker", 2))

    hosts = variables(("MPI_HOST", "j-worker-0.j,j-worker-1.j"))
    assert spec_of(w, "j-master-0") == {
        "containers": [{"name": "main", "image": "i", "env": hosts, "ports": [PORT]}],
        "schedulerName": "volcano",
    }
    for worker in ("j-worker-0", "j-worker-1"):
        assert spec_of(w, worker) == {"containers": [container(ports=[PORT])], "schedulerName": "volcano"}
    assert w.status()["controlledResources"] == {"plugin-mpi": "mpi"}


def test_init_containers_get_the_same():
    init = [container("init")]
    w = made({"mpi": []}, a_role("master", 1, initContainers=init), a_role("worker", 1, initContainers=init))

    hosts = variables(("MPI_HOST", "j-worker-0.j"))
    assert spec_of(w, "j-master-0")["initContainers"] == [container("init", env=hosts, ports=[PORT])]
    assert spec_of(w, "j-worker-0")["initContainers"] == [container("init", ports=[PORT])]


def test_arguments_name_the_tasks_and_the_port_and_an_unknown_one_ends_them():
    arguments = ["-master=lead", "-worker=hand", "-port", "2222", "-np=4", "-port=1"]
    w = made({"mpi": arguments}, a_role("lead"), a_role("hand"))

    assert spec_of(w, "j-lead-0")["containers"] == [
        container(
            env=variables(("MPI_HOST", "j-hand-0.j")), ports=[{"name": "mpijob-port", "containerPort": 2222}]
        )
    ]


def test_fixed_host_name_is_listed_once():
    w = made({"mpi": []}, a_role("master"), a_role("worker", 3, hostname="h", subdomain="s"))

    assert spec_of(w, "j-master-0")["containers"][0]["env"] == variables(("MPI_HOST", "h.s"))


def test_port_that_is_exposed_already_stays_as_it_is():
    exposed: JsonObject = {"name": "ssh", "containerPort": 22}
    w = made({"mpi": []}, a_role("master"), a_role("worker", 1, container(ports=[exposed])))

    assert spec_of(w, "j-worker-0")["containers"][0]["ports"] == [exposed]


def test_master_without_workers_is_left_alone_and_others_get_the_port():
    w = made({"mpi": []}, a_role("master"), a_role("hand"))

    assert spec_of(w, "j-master-0")["containers"] == [container()]
    assert spec_of(w, "j-hand-0")["containers"] == [container(ports=[PORT])]


def test_workers_scaled_to_nothing_are_no_hosts():
    w = made({"mpi": []}, a_role("master"), a_role("worker", 0))

    assert spec_of(w, "j-master-0")["containers"] == [
        container(env=variables(("MPI_HOST", "")), ports=[PORT])
    ]
