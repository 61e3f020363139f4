"""A world for the controller of HyperNodes: nodes, HyperNodes, a configuration, and servers that answer."""

from __future__ import annotations

import base64
import json

import yaml

from tests.controllers.world import World
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import CONFIGMAPS, HYPERNODES, NODES, SECRETS
from vcray.controllers import raw
from vcray.controllers.base import Fetch, Outcome
from vcray.controllers.hypernode.controller import CONFIG, HyperNodeController

RACKS: JsonObject = {
    "source": "label",
    "enabled": True,
    "config": {
        "networkTopologyTypes": {
            "Ether_Net": [
                {"nodeLabel": "zone"},
                {"nodeLabel": "rack"},
                {"nodeLabel": "kubernetes.io/hostname"},
            ]
        }
    },
}


def fabric(source: str, **more: JsonValue) -> JsonObject:
    """An entry for a source that asks a server."""
    entry: JsonObject = {
        "source": source,
        "enabled": True,
        "credentials": {"secretRef": {"name": "fabric", "namespace": "net"}},
        "config": {"endpoint": "fabric.example/"},
    }
    return {**entry, **more}


def member(kind: str = "Node", **selector: JsonValue) -> JsonObject:
    return {"type": kind, "selector": dict(selector)}


def exact(name: str, kind: str = "Node") -> JsonObject:
    return member(kind, exactMatch={"name": name})


def pattern(text: str, kind: str = "Node") -> JsonObject:
    return member(kind, regexMatch={"pattern": text})


class Network(World):
    """Everything is at rest after each step."""

    def __init__(self) -> None:
        self.controller = HyperNodeController()
        super().__init__([self.controller])
        self.pages: dict[str, JsonValue | Outcome] = {}
        self.asked: list[Fetch] = []
        self.page = self._answer

    def node(self, name: str, **labels: str) -> None:
        self.put(NODES, {"metadata": {"name": name, "labels": dict(labels)}})
        self.settle()

    def hypernode(self, name: str, *members: JsonObject, tier: int = 1, **labels: str) -> None:
        metadata: JsonObject = {"name": name, "labels": dict(labels)}
        self.put(HYPERNODES, {"metadata": metadata, "spec": {"tier": tier, "members": list(members)}})
        self.settle()

    def configure(self, *entries: JsonObject, text: str = "", rest: bool = True) -> None:
        conf = text or yaml.safe_dump({"networkTopologyDiscovery": list(entries)})
        namespace, name = CONFIG
        metadata: JsonObject = {"name": name, "namespace": namespace}
        self.put(CONFIGMAPS, {"metadata": metadata, "data": {"volcano-controller.conf": conf}})
        if rest:
            self.settle()

    def secret(self, **data: str) -> None:
        encoded: JsonObject = {key: base64.b64encode(text.encode()).decode() for key, text in data.items()}
        self.put(SECRETS, {"metadata": {"name": "fabric", "namespace": "net"}, "data": encoded})

    def count(self, name: str) -> JsonValue:
        return raw.at(self.objects[HYPERNODES, "", name], "status", "nodeCount")

    def tree(self) -> dict[str, list[str]]:
        """HyperNode -> names of its members."""
        return {
            raw.name(each): [
                raw.text(m, "selector", "exactMatch", "name") for m in raw.tables(each, "spec", "members")
            ]
            for each in self.list(HYPERNODES)
        }

    def restart(self) -> None:
        """Another controller takes over: it knows what the lists tell it."""
        self.controller = HyperNodeController()
        self.controllers = [self.controller]
        self.queue.clear()
        self.waiting.clear()
        self.replay(NODES, HYPERNODES, CONFIGMAPS)
        self.settle()

    def _answer(self, effect: Fetch) -> Outcome:
        self.asked.append(effect)
        page = self.pages.get(effect.url)
        if page is None:
            return Outcome(False, status=404, message=f"{effect.url} answered with status 404")
        return page if isinstance(page, Outcome) else Outcome(body=json.dumps(page).encode())
