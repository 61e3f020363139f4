"""Plugins of jobs and the frameworks that lean on them (Volcano's suite `jobseq`, parts `job plugins`, mpi, tensorflow, ray).

The frameworks' programs are played by the simulated kubelets: `mpiexec` and `python` compute for five seconds.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.release.acts import started
from tests.e2e.release.context import Context

Object = dict[str, Any]

COMPLETES = [{"event": "TaskCompleted", "action": "CompleteJob"}]
LABEL = "volcano.sh/job-name"


def pod_of(context: Context, name: str) -> Object:
    """The one container of a pod, with the pod's volumes by name."""
    spec = context.client.get(f"{context.core}/pods/{name}")["spec"]
    return {**spec["containers"][0], "volumes": {each["name"]: each for each in spec["volumes"]}}


def variables(container: Object) -> dict[str, Any]:
    """The environment: name -> its value, or where it comes from."""
    return {each["name"]: each.get("value", each.get("valueFrom")) for each in container.get("env") or []}


def mounted(container: Object) -> dict[str, str]:
    """Volume -> path."""
    return {each["name"]: each["mountPath"] for each in container["volumeMounts"]}


def policy_of(context: Context, job: str) -> bool:
    """Has the job a NetworkPolicy?"""
    path = f"/apis/networking.k8s.io/v1/namespaces/{context.namespace}/networkpolicies/{job}"
    return context.client.exists(path)


@pytest.mark.full
def test_pods_with_a_node_of_their_own_choice_know_their_mates(context: Context) -> None:
    """svc: names in files and variables, a headless Service, and a policy that lets in the job's pods alone."""
    node = context.release.nodes()[1]
    task = context.task("worker", 2)
    term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}
    task["template"]["spec"]["affinity"] = {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    }
    started(context, context.job("near", task, plugins={"svc": []}))

    assert set(context.bound().values()) == {node}
    container = pod_of(context, "near-worker-1")
    assert mounted(container)["near-svc"] == "/etc/volcano"
    assert container["volumes"]["near-svc"]["configMap"]["name"] == "near-svc"
    assert variables(container)["VC_WORKER_HOSTS"] == {
        "configMapKeyRef": {"name": "near-svc", "key": "VC_WORKER_HOSTS"}
    }
    service = context.client.get(f"{context.core}/services/near")["spec"]
    assert (service["clusterIP"], service["selector"][LABEL]) == ("None", "near")
    assert policy_of(context, "near")


