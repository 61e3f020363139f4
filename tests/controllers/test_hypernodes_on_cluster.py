"""Discovery from end to end: the object store with its schemas, and servers on loopback that speak as UFM and NetQ do."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
import yaml

from tests.controllers.cluster_world import ClusterWorld
from tests.controllers.networks import fabric
from tests.controllers.test_hypernode_fabrics import link, port
from tests.kube.fabric_server import FabricServer, fabric_server, own_certificate
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import (
    COLOCATIONCONFIGURATIONS,
    CONFIGMAPS,
    HYPERNODES,
    NAMESPACES,
    NODES,
    PODS,
    SECRETS,
)
from vcray.controllers import raw
from vcray.controllers.colocation import ColocationController
from vcray.controllers.hypernode.controller import HyperNodeController


async def network(**secret: str) -> ClusterWorld:
    """Two nodes, a Secret, no configuration yet."""
    w = ClusterWorld([HyperNodeController()])
    await w.start()
    for namespace in ("volcano-system", "net"):
        await w.client.create(NAMESPACES, None, {"metadata": {"name": namespace}})
    for node in ("n1", "n2"):
        await w.client.create(NODES, None, {"metadata": {"name": node}})
    data: JsonObject = {key: base64.b64encode(text.encode()).decode() for key, text in secret.items()}
    await w.client.create(SECRETS, "net", {"metadata": {"name": "fabric"}, "data": data})
    return w


async def configure(w: ClusterWorld, server: FabricServer, source: str, **config: JsonValue) -> None:
    entry = fabric(source, config={"endpoint": server.address, **config})
    text = yaml.safe_dump({"networkTopologyDiscovery": [entry]})
    body: JsonObject = {
        "metadata": {"name": "volcano-controller-configmap"},
        "data": {"volcano-controller.conf": text},
    }
    await w.client.create(CONFIGMAPS, "volcano-system", body)
    await w.settle()


def counts(w: ClusterWorld) -> dict[str, JsonValue]:
    return {raw.name(each): raw.at(each, "status", "nodeCount") for each in w.all(HYPERNODES)}


async def test_a_fabric_manager_is_asked_and_its_switches_become_hypernodes() -> None:
    w = await network(username="admin", password="secret")
    async with fabric_server() as server:
        server.ports = [port("n1", "leaf-a"), port("n2", "leaf-b"), port("n2", "leaf-c")]
        await configure(w, server, "ufm")
        assert counts(w) == {"leaf-hn-0": 1, "leaf-hn-1": 1, "spine-hn": 2}

        server.ports = [port("n1", "leaf-a"), port("n2", "leaf-a")]
        await w.advance(3600)

    assert counts(w) == {"leaf-hn-0": 2, "spine-hn": 1}
    assert (server.asked, w.events(), w.refused) == (["/ufmRest/resources/ports"] * 2, [], [])


async def test_neighbours_of_an_ethernet_become_hypernodes() -> None:
    w = await network(token="t0ken")
    async with fabric_server() as server:
        server.neighbours = [link("n1", "leaf01"), link("leaf02", "n2"), link("leaf01", "spine01")]
        await configure(w, server, "roce")

    assert counts(w) == {"roce-leaf-hn-0": 1, "roce-leaf-hn-1": 1, "roce-spine-hn": 2}


async def test_a_certificate_of_its_own_is_taken_only_when_told_so(tmp_path: Path) -> None:
    w = await network(username="admin", password="secret")
    async with fabric_server(own_certificate(tmp_path)) as server:
        server.ports = [port("n1", "leaf-a")]
        await configure(w, server, "ufm", insecureSkipVerify=True)
        assert "leaf-hn-0" in counts(w)

        await w.client.delete(CONFIGMAPS, "volcano-system", "volcano-controller-configmap")
        await configure(w, server, "ufm")

    ((reason, message),) = w.events()
    assert (reason, message.rpartition(": ")[2]) == (
        "DiscoveryFailed",
        "the server's certificate is not trusted (self-signed certificate)",
    )
    assert "leaf-hn-0" in counts(w)


@pytest.mark.parametrize("source", ["ufm", "roce"])
async def test_wrong_credentials_and_answers_that_are_none_make_nothing_and_are_told(source: str) -> None:
    w = await network(username="admin", password="wrong", token="wrong")
    async with fabric_server() as server:
        server.ports = [port("n1", "leaf-a")]
        server.neighbours = [link("n1", "leaf01")]
        await configure(w, server, source)
        assert [message.endswith("answered with status 401") for _, message in w.events()] == [True]

        right: JsonObject = {
            key: base64.b64encode(text.encode()).decode()
            for key, text in (("username", "admin"), ("password", "secret"), ("token", "t0ken"))
        }
        await w.client.patch(SECRETS, "net", "fabric", {"data": right})
        server.body = b"<html>busy</html>"
        await w.advance(5)
        assert {message.partition(" answered ")[2] for _, message in w.events()} == {
            "with status 401",
            "with no JSON",
        }
        assert counts(w) == {}

        server.body = None
        await w.advance(10)
    assert len(counts(w)) == 2


async def test_pods_are_told_of_their_rules_with_the_defaults_of_the_schema() -> None:
    w = ClusterWorld([ColocationController()])
    await w.start()
    body: JsonObject = {
        "metadata": {"name": "c"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "memoryQos": {"minRatio": 5}},
    }
    await w.client.create(COLOCATIONCONFIGURATIONS, "ns", body)
    pod: JsonObject = {
        "metadata": {"name": "p", "labels": {"app": "web"}},
        "spec": {"containers": [{"name": "main", "image": "i"}]},
    }
    await w.client.create(PODS, "ns", pod)
    await w.settle()
    await w.advance(1)

    assert raw.annotations_of(w.all(PODS)[0]) == {
        "volcano.sh/colocation-config-name": "c",
        "volcano.sh/colocation-config": '{"memoryQos":{"highRatio":100,"minRatio":5}}',
    }
    assert w.refused == []
