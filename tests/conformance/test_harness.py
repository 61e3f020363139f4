"""The harness itself: what the control planes that other tests stand on do and do not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conformance.harness.base import STRANGER_TOKEN, wait_until
from tests.conformance.harness.client import ApiError
from tests.conformance.harness.nodes import bound_pods, create_node, set_pod_phase
from tests.conformance.harness.process import Child, ServerStartError
from tests.conformance.harness.server import ControlPlane, new_signing_key
from tools.kubernetes.build import kubernetes_version

CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "note"}, "data": {"a": "1"}}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "lonely"},
    "spec": {"containers": [{"name": "main", "image": "none"}]},
}


def test_the_server_answers_with_the_pinned_version(apiserver: ControlPlane) -> None:
    assert apiserver.client.get("/version")["gitVersion"] == f"v{kubernetes_version()}"


def test_kubectl_is_of_the_same_version_and_reaches_the_server(
    apiserver: ControlPlane, kubectl: Path
) -> None:
    said = apiserver.kubectl("version", "--output=json")

    assert said.returncode == 0, said.stderr
    versions = json.loads(said.stdout)
    assert versions["clientVersion"]["gitVersion"] == versions["serverVersion"]["gitVersion"]
    assert kubectl == apiserver.programs / "kubectl"


def test_an_unknown_token_is_refused(apiserver: ControlPlane) -> None:
    with pytest.raises(ApiError) as refused:
        apiserver.client_for("wrong").get("/api/v1/namespaces")

    assert refused.value.code == 401


def test_a_known_user_without_rights_is_forbidden(apiserver: ControlPlane) -> None:
    with pytest.raises(ApiError) as refused:
        apiserver.client_for(STRANGER_TOKEN).get("/api/v1/nodes")

    assert (refused.value.code, refused.value.reason) == (403, "Forbidden")


def test_a_pod_needs_no_service_account_without_controller_manager(
    apiserver: ControlPlane, namespace: str
) -> None:
    pods = f"/api/v1/namespaces/{namespace}/pods"

    apiserver.client.create(pods, POD)

    assert apiserver.client.get(f"{pods}/lonely")["spec"]["schedulerName"] == "default-scheduler"


def test_a_node_is_ready_at_once_and_without_taints(cluster: ControlPlane) -> None:
    create_node(cluster.client, "harness-node", {"nvidia.com/gpu": "8"}, {"zone": "a"})

    node = cluster.client.get("/api/v1/nodes/harness-node")
    cluster.client.delete("/api/v1/nodes/harness-node")
    assert "taints" not in node["spec"]
    assert node["status"]["allocatable"]["nvidia.com/gpu"] == "8"
    assert node["status"]["conditions"][0]["status"] == "True"


def test_tests_play_the_kubelet_of_a_bound_pod(apiserver: ControlPlane, namespace: str) -> None:
    client, pods = apiserver.client, f"/api/v1/namespaces/{namespace}/pods"
    client.create(pods, POD)
    target = {"apiVersion": "v1", "kind": "Node", "name": "somewhere"}
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "lonely"}, "target": target}

    client.create(f"{pods}/lonely/binding", binding)
    bound = bound_pods(client, namespace)
    status = set_pod_phase(client, namespace, "lonely", "Failed", exit_code=3)["status"]
    client.delete(f"{pods}/lonely", grace_s=0)

    assert bound == {"lonely": "somewhere"}
    assert status["phase"] == "Failed"
    assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 3
    assert not client.exists(f"{pods}/lonely")


def test_a_namespace_goes_away_with_what_is_in_it(cluster: ControlPlane) -> None:
    name = cluster.create_namespace()
    cluster.client.create(f"/api/v1/namespaces/{name}/configmaps", CONFIG_MAP)

    cluster.client.delete(f"/api/v1/namespaces/{name}")

    wait_until(lambda: not cluster.client.exists(f"/api/v1/namespaces/{name}"), "the namespace to go")


def test_the_controller_manager_collects_what_has_lost_its_owner(
    cluster: ControlPlane, cluster_namespace: str
) -> None:
    maps = f"/api/v1/namespaces/{cluster_namespace}/configmaps"
    owner = cluster.client.create(maps, {**CONFIG_MAP, "metadata": {"name": "owner"}})
    reference = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "owner",
        "uid": owner["metadata"]["uid"],
    }
    cluster.client.create(maps, {**CONFIG_MAP, "metadata": {"name": "owned", "ownerReferences": [reference]}})

    cluster.client.delete(f"{maps}/owner")

    wait_until(lambda: not cluster.client.exists(f"{maps}/owned"), "the owned object to be collected")


def test_service_account_tokens_are_signed_with_the_generated_key(
    cluster: ControlPlane, cluster_namespace: str
) -> None:
    account = f"/api/v1/namespaces/{cluster_namespace}/serviceaccounts/default"
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}

    token = cluster.client.create(f"{account}/token", request)["status"]["token"]

    me = cluster.client_for(token).create(
        "/apis/authentication.k8s.io/v1/selfsubjectreviews",
        {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"},
    )
    assert me["status"]["userInfo"]["username"] == f"system:serviceaccount:{cluster_namespace}:default"


def test_objects_survive_an_apiserver_that_goes_and_comes_back(kubernetes_programs: Path) -> None:
    with ControlPlane(kubernetes_programs) as server:
        maps = f"/api/v1/namespaces/{server.create_namespace()}/configmaps"
        uid = server.client.create(maps, CONFIG_MAP)["metadata"]["uid"]
        address = server.url

        server.stop_apiserver()
        with pytest.raises(OSError):
            server.client.get("/version")
        server.start_apiserver()

        assert server.url == address
        assert server.client.get(f"{maps}/note")["metadata"]["uid"] == uid


def test_a_watch_from_before_a_compaction_is_gone_without_a_watch_cache(kubernetes_programs: Path) -> None:
    with ControlPlane(kubernetes_programs, apiserver_flags=["--watch-cache=false"]) as server:
        maps = f"/api/v1/namespaces/{server.create_namespace()}/configmaps"
        early = server.client.create(maps, CONFIG_MAP)["metadata"]["resourceVersion"]
        for value in ("2", "3"):
            server.client.patch(f"{maps}/note", {"data": {"a": value}})

        server.compact()

        answer, _ = server.client.raw("GET", f"{maps}?watch=true&timeoutSeconds=5&resourceVersion={early}")
        event = json.loads(answer)
        assert (event["type"], event["object"]["code"]) == ("ERROR", 410)


def test_nothing_is_left_after_the_end(kubernetes_programs: Path) -> None:
    with ControlPlane(kubernetes_programs) as server:
        folder, url = server.folder, server.client
        assert folder.is_dir()

    assert not folder.exists()
    with pytest.raises(OSError):
        url.get("/version")


def test_a_failed_start_stops_what_ran_and_shows_the_log(kubernetes_programs: Path) -> None:
    server = ControlPlane(kubernetes_programs, apiserver_flags=["--no-such-flag"])

    with pytest.raises(ServerStartError, match="unknown flag: --no-such-flag"):
        server.start()

    assert not server.folder.exists()


def test_a_child_that_ignores_the_polite_signal_is_ended(tmp_path: Path) -> None:
    child = Child(["/bin/sh", "-c", "trap '' TERM; while :; do read x < /dev/zero; done"], tmp_path / "log")

    child.stop(grace_s=0.1)

    assert not child.running


def test_every_signing_key_is_new() -> None:
    assert new_signing_key() != new_signing_key()
