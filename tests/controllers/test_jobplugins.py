"""Job plugins: arguments, what env and svc do to pods, and objects that belong to somebody else."""

from __future__ import annotations

import pytest

from tests.controllers.dressing import a_role, container, made, spec_of
from tests.controllers.world import World, a_task
from vcray.api.meta import JsonObject
from vcray.api.resources import CONFIGMAPS, NETWORKPOLICIES, PODS, SERVICES
from vcray.controllers import raw
from vcray.controllers.base import Create, Patch
from vcray.controllers.job.controller import JobController
from vcray.controllers.jobplugins.base import find_plugin, parse_flags, plugin_names
from vcray.webhooks.jobs import PLUGINS

FLAGS: dict[str, str | int | bool] = {"port": 22, "master": "master", "wait": False}


def world() -> World:
    return World([JobController()])


def containers(*env: JsonObject) -> JsonObject:
    main: JsonObject = {"name": "main", "image": "i", "env": list(env)}
    return {"spec": {"containers": [main], "initContainers": [{"name": "init", "image": "i"}]}}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], {}),
        (["--port=2222", "-master=lead"], {"port": 2222, "master": "lead"}),
        (["--port", "2222", "--wait"], {"port": 2222, "wait": True}),
        (["--wait=false", "--master", "m"], {"master": "m"}),
        (["--no-root", "--port=1"], {}),
        (["--port=1", "word", "--master=m"], {"port": 1}),
        (["--port=x", "--master=m"], {}),
        (["--wait=perhaps", "--master=m"], {}),
        (["--master"], {}),
    ],
)
def test_arguments_are_read_up_to_the_first_that_does_not_fit(
    arguments: list[str], expected: dict[str, str | int | bool]
) -> None:
    """api-controllers.md 10.30."""
    assert parse_flags(arguments, FLAGS) == {**FLAGS, **expected}


def test_every_module_is_a_plugin_of_its_name_and_admission_knows_it() -> None:
    assert plugin_names() == PLUGINS
    assert all(find_plugin(name) is not None for name in plugin_names())
    assert find_plugin("base") is None
    assert find_plugin("nonesuch") is None


def test_env_stands_before_the_users_variables_o_064() -> None:
    w = world()
    user: JsonObject = {"name": "X", "value": "$(VK_TASK_INDEX)"}
    w.submit(plugins={"env": []}, tasks=[a_task(replicas=2, template=containers(user))])
    w.admit()

    pod = w.get(PODS, "ns", "j-t-1") or {}

    index: list[JsonObject] = [
        {"name": "VK_TASK_INDEX", "value": "1"},
        {"name": "VC_TASK_INDEX", "value": "1"},
    ]
    assert raw.tables(pod, "spec", "containers")[0]["env"] == [*index, user]
    assert raw.tables(pod, "spec", "initContainers")[0]["env"] == index
    assert w.status()["controlledResources"] == {"plugin-env": "env"}


@pytest.mark.parametrize(
    ("plugin", "variable", "value"),
    [
        ("pytorch", "RANK", "0"),
        ("mpi", "MPI_HOST", "j-worker-0.j"),
        (
            "tensorflow",
            "TF_CONFIG",
            '{"cluster":{"worker":["j-worker-0.j:2222"]},"task":{"type":"master","index":0}}',
        ),
    ],
)
def test_variables_of_frameworks_stand_before_the_users_o_064(plugin: str, variable: str, value: str) -> None:
    user: JsonObject = {"name": "X", "value": f"$({variable})"}
    tasks = [a_role("master", 1, container(env=[user])), a_role("worker")]

    w = made({plugin: []}, *tasks)

    env = raw.tables(raw.tables(spec_of(w, "j-master-0"), "containers")[0], "env")
    assert env[-2:] == [{"name": variable, "value": value}, user]


def test_svc_lists_the_hosts_of_every_task() -> None:
    w = world()

    w.submit(plugins={"svc": []}, tasks=[a_task("ps", 1), a_task("my-worker", 2)])

    stored = w.get(CONFIGMAPS, "ns", "j-svc") or {}
    assert raw.table(stored, "data") == {
        "ps.host": "j-ps-0.j",
        "VC_PS_HOSTS": "j-ps-0.j",
        "VC_PS_NUM": "1",
        "my_worker.host": "j-my-worker-0.j\nj-my-worker-1.j",
        "VC_MY_WORKER_HOSTS": "j-my-worker-0.j,j-my-worker-1.j",
        "VC_MY_WORKER_NUM": "2",
    }
    assert raw.controlled_by(stored, raw.uid(w.job()))


def test_svc_lists_one_host_where_the_template_fixes_its_name() -> None:
    w = world()
    template = containers()
    raw.table(template, "spec").update({"hostname": "h", "subdomain": "s"})

    w.submit(plugins={"svc": []}, tasks=[a_task("w", 3, template=template)])

    data = raw.table(w.get(CONFIGMAPS, "ns", "j-svc") or {}, "data")
    assert data == {"w.host": "h.s", "VC_W_HOSTS": "h.s", "VC_W_NUM": "1"}