@pytest.mark.full
def test_pods_that_want_to_be_together_share_keys(context: Context) -> None:
    """ssh: one pair of keys for all pods of the job."""
    task = context.task("worker", 3)
    term = {"labelSelector": {"matchLabels": {LABEL: "pair"}}, "topologyKey": "kubernetes.io/hostname"}
    task["template"]["spec"]["affinity"] = {
        "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    }
    started(context, context.job("pair", task, plugins={"ssh": []}))

    assert len(set(context.bound().values())) == 1
    secret = context.client.get(f"{context.core}/secrets/pair-ssh")["data"]
    assert set(secret) == {"id_rsa", "id_rsa.pub", "authorized_keys", "config"}
    container = pod_of(context, "pair-worker-2")
    assert mounted(container)["pair-ssh"] == "/root/.ssh"
    assert container["volumes"]["pair-ssh"]["secret"]["secretName"] == "pair-ssh"


@pytest.mark.full
@pytest.mark.parametrize("off", [True, False])
def test_a_job_may_go_without_a_network_policy(context: Context, off: bool) -> None:
    arguments = ["--disable-network-policy=true"] if off else []
    started(context, context.job("open", context.task("worker"), plugins={"svc": arguments}))

    assert context.client.exists(f"{context.core}/services/open")
    assert policy_of(context, "open") is not off


@pytest.mark.full
@pytest.mark.parametrize("off", [True, False])
def test_a_job_may_go_without_variables_of_hosts(context: Context, off: bool) -> None:
    arguments = ["--inject-hosts-env=false"] if off else []
    started(context, context.job("plain", context.task("worker"), plugins={"svc": arguments}))

    container = pod_of(context, "plain-worker-0")
    names = {"VC_WORKER_HOSTS", "VC_WORKER_NUM"}
    assert names & set(variables(container)) == (set() if off else names)
    assert mounted(container)["plain-svc"] == "/etc/volcano"


def test_all_plugins_work_side_by_side_and_an_unknown_argument_is_passed_over(context: Context) -> None:
    plugins = {"ssh": ["--no-root"], "env": [], "svc": []}
    started(context, context.job("all", context.task("worker", 2), plugins=plugins))

    container = pod_of(context, "all-worker-1")
    assert variables(container)["VC_TASK_INDEX"] == variables(container)["VK_TASK_INDEX"] == "1"
    assert {"all-ssh", "all-svc"} <= set(mounted(container))
    assert context.client.exists(f"{context.core}/secrets/all-ssh")
    assert context.client.exists(f"{context.core}/configmaps/all-svc")


@pytest.mark.full
def test_an_mpi_job_runs_to_its_end(context: Context) -> None:
    """The master knows its workers; when it is done the workers go, and keys and names with them."""
    master = context.shell("sleep 1; mpiexec --host ${MPI_HOST} -np 2 a.out", "master", policies=COMPLETES)
    workers = context.shell("mkdir -p /var/run/sshd; /usr/sbin/sshd -D", "worker", 2)
    seen = started(context, context.job("ring", master, workers, plugins={"mpi": []}))
    container = pod_of(context, "ring-master-0")

    assert variables(container)["MPI_HOST"] == "ring-worker-0.ring,ring-worker-1.ring"
    assert [each["name"] for each in container["ports"]] == ["mpijob-port"]
    assert {"ring-ssh", "ring-svc"} <= set(mounted(container))
    seen.wait("Pending", "Running", "Completing", "Completed")
    assert [pod["metadata"]["name"] for pod in context.of("ring")] == ["ring-master-0"]
    context.wait(lambda: not context.client.exists(f"{context.core}/secrets/ring-ssh"), "the keys to go")
    context.wait(lambda: not context.client.exists(f"{context.core}/services/ring"), "the names to go")


@pytest.mark.full
def test_a_tensorflow_job_ends_with_its_workers(context: Context) -> None:
    """Parameter servers serve for ever and are stopped."""
    server = context.shell("python train.py", "ps")
    workers = context.shell("python train.py", "worker", 2, policies=COMPLETES)
    seen = started(context, context.job("net", server, workers, plugins={"tensorflow": []}))

    assert variables(pod_of(context, "net-worker-1"))["TF_CONFIG"] == (
        '{"cluster":{"ps":["net-ps-0.net:2222"],"worker":["net-worker-0.net:2222","net-worker-1.net:2222"]},'
        '"task":{"type":"worker","index":1}}'
    )
    seen.wait("Pending", "Running", "Completing", "Completed")
    assert {pod["metadata"]["name"] for pod in context.of("net")} == {"net-worker-0", "net-worker-1"}


@pytest.mark.full
def test_a_pytorch_job_numbers_its_pods_and_completes(context: Context) -> None:
    tasks = [context.shell("python train.py", name, count) for name, count in (("master", 1), ("worker", 2))]
    seen = started(context, context.job("torch", *tasks, plugins={"pytorch": []}))

    found = variables(pod_of(context, "torch-worker-1"))
    assert {key: found[key] for key in ("MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK")} == {
        "MASTER_ADDR": "torch-master-0.torch",
        "MASTER_PORT": "23456",
        "WORLD_SIZE": "3",
        "RANK": "2",
    }
    seen.wait("Pending", "Running", "Completed")


@pytest.mark.full
def test_a_ray_cluster_starts_with_a_service_for_its_head(context: Context) -> None:
    tasks = [context.task(name, count) for name, count in (("head", 1), ("worker", 2))]
    for task in tasks:
        task["template"]["spec"]["containers"][0] |= {"name": task["name"], "image": "rayproject/ray"}
    started(context, context.job("rays", *tasks, plugins={"ray": []}))

    service = context.client.get(f"{context.core}/services/rays-head-svc")["spec"]
    ports = {each["name"]: each["port"] for each in service["ports"]}
    assert ports == {"gcs": 6379, "dashboard": 8265, "client-server": 10001}
    assert service["selector"][LABEL] == "rays"
    assert "--address=rays-head-0.rays:6379" in pod_of(context, "rays-worker-0")["command"][-1]
    assert "--head" in pod_of(context, "rays-head-0")["command"][-1]
