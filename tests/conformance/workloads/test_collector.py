"""The garbage collector and the namespace controller, a real server's and the embedded one's."""

from typing import Any

import pytest

from tests.conformance.harness.client import ApiError
from tests.conformance.workloads.playground import Object, Playground, template


def config_map(play: Playground, name: str, *owners: Object, **metadata: Any) -> Object:
    body: Object = {"metadata": {"name": name, "ownerReferences": list(owners), **metadata}}
    return play.client.create(play.path("configmaps"), play.typed("configmaps", body))


def owner(obj: Object, kind: str = "ConfigMap", blocks: bool = True) -> Object:
    head = obj["metadata"]
    return {
        "apiVersion": "v1",
        "kind": kind,
        "name": head["name"],
        "uid": head["uid"],
        "blockOwnerDeletion": blocks,
    }


def names(play: Playground) -> set[str]:
    return {each["metadata"]["name"] for each in play.items("configmaps")} - {"kube-root-ca.crt"}


def delete(play: Playground, name: str, policy: str = "Background") -> None:
    play.client.delete(play.path("configmaps", name), policy=policy)


def replication_controller(play: Playground) -> None:
    labels = {"app": "web"}
    play.create("replicationcontrollers", "web", {"replicas": 2, "template": template(labels=labels)})
    play.wait_status("replicationcontrollers", "web", readyReplicas=2)


def test_chain_of_owners_falls_as_a_whole(play: Playground) -> None:
    first = config_map(play, "first")
    second = config_map(play, "second", owner(first))
    config_map(play, "third", owner(second))

    delete(play, "first")

    play.wait(lambda: names(play) == set(), "the chain to fall")


def test_object_with_another_living_owner_only_loses_the_reference(play: Playground) -> None:
    first, second = config_map(play, "first"), config_map(play, "second")
    config_map(play, "owned", owner(first), owner(second))

    delete(play, "first")

    play.wait(lambda: len(play.get("configmaps", "owned")["metadata"]["ownerReferences"]) == 1, "one owner")
    assert play.get("configmaps", "owned")["metadata"]["ownerReferences"][0]["name"] == "second"


def test_object_that_names_an_owner_that_never_was_goes(play: Playground) -> None:
    ghost = {"metadata": {"name": "ghost", "uid": "6f0f5a3e-0000-4000-8000-000000000000"}}

    config_map(play, "owned", owner(ghost))

    play.wait(lambda: not play.exists("configmaps", "owned"), "it to go")


def test_owner_of_another_namespace_counts_as_gone(play: Playground) -> None:
    other = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"of-{play.namespace}"}}
    foreign = play.client.create("/api/v1/namespaces/default/configmaps", other)

    config_map(play, "owned", owner(foreign))

    play.wait(lambda: not play.exists("configmaps", "owned"), "it to go")


def test_owner_waits_in_the_foreground_for_dependents_that_block_it(play: Playground) -> None:
    first = config_map(play, "first")
    config_map(play, "owned", owner(first), finalizers=["example.com/hold"])

    delete(play, "first", "Foreground")

    play.wait(
        lambda: "deletionTimestamp" in play.get("configmaps", "owned")["metadata"], "the dependent's end"
    )
    held = play.get("configmaps", "first")["metadata"]
    assert held["finalizers"] == ["foregroundDeletion"]
    play.patch("configmaps", "owned", {"metadata": {"finalizers": None}})
    play.wait(lambda: names(play) == set(), "both to go")


def test_circle_of_owners_does_not_block_itself(play: Playground) -> None:
    first = config_map(play, "first")
    second = config_map(play, "second", owner(first))
    third = config_map(play, "third", owner(second))
    play.patch("configmaps", "first", {"metadata": {"ownerReferences": [owner(third)]}})

    delete(play, "first", "Foreground")

    play.wait(lambda: names(play) == set(), "the circle to go", 40)