def test_svc_makes_a_headless_service_and_a_network_policy() -> None:
    w = world()

    w.submit(plugins={"svc": ["--publish-not-ready-addresses"]})

    selector = {"volcano.sh/job-name": "j", "volcano.sh/job-namespace": "ns"}
    service = w.get(SERVICES, "ns", "j") or {}
    assert service["spec"] == {
        "clusterIP": "None",
        "selector": selector,
        "publishNotReadyAddresses": True,
    }
    policy = w.get(NETWORKPOLICIES, "ns", "j") or {}
    assert policy["spec"] == {
        "podSelector": {"matchLabels": selector},
        "ingress": [{"from": [{"podSelector": {"matchLabels": selector}}]}],
        "policyTypes": ["Ingress"],
    }


def test_svc_makes_no_network_policy_where_that_is_turned_off() -> None:
    w = world()

    w.submit(plugins={"svc": ["--disable-network-policy"]})

    assert w.get(NETWORKPOLICIES, "ns", "j") is None


def test_svc_dresses_pods_with_names_variables_and_the_mount() -> None:
    """api-controllers.md 10.31."""
    w = world()
    user: JsonObject = {"name": "X", "value": "$(VC_T_HOSTS)"}
    w.submit(plugins={"svc": [], "env": []}, tasks=[a_task(template=containers(user))])
    w.admit()

    spec = raw.table(w.get(PODS, "ns", "j-t-0") or {}, "spec")
    main = raw.tables(spec, "containers")[0]

    assert (spec["hostname"], spec["subdomain"]) == ("j-t-0", "j")
    assert spec["volumes"] == [{"name": "j-svc", "configMap": {"name": "j-svc"}}]
    assert main["volumeMounts"] == [{"name": "j-svc", "mountPath": "/etc/volcano"}]
    variables = [raw.text(item, "name") for item in raw.tables(main, "env")]
    assert variables == ["VC_T_HOSTS", "VC_T_NUM", "VK_TASK_INDEX", "VC_TASK_INDEX", "X"]
    assert raw.tables(main, "env")[0]["valueFrom"] == {
        "configMapKeyRef": {"name": "j-svc", "key": "VC_T_HOSTS"}
    }


def test_svc_without_hosts_variables_still_mounts_the_list() -> None:
    w = world()
    w.submit(plugins={"svc": ["--inject-hosts-env=false"]})
    w.admit()

    main = raw.tables(w.get(PODS, "ns", "j-t-0") or {}, "spec", "containers")[0]

    assert "env" not in main
    assert "volumeMounts" in main


def test_hosts_follow_the_number_of_replicas() -> None:
    w = world()
    w.running(plugins={"svc": []}, tasks=[a_task("w", 1)])

    w.change_tasks(w=3)

    data = raw.table(w.get(CONFIGMAPS, "ns", "j-svc") or {}, "data")
    assert data["VC_W_NUM"] == "3"
    assert data["VC_W_HOSTS"] == "j-w-0.j,j-w-1.j,j-w-2.j"


def test_objects_of_plugins_go_when_the_job_ends() -> None:
    """api-controllers.md 10.61."""
    w = world()
    w.running(plugins={"svc": [], "env": []})
    assert w.status()["controlledResources"] == {"plugin-env": "env", "plugin-svc": "svc"}

    w.pod_phase("Succeeded")

    assert w.phase() == "Completed"
    gone = [w.get(CONFIGMAPS, "ns", "j-svc"), w.get(SERVICES, "ns", "j"), w.get(NETWORKPOLICIES, "ns", "j")]
    assert gone == [None, None, None]
    assert "controlledResources" not in w.status()


def test_objects_of_plugins_are_made_once() -> None:
    w = world()
    w.submit(plugins={"svc": []})
    w.admit()
    w.pod_phase("Running")

    assert len(w.did(Create, SERVICES)) == 1
    assert len(w.did(Patch, CONFIGMAPS)) == 0


@pytest.mark.parametrize("owner", [[], [{"kind": "Job", "name": "j", "uid": "old", "controller": True}]])
def test_foreign_config_map_is_left_alone_and_the_job_waits_o_063(owner: list[JsonObject]) -> None:
    w = world()
    foreign: JsonObject = {
        "metadata": {"name": "j-svc", "namespace": "ns", "ownerReferences": list(owner)},
        "data": {"key": "value"},
    }
    stored = w.put(CONFIGMAPS, foreign)

    w.submit(plugins={"svc": []})
    for _ in range(20):
        w.advance(30)

    assert w.get(CONFIGMAPS, "ns", "j-svc") == stored
    assert w.phase() == "Pending"
    _, message = next(event for event in w.events if event[0] == "PluginError")
    assert message.startswith("Execute plugin when job add failed, err: ConfigMap ns/j-svc exists")

    w.remove(CONFIGMAPS, "ns", "j-svc")
    w.advance(30)
    w.admit()
    w.pod_phase("Running")
    assert w.phase() == "Running"


def test_foreign_service_survives_the_job_o_063() -> None:
    """api-controllers.md 10.60, decided otherwise: docs/differences.md."""
    w = world()
    w.running(plugins={"svc": []})
    w.remove(SERVICES, "ns", "j")
    foreign = w.put(SERVICES, {"metadata": {"name": "j", "namespace": "ns"}, "spec": {}})

    w.pod_phase("Succeeded")

    assert w.get(SERVICES, "ns", "j") == foreign


def test_unknown_plugin_is_told_and_ends_the_job_after_the_retries() -> None:
    w = world()

    w.submit(plugins={"nonesuch": []})

    assert (
        "PluginError",
        "Execute plugin when job add failed, err: failed to get plugin nonesuch",
    ) in w.events
    assert w.phase() == "Terminated"
