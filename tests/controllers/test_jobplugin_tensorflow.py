"""The tensorflow plugin: TF_CONFIG to the letter."""

from __future__ import annotations

from tests.controllers.dressing import a_role, container, made, spec_of, variables

CLUSTER = (
    '"cluster":{"ps":["j-ps-0.j:2222","j-ps-1.j:2222"],"worker":["j-worker-0.j:2222"],'
    '"chief":["j-chief-0.j:2222"],"evaluator":["j-evaluator-0.j:2222"]}'
)


def test_every_role_is_told_of_all_roles():
    tasks = [a_role("evaluator"), a_role("chief"), a_role("worker"), a_role("ps", 2)]
    w = made({"tensorflow": []}, *tasks)

    for pod, task in [
        ("j-ps-1", '{"type":"ps","index":1}'),
        ("j-worker-0", '{"type":"worker","index":0}'),
        ("j-chief-0", '{"type":"chief","index":0}'),
        ("j-evaluator-0", '{"type":"evaluator","index":0}'),
    ]:
        assert spec_of(w, pod) == {
            "containers": [
                {
                    "name": "main",
                    "image": "i",
                    "env": variables(("TF_CONFIG", f'{{{CLUSTER},"task":{task}}}')),
                }
            ],
            "schedulerName": "volcano",
        }
    assert w.status()["controlledResources"] == {"plugin-tensorflow": "tensorflow"}


def test_roles_without_a_task_or_without_replicas_are_left_out():
    w = made({"tensorflow": []}, a_role("worker", 2), a_role("ps", 0))

    config = (
        '{"cluster":{"worker":["j-worker-0.j:2222","j-worker-1.j:2222"]},"task":{"type":"worker","index":1}}'
    )
    assert spec_of(w, "j-worker-1")["containers"][0]["env"] == variables(("TF_CONFIG", config))


def test_arguments_name_the_roles_and_the_port_and_an_unknown_one_ends_them():
    arguments = ["--ps=store", "--worker", "hand", "--port=3000", "--nonsense", "--chief=hand"]
    w = made({"tensorflow": arguments}, a_role("store"), a_role("hand"))

    config = (
        '{"cluster":{"ps":["j-store-0.j:3000"],"worker":["j-hand-0.j:3000"]},"task":{"type":"ps","index":0}}'
    )
    assert spec_of(w, "j-store-0")["containers"][0]["env"] == variables(("TF_CONFIG", config))


def test_task_of_no_role_goes_by_its_own_name():
    w = made({"tensorflow": []}, a_role("worker"), a_role("board"))

    config = '{"cluster":{"worker":["j-worker-0.j:2222"]},"task":{"type":"board","index":0}}'
    assert spec_of(w, "j-board-0")["containers"][0]["env"] == variables(("TF_CONFIG", config))


def test_job_of_one_pod_is_no_cluster():
    w = made({"tensorflow": []}, a_role("worker", 1))

    assert spec_of(w, "j-worker-0") == {"containers": [container()], "schedulerName": "volcano"}


def test_fixed_host_name_is_listed_for_every_replica():
    w = made({"tensorflow": []}, a_role("worker", 2, hostname="h"))

    config = '{"cluster":{"worker":["h.j:2222","h.j:2222"]},"task":{"type":"worker","index":0}}'
    assert spec_of(w, "j-worker-0")["containers"][0]["env"] == variables(("TF_CONFIG", config))


def test_init_containers_are_left_alone():
    w = made({"tensorflow": []}, a_role("worker", 2, initContainers=[container("init")]))

    assert spec_of(w, "j-worker-0")["initContainers"] == [container("init")]


def test_pods_made_by_scaling_up_see_all_servers():
    w = made({"tensorflow": []}, a_role("worker", 2))
    w.pod_phase("Running")

    w.change_tasks(worker=3)

    config = (
        '{"cluster":{"worker":["j-worker-0.j:2222","j-worker-1.j:2222","j-worker-2.j:2222"]},'
        '"task":{"type":"worker","index":2}}'
    )
    assert spec_of(w, "j-worker-2")["containers"][0]["env"] == variables(("TF_CONFIG", config))