def test_dependent_with_a_valid_owner_outlives_one_that_waits_for_it(play: Playground) -> None:
    waits, stays = config_map(play, "waits"), config_map(play, "stays")
    config_map(play, "shared", owner(waits), owner(stays))
    config_map(play, "own", owner(waits))

    delete(play, "waits", "Foreground")

    play.wait(lambda: names(play) == {"stays", "shared"}, "the owner and its own to go")
    [left] = play.get("configmaps", "shared")["metadata"]["ownerReferences"]
    assert left["name"] == "stays"


def test_orphans_stay_without_the_reference(play: Playground) -> None:
    first = config_map(play, "first")
    config_map(play, "owned", owner(first))

    delete(play, "first", "Orphan")

    play.wait(lambda: names(play) == {"owned"}, "the owner to go")
    assert "ownerReferences" not in play.get("configmaps", "owned")["metadata"]


def test_replication_controller_orphans_its_pods_unless_told_otherwise(play: Playground) -> None:
    replication_controller(play)

    play.client.request("DELETE", play.path("replicationcontrollers", "web"))

    play.wait(lambda: not play.exists("replicationcontrollers", "web"), "the controller to go")
    assert len(play.pods("Running")) == 2
    assert not any(pod["metadata"].get("ownerReferences") for pod in play.pods())


def test_replication_controller_stays_in_the_foreground_until_its_pods_are_gone(play: Playground) -> None:
    replication_controller(play)

    play.client.delete(play.path("replicationcontrollers", "web"), policy="Foreground")

    assert "deletionTimestamp" in play.get("replicationcontrollers", "web")["metadata"]
    play.wait(lambda: not play.exists("replicationcontrollers", "web"), "the controller to go")
    assert play.items("pods") == []


def test_deleted_namespace_empties_itself(play: Playground) -> None:
    config_map(play, "one")
    replication_controller(play)

    play.client.delete(f"/api/v1/namespaces/{play.namespace}")

    play.wait(lambda: not play.client.exists(f"/api/v1/namespaces/{play.namespace}"), "the namespace to go")


def test_namespace_waits_for_its_pods_before_anything_else_goes(play: Playground) -> None:
    body: Object = {
        "metadata": {"name": "held", "finalizers": ["example.com/hold"]},
        "spec": template()["spec"],
    }
    play.client.create(play.path("pods"), play.typed("pods", body))
    play.wait(lambda: bool(play.pods("Running")), "the pod")
    config_map(play, "one", finalizers=["example.com/hold"])

    play.client.delete(f"/api/v1/namespaces/{play.namespace}")

    def conditions() -> dict[str, Object]:
        found = play.client.get(f"/api/v1/namespaces/{play.namespace}")["status"].get("conditions") or []
        return {each["type"]: each for each in found}

    play.wait(lambda: "NamespaceDeletionContentFailure" in conditions(), "conditions")
    assert conditions()["NamespaceContentRemaining"]["message"] == "All content successfully removed"
    assert "deletionTimestamp" not in play.get("configmaps", "one")["metadata"]
    with pytest.raises(ApiError, match="being terminated"):
        config_map(play, "late")
    play.patch("pods", "held", {"metadata": {"finalizers": None}})
    play.wait(lambda: conditions()["NamespaceContentRemaining"]["status"] == "True", "what is left")
    assert conditions()["NamespaceContentRemaining"]["message"] == (
        "Some resources are remaining: configmaps. has 1 resource instances"
    )
    assert conditions()["NamespaceFinalizersRemaining"]["message"] == (
        "Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances"
    )
    play.patch("configmaps", "one", {"metadata": {"finalizers": None}})
    play.wait(
        lambda: not play.client.exists(f"/api/v1/namespaces/{play.namespace}"), "the namespace to go", 40
    )


def test_namespace_has_its_service_account_and_the_servers_certificate(play: Playground) -> None:
    play.wait(lambda: play.exists("serviceaccounts", "default"), "the service account")
    play.wait(lambda: play.exists("configmaps", "kube-root-ca.crt"), "the certificate")
    play.client.delete(play.path("serviceaccounts", "default"))
    play.wait(lambda: play.exists("serviceaccounts", "default"), "the service account again")

    published = play.get("configmaps", "kube-root-ca.crt")["data"]["ca.crt"]

    assert published.startswith("-----BEGIN CERTIFICATE-----")
