"""What the stand-ins of Kubeflow's operators do that scenarios do not show: rules of success, restarts, limits of time, labels."""

from __future__ import annotations

import pytest

from tests.controllers.world import World
from tests.integrations.kubeflow.goldens import golden, resource_of
from vcray.api.resources import KUBERNETES_JOBS, MPIJOBS, PODGROUPS, PODS
from vcray.clock import ManualClock
from vcray.cluster.objects.store import Store
from vcray.cluster.operators.table import STAND_INS
from vcray.cluster.server.inprocess import InProcessTransport
from vcray.controllers import raw
from vcray.kube.client import KubeClient
from vcray.kube.errors import Conflict, NotFound

ROLE = "training.kubeflow.org/job-role"


def job_row(kind, spec=None, **roles):
    return {"kind": kind, "spec": spec or {}, "roles": roles, "version": "v1"}


def started(row, gang="", operator="training-operator", **policy):
    """A world with the row's job at rest."""
    world = World([make(gang) for make in STAND_INS[operator].makes])
    world.put(resource_of(row), golden(row, **policy))
    world.settle()
    return world


def end(world, name, code=0, reason=""):
    """A pod ends."""
    pod = world.objects[PODS, "default", name]
    container = raw.text(pod, "spec", "containers", 0, "name")
    state = [{"name": container, "state": {"terminated": {"exitCode": code}}}]
    phase = "Failed" if code else "Succeeded"
    world.change(
        PODS, "default", name, status__phase=phase, status__reason=reason, status__containerStatuses=state
    )
    world.settle()


def held(world, row):
    """Types of the job's conditions that are True."""
    job = world.objects[resource_of(row), "default", "j"]
    return {each["type"] for each in raw.tables(job, "status", "conditions") if each["status"] == "True"}


TWO = {"n": 2}
ONE = {"n": 1}


@pytest.mark.parametrize(
    ("row", "ends", "succeeds"),
    [
        (job_row("PyTorchJob", Master=ONE, Worker=TWO), ["j-worker-0", "j-worker-1"], False),
        (job_row("PyTorchJob", Master=ONE, Worker=TWO), ["j-master-0"], True),
        (job_row("PyTorchJob", Worker=TWO), ["j-worker-0"], False),
        (job_row("PyTorchJob", Worker=TWO), ["j-worker-0", "j-worker-1"], True),
        (job_row("PyTorchJob", {"elasticPolicy": {"minReplicas": 1}}, Worker=TWO), ["j-worker-1"], True),
        (job_row("TFJob", Chief=ONE, Worker=TWO), ["j-worker-0", "j-worker-1"], False),
        (job_row("TFJob", Chief=ONE, Worker=TWO), ["j-chief-0"], True),
        (job_row("TFJob", PS=ONE, Worker=TWO), ["j-worker-1"], False),
        (job_row("TFJob", PS=ONE, Worker=TWO), ["j-worker-0"], True),
        (job_row("TFJob", {"successPolicy": "AllWorkers"}, Worker=TWO), ["j-worker-0"], False),
        (job_row("XGBoostJob", Master=ONE, Worker=TWO), ["j-master-0"], True),
        (job_row("PaddleJob", Worker=TWO), ["j-worker-0"], False),
        (job_row("JAXJob", Worker=TWO), ["j-worker-0", "j-worker-1"], True),
        (job_row("MPIJob", Launcher=ONE, Worker=TWO), ["j-worker-0", "j-worker-1"], False),
        (job_row("MPIJob", Launcher=ONE, Worker=TWO), ["j-launcher"], True),
    ],
)
def test_a_job_has_succeeded_by_the_rule_of_its_kind(row, ends, succeeds):
    world = started(row)

    for name in ends:
        end(world, name)

    assert ("Succeeded" in held(world, row)) is succeeds


@pytest.mark.parametrize(
    ("policy", "code", "outcome"),
    [
        ("Never", 137, "Failed"),
        ("OnFailure", 1, "Restarting"),
        ("Always", 1, "Restarting"),
        ("ExitCode", 1, "Failed"),
        ("ExitCode", 137, "Restarting"),
    ],
)
def test_a_failed_pod_is_replaced_or_fails_its_job_by_its_restart_policy(policy, code, outcome):
    row = job_row("PyTorchJob", Worker={"n": 1, "spec": {"restartPolicy": policy}})
    world = started(row)
    pod = world.objects[PODS, "default", "j-worker-0"]

    end(world, "j-worker-0", code)

    assert outcome in held(world, row)
    assert pod["spec"]["restartPolicy"] == ("Never" if policy == "ExitCode" else policy)
    kept = raw.uid(world.objects[PODS, "default", "j-worker-0"]) == raw.uid(pod)
    assert kept is (outcome == "Failed")


def test_backoff_limit_counts_pods_that_were_replaced():
    row = job_row("PyTorchJob", Worker=ONE)
    world = started(row, backoffLimit=1)

    end(world, "j-worker-0", 1)
    assert "Failed" not in held(world, row)
    end(world, "j-worker-0", 1)

    assert "Failed" in held(world, row)


def test_a_job_past_its_deadline_fails_and_goes_after_its_time():
    row = job_row("TFJob", Worker=ONE)
    world = started(row, activeDeadlineSeconds=60, ttlSecondsAfterFinished=30)

    world.advance(59)
    world.settle()
    assert "Failed" not in held(world, row)
    world.advance(2)
    world.settle()
    assert "Failed" in held(world, row)
    world.advance(31)
    world.settle()

    assert (resource_of(row), "default", "j") not in world.objects


