"""Quotas are charged on creation, freed by a recount, and refuse what does not fit in the server's words."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from vcray.api.jsonview import dig
from vcray.api.meta import JsonObject
from vcray.api.resources import CONFIGMAPS, PERSISTENTVOLUMECLAIMS, PODS, RESOURCEQUOTAS, SERVICES
from vcray.clock import ManualClock
from vcray.cluster.admission.quota import QuotaGate
from vcray.cluster.admission.quotastatus import QuotaStatus
from vcray.cluster.objects.deletion import DeleteOptions
from vcray.cluster.objects.store import Store
from vcray.cluster.objects.write import Write
from vcray.kube.errors import ApiError


class Cluster:
    """A store with quotas; recounts wait for `settle`."""

    def __init__(self) -> None:
        self.store = Store(ManualClock())
        self.store.gates.append(QuotaGate(self.store.storage, self.store.clock))
        self._waiting: list[Callable[[], None]] = []
        QuotaStatus(self.store.storage, self.store.catalog, self.store.clock, self._waiting.append)

    def settle(self) -> None:
        while self._waiting:
            self._waiting.pop(0)()

    def quota(self, hard: JsonObject, **spec: object) -> None:
        obj: JsonObject = {"metadata": {"name": "q"}, "spec": {"hard": hard, **spec}}  # type: ignore[dict-item]
        self.store.create(RESOURCEQUOTAS, "default", obj)
        self.settle()

    def used(self) -> JsonObject:
        used = dig(self.store.read(RESOURCEQUOTAS, "default", "q").decode(), "status", "used")
        assert isinstance(used, dict)
        return used

    def pod(self, name: str = "p", requests: JsonObject | None = None, **spec: object) -> JsonObject:
        container: JsonObject = {"name": "c", "image": "i", "resources": {"requests": requests or {}}}
        pod: JsonObject = {"metadata": {"name": name}, "spec": {"containers": [container], **spec}}  # type: ignore[dict-item]
        return self.store.create(PODS, "default", pod).decode()


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


def test_a_new_quota_counts_what_is_there(cluster: Cluster) -> None:
    cluster.pod("a", {"cpu": "500m", "memory": "64Mi"})

    cluster.quota(
        {"pods": "5", "requests.cpu": "1", "memory": "1Gi", "resourcequotas": "1", "count/pods": "9"}
    )

    assert cluster.used() == {
        "pods": "1",
        "requests.cpu": "500m",
        "memory": "64Mi",
        "resourcequotas": "1",
        "count/pods": "1",
    }


def test_creations_are_charged_at_once_and_deletions_freed_by_a_recount(cluster: Cluster) -> None:
    cluster.quota({"pods": "5", "requests.memory": "1Gi"})

    cluster.pod("a", {"memory": "252Mi"})
    cluster.pod("b", {"memory": "1Mi"})
    assert cluster.used() == {"pods": "2", "requests.memory": "253Mi"}

    cluster.store.delete(PODS, "default", "a", DeleteOptions(grace_seconds=0))
    cluster.settle()
    assert cluster.used() == {"pods": "1", "requests.memory": "1Mi"}


def test_what_exceeds_a_quota_is_refused_with_the_figures(cluster: Cluster) -> None:
    cluster.quota({"pods": "1", "requests.cpu": "1"})
    cluster.pod("a", {"cpu": "600m"})

    with pytest.raises(ApiError) as caught:
        cluster.pod("b", {"cpu": "600m"})

    assert caught.value.message == (
        'pods "b" is forbidden: exceeded quota: q, requested: pods=1,requests.cpu=600m, used: pods=1,requests.cpu=600m, '
        "limited: pods=1,requests.cpu=1"
    )
    assert caught.value.code == 403
    assert cluster.used()["pods"] == "1"


def test_a_pod_must_say_what_a_quota_of_cpu_or_memory_limits(cluster: Cluster) -> None:
    cluster.quota({"limits.memory": "1Gi", "cpu": "1"})

    with pytest.raises(ApiError, match="failed quota: q: must specify cpu for: c; limits\\.memory for: c"):
        cluster.pod()


def test_a_dry_run_charges_nothing_but_hears_of_the_limit(cluster: Cluster) -> None:
    cluster.quota({"count/configmaps": "1"})
    one: JsonObject = {"metadata": {"name": "a"}}

    cluster.store.create(CONFIGMAPS, "default", {"metadata": {"name": "a"}}, Write(dry_run=True))
    assert cluster.used() == {"count/configmaps": "0"}
    cluster.store.create(CONFIGMAPS, "default", one)
    with pytest.raises(ApiError, match="exceeded quota"):
        cluster.store.create(CONFIGMAPS, "default", {"metadata": {"name": "b"}}, Write(dry_run=True))


@pytest.mark.parametrize(
    ("scope", "counts"),
    [("BestEffort", 1), ("NotBestEffort", 1), ("Terminating", 1), ("NotTerminating", 1)],
)
def test_scopes_choose_the_pods(scope: str, counts: int, cluster: Cluster) -> None:
    cluster.quota({"pods": "5"}, scopes=[scope])

    cluster.pod("plain", activeDeadlineSeconds=3600)
    cluster.pod("sized", {"cpu": "1"})

    assert cluster.used() == {"pods": str(counts)}


def test_a_scope_of_priority_classes_chooses_by_name(cluster: Cluster) -> None:
    selector = {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["high"]}]}
    cluster.quota({"pods": "5"}, scopeSelector=selector)

    cluster.pod("low")
    assert cluster.used() == {"pods": "0"}


def test_a_scope_of_affinity_across_namespaces(cluster: Cluster) -> None:
    selector = {"matchExpressions": [{"scopeName": "CrossNamespacePodAffinity", "operator": "Exists"}]}
    cluster.quota({"pods": "5"}, scopeSelector=selector)
    term: JsonObject = {"topologyKey": "region", "namespaces": ["other"]}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}

    cluster.pod("far", affinity=affinity)
    cluster.pod("near")

    assert cluster.used() == {"pods": "1"}


def test_ended_pods_are_free(cluster: Cluster) -> None:
    cluster.quota({"pods": "1", "count/pods": "5"})
    pod = cluster.pod()
    pod["status"] = {"phase": "Succeeded"}

    cluster.store.update(PODS, "default", "p", pod, Write(subresource="status"))
    cluster.settle()

    assert cluster.used() == {"pods": "0", "count/pods": "1"}


def test_a_pod_that_gets_a_deadline_changes_its_scope(cluster: Cluster) -> None:
    cluster.quota({"pods": "5"}, scopes=["NotTerminating"])
    pod = cluster.pod()
    assert cluster.used() == {"pods": "1"}

    cluster.store.update(PODS, "default", "p", {**pod, "spec": {**pod["spec"], "activeDeadlineSeconds": 9}})  # type: ignore[dict-item]
    cluster.settle()

    assert cluster.used() == {"pods": "0"}


def test_services_count_their_node_ports(cluster: Cluster) -> None:
    cluster.quota({"services": "5", "services.nodeports": "1", "services.loadbalancers": "1"})
    spec: JsonObject = {"type": "NodePort", "ports": [{"port": 80, "nodePort": 30080}]}

    cluster.store.create(SERVICES, "default", {"metadata": {"name": "a"}, "spec": spec})

    assert cluster.used() == {"services": "1", "services.nodeports": "1", "services.loadbalancers": "0"}


def test_claims_count_their_storage_and_their_class(cluster: Cluster) -> None:
    gold = "gold.storageclass.storage.k8s.io/"
    cluster.quota(
        {"persistentvolumeclaims": "5", "requests.storage": "10Gi", f"{gold}requests.storage": "10Gi"}
    )
    spec: JsonObject = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "gold",
        "resources": {"requests": {"storage": "1Gi"}},
    }

    cluster.store.create(PERSISTENTVOLUMECLAIMS, "default", {"metadata": {"name": "a"}, "spec": spec})

    assert cluster.used() == {
        "persistentvolumeclaims": "1",
        "requests.storage": "1Gi",
        f"{gold}requests.storage": "1Gi",
    }


def test_claims_of_devices_count_by_class(cluster: Cluster) -> None:
    cluster.quota(
        {"count/resourceclaims.resource.k8s.io": "1", "gold.deviceclass.resource.k8s.io/devices": "4"}
    )
    claims = cluster.store.catalog.at("resource.k8s.io", "v1", "resourceclaims").resource
    requests: JsonObject = {"requests": [{"name": "r", "exactly": {"deviceClassName": "gold", "count": 3}}]}

    cluster.store.create(claims, "default", {"metadata": {"name": "c"}, "spec": {"devices": requests}})

    assert cluster.used() == {
        "count/resourceclaims.resource.k8s.io": "1",
        "gold.deviceclass.resource.k8s.io/devices": "3",
    }


def test_changed_limits_are_taken_up(cluster: Cluster) -> None:
    cluster.quota({"pods": "1"})
    quota = cluster.store.read(RESOURCEQUOTAS, "default", "q").decode()
    quota["spec"] = {"hard": {"pods": "2", "services": "3"}}

    cluster.store.update(RESOURCEQUOTAS, "default", "q", quota)
    cluster.settle()

    status = cluster.store.read(RESOURCEQUOTAS, "default", "q").decode()["status"]
    assert status == {"hard": {"pods": "2", "services": "3"}, "used": {"pods": "0", "services": "0"}}


def test_a_status_that_somebody_else_wrote_is_put_right(cluster: Cluster) -> None:
    cluster.quota({"pods": "1"})
    quota = cluster.store.read(RESOURCEQUOTAS, "default", "q").decode()
    quota["status"] = {"hard": {"pods": "9"}}

    cluster.store.update(RESOURCEQUOTAS, "default", "q", quota, Write(subresource="status"))
    cluster.settle()

    status = cluster.store.read(RESOURCEQUOTAS, "default", "q").decode()["status"]
    assert status == {"hard": {"pods": "1"}, "used": {"pods": "0"}}


def test_init_containers_count_by_their_peak(cluster: Cluster) -> None:
    cluster.quota({"requests.cpu": "9"})
    init = [{"name": "i", "image": "i", "resources": {"requests": {"cpu": "2"}}}]

    cluster.pod("a", {"cpu": "1"}, initContainers=init)

    assert cluster.used() == {"requests.cpu": "2"}
