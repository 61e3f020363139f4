"""The pytorch plugin: ranks and the master's address, ports, and workers that wait."""

from __future__ import annotations

import subprocess

import pytest

from tests.controllers.dressing import a_role, container, made, spec_of, variables
from vcray.api.meta import JsonObject
from vcray.cluster.kubelet.shell import Shell
from vcray.cluster.kubelet.surroundings import Surroundings
from vcray.controllers.jobplugins.pytorch import waiting_script

PORT: JsonObject = {"name": "pytorchjob-port", "containerPort": 23456}


def env(rank: str, world_size: str, address: str = "j-master-0.j", port: str = "23456") -> list[JsonObject]:
    return variables(
        ("MASTER_ADDR", address), ("MASTER_PORT", port), ("WORLD_SIZE", world_size), ("RANK", rank)
    )


def test_single_master_and_worker():
    w = made({"pytorch": []}, a_role("master"), a_role("worker"))

    assert spec_of(w, "j-master-0") == {
        "containers": [{"name": "main", "image": "i", "env": env("0", "2"), "ports": [PORT]}],
        "schedulerName": "volcano",
    }
    assert spec_of(w, "j-worker-0") == {
        "containers": [{"name": "main", "image": "i", "env": env("1", "2"), "ports": [PORT]}],
        "schedulerName": "volcano",
    }
    assert w.status()["controlledResources"] == {"plugin-pytorch": "pytorch"}


def test_workers_are_ranked_after_the_master_and_others_have_no_rank():
    w = made({"pytorch": []}, a_role("master"), a_role("worker", 3), a_role("logger"))

    ranks = [spec_of(w, f"j-worker-{index}")["containers"][0]["env"][3] for index in range(3)]
    assert ranks == [{"name": "RANK", "value": rank} for rank in ("1", "2", "3")]
    assert spec_of(w, "j-logger-0")["containers"] == [
        {
            "name": "main",
            "image": "i",
            "env": variables(("MASTER_ADDR", "j-master-0.j"), ("MASTER_PORT", "23456"), ("WORLD_SIZE", "4")),
            "ports": [PORT],
        }
    ]


def test_every_master_has_rank_0():
    w = made({"pytorch": []}, a_role("master", 2), a_role("worker"))

    assert spec_of(w, "j-master-1")["containers"][0]["env"] == env("0", "3")


def test_arguments_name_the_tasks_and_the_port():
    arguments = ["--master=lead", "--worker=hand", "--port=5555"]
    w = made({"pytorch": arguments}, a_role("lead"), a_role("hand", 2))

    assert spec_of(w, "j-hand-1")["containers"] == [
        {
            "name": "main",
            "image": "i",
            "env": env("2", "3", "j-lead-0.j", "5555"),
            "ports": [{"name": "pytorchjob-port", "containerPort": 5555}],
        }
    ]


def test_unknown_argument_ends_the_reading():
    w = made({"pytorch": ["--port=5555", "--backend=nccl", "--master=lead"]}, a_role("master"))

    assert spec_of(w, "j-master-0")["containers"][0]["env"] == env("0", "1", port="5555")


def test_host_name_of_the_template_is_the_masters_address():
    w = made({"pytorch": []}, a_role("master", 1, hostname="h", subdomain="s"), a_role("worker"))

    assert spec_of(w, "j-worker-0")["containers"][0]["env"] == env("1", "2", "h.s")


def test_port_that_is_exposed_already_stays_as_it_is():
    exposed: JsonObject = {"name": "mine", "containerPort": 23456}
    other: JsonObject = {"name": "http", "containerPort": 80}
    master = a_role("master", 1, container(ports=[exposed]), container("side", ports=[other]))

    w = made({"pytorch": []}, master)

    assert [each["ports"] for each in spec_of(w, "j-master-0")["containers"]] == [[exposed], [other, PORT]]


def test_init_containers_of_the_user_are_left_alone():
    w = made({"pytorch": []}, a_role("master", 1, initContainers=[container("init")]))

    assert spec_of(w, "j-master-0")["initContainers"] == [container("init")]


def test_job_without_a_master_is_left_alone():
    w = made({"pytorch": ["--wait-master-enabled"]}, a_role("worker"))

    assert spec_of(w, "j-worker-0") == {"containers": [container()], "schedulerName": "volcano"}
    assert w.phase() == "Pending"


def test_workers_wait_for_the_master_last_of_all_init_containers():
    arguments = ["--wait-master-enabled", "--wait-master-timeout=60", "--wait-master-image=own:1"]
    w = made(
        {"pytorch": arguments},
        a_role("master", 1, initContainers=[container("init")]),
        a_role("worker", 1, initContainers=[container("init")]),
    )

    script = waiting_script("j-master-0.j", 23456, 60)
    waiting = {"name": "wait-for-master", "image": "own:1", "command": ["sh", "-c", script]}
    assert spec_of(w, "j-worker-0")["initContainers"] == [container("init"), waiting]
    assert spec_of(w, "j-master-0")["initContainers"] == [container("init")]


def test_workers_that_wait_already_do_not_wait_twice():
    own = container("wait-for-master")
    worker = a_role("worker", 1, initContainers=[own])

    w = made({"pytorch": ["--wait-master-enabled"]}, a_role("master"), worker)

    assert spec_of(w, "j-worker-0")["initContainers"] == [own]


def test_waiting_is_off_by_default():
    w = made({"pytorch": []}, a_role("master"), a_role("worker"))

    assert "initContainers" not in spec_of(w, "j-worker-0")


@pytest.mark.parametrize(("answers", "code", "slept"), [(True, 0, ""), (False, 1, "2\n2\n")])
def test_script_ends_when_the_port_answers_or_the_time_is_over(tmp_path, answers, code, slept):
    """The programs that the script calls are stand-ins: the clock moves a second each time it is read."""
    programs = {
        "nc": f'echo "$@" > {tmp_path}/asked; exit {0 if answers else 1}',
        "date": f"echo x >> {tmp_path}/clock; wc -l < {tmp_path}/clock",
        "sleep": f'echo "$@" >> {tmp_path}/slept',
    }
    for name, text in programs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "slept").touch()

    done = subprocess.run(
        ["/bin/sh", "-c", waiting_script("nowhere.invalid", 1, 3)],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, (tmp_path / "slept").read_text()) == (code, slept)
    assert (tmp_path / "asked").read_text() == "-z -w 2 nowhere.invalid 1\n"
    assert ("does not answer after 3 s" in done.stderr) is not answers


def test_simulated_kubelets_can_run_the_script():
    run = Shell(Surroundings({})).run(("sh", "-c", waiting_script("j-master-0.j", 23456, 300)))

    with pytest.raises(StopIteration) as end:
        next(run)

    assert end.value.value == 0


def test_pods_made_by_scaling_up_see_the_new_size():
    w = made({"pytorch": []}, a_role("master"), a_role("worker", 1))
    w.pod_phase("Running")

    w.change_tasks(worker=2)

    assert spec_of(w, "j-worker-1")["containers"][0]["env"] == env("2", "3")


def test_mark_goes_when_the_job_ends():
    w = made({"pytorch": []}, a_role("master"))
    w.pod_phase("Running")

    w.pod_phase("Succeeded")

    assert w.phase() == "Completed"
    assert "controlledResources" not in w.status()