@pytest.mark.parametrize(
    ("policy", "left"),
    [("None", {"j-master-0", "j-worker-0"}), ("Running", {"j-master-0"}), ("All", set())],
)
def test_pods_of_a_finished_job_go_by_its_clean_pod_policy_and_its_group_always(policy, left):
    row = job_row("PyTorchJob", Master=ONE, Worker=ONE)
    world = started(row, "volcano", cleanPodPolicy=policy)
    world.change(PODGROUPS, "default", "j", status__phase="Inqueue")
    world.settle()

    end(world, "j-master-0")

    assert {raw.name(pod) for pod in world.list(PODS)} == left
    assert world.podgroups() == []


def test_no_pod_comes_and_nothing_is_judged_while_the_group_is_pending():
    row = job_row("JAXJob", Worker=TWO)
    world = started(row, "volcano")
    assert world.list(PODS) == []
    world.change(PODGROUPS, "default", "j", status__phase="Inqueue")
    world.settle()
    assert len(world.list(PODS)) == 2

    world.change(PODGROUPS, "default", "j", status__phase="Pending")
    world.settle()
    world.remove(PODS, "default", "j-worker-1")
    end(world, "j-worker-0", 1)

    assert "Failed" not in held(world, row)
    assert len(world.list(PODS)) == 1


@pytest.mark.parametrize(
    ("row", "marked"),
    [
        (job_row("PyTorchJob", Master=ONE, Worker=TWO), {"j-master-0"}),
        (job_row("PyTorchJob", Worker=TWO), {"j-worker-0"}),
        (job_row("TFJob", PS=ONE, Worker=TWO), {"j-worker-0"}),
        (job_row("XGBoostJob", Worker=TWO), set()),
        (job_row("JAXJob", Worker=TWO), {"j-worker-0"}),
        (job_row("MPIJob", Launcher=ONE, Worker=TWO), {"j-launcher"}),
    ],
)
def test_the_pod_that_leads_is_marked(row, marked):
    world = started(row)

    assert {raw.name(pod) for pod in world.list(PODS) if ROLE in raw.labels_of(pod)} == marked


@pytest.mark.parametrize("version", ["v1", "v2beta1"])
def test_a_worker_that_its_node_evicted_fails_an_mpijob_and_a_deleted_one_comes_back(version):
    row = {**job_row("MPIJob", Launcher=ONE, Worker=TWO), "version": version}
    world = started(row, operator="training-operator" if version == "v1" else "mpi-operator")

    world.remove(PODS, "default", "j-worker-1")
    world.settle()
    assert (PODS, "default", "j-worker-1") in world.objects
    end(world, "j-worker-1", 137)
    assert "Failed" not in held(world, row)
    end(world, "j-worker-0", 137, reason="Evicted")

    assert "Failed" in held(world, row)


def test_a_job_that_is_suspended_before_its_launcher_came_has_one_that_waits_with_it():
    row = {
        **job_row("MPIJob", {"launcherCreationPolicy": "WaitForWorkersReady"}, Launcher=ONE, Worker=TWO),
        "version": "v2beta1",
    }
    world = started(row, operator="mpi-operator")
    assert world.list(KUBERNETES_JOBS) == []

    world.change(MPIJOBS, "default", "j", spec__runPolicy={"suspend": True})
    world.settle()
    (launcher,) = world.list(KUBERNETES_JOBS)
    assert launcher["spec"]["suspend"] is True
    assert world.list(PODS) == []
    world.change(MPIJOBS, "default", "j", spec__runPolicy={"suspend": False})
    world.settle()

    (launcher,) = world.list(KUBERNETES_JOBS)
    assert launcher["spec"]["suspend"] is False
    assert len(world.list(PODS)) == 2


def test_workers_count_from_one_where_the_launcher_works_too():
    row = {
        **job_row("MPIJob", {"runLauncherAsWorker": True}, Launcher=ONE, Worker=TWO),
        "version": "v2beta1",
    }
    world = started(row, operator="mpi-operator")

    index = "training.kubeflow.org/replica-index"
    assert [raw.labels_of(pod)[index] for pod in world.list(PODS)] == ["1", "2"]
    (launcher,) = world.list(KUBERNETES_JOBS)
    assert raw.labels_of(raw.table(launcher, "spec", "template"))[index] == "0"


async def test_t6_a_podgroup_has_no_status_of_its_own_and_a_put_with_an_old_one_is_refused():
    client = KubeClient(InProcessTransport(Store(ManualClock())), "test")
    body = {"metadata": {"name": "g"}, "spec": {"minMember": 1, "queue": "default"}}
    old = await client.create(PODGROUPS, "default", body)
    await client.patch(PODGROUPS, "default", "g", {"status": {"phase": "Inqueue"}})

    with pytest.raises(NotFound):
        await client.patch(PODGROUPS, "default", "g", {"status": {"phase": "Running"}}, subresource="status")
    with pytest.raises(Conflict):
        await client.update(PODGROUPS, {**old, "spec": {"minMember": 2}})

    found = await client.get(PODGROUPS, "default", "g")
    assert raw.text(found, "status", "phase") == "Inqueue"
