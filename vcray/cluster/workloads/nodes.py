"""Nodes whose kubelet falls silent: Ready becomes Unknown, taints follow the conditions.

A kubelet is alive as long as it renews its lease. A node that never had one is left alone: in tests and scenarios nodes are
often plain objects that nobody plays.
"""

from __future__ import annotations

from contextlib import suppress

import msgspec

from vcray.api.jsonview import dig, dig_objects, dig_str
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import LEASES, NODES
from vcray.cluster.workloads.base import Controller, Shared
from vcray.cluster.workloads.informers import Head, Informer
from vcray.kube.client import PatchType
from vcray.kube.errors import NotFound
from vcray.kube.events import NORMAL

GRACE_S = 40.0
LEASE_NAMESPACE = "kube-node-lease"
NOT_READY, UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
_PRESSURES = {
    "MemoryPressure": "node.kubernetes.io/memory-pressure",
    "DiskPressure": "node.kubernetes.io/disk-pressure",
    "PIDPressure": "node.kubernetes.io/pid-pressure",
}
_MANAGED = frozenset({NOT_READY, UNREACHABLE, UNSCHEDULABLE, *_PRESSURES.values()})
_NEVER_TOLD = "Kubelet stopped posting node status."


class _LeaseHead(msgspec.Struct, frozen=True, rename="camel", gc=False):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = "0"


class _LeaseSpec(msgspec.Struct, frozen=True, rename="camel", gc=False):
    lease_duration_seconds: int | None = None


class _Lease(msgspec.Struct, frozen=True, gc=False):
    metadata: _LeaseHead = _LeaseHead()
    spec: _LeaseSpec = _LeaseSpec()


class _Beat(msgspec.Struct, gc=False):
    """The last renewal of a node's lease that was seen here."""

    head: Head
    at: float
    grace_s: float


_leases = msgspec.json.Decoder(_Lease)


class NodeLifecycle(Controller):
    """Conditions and taints of nodes; the keys are their names."""

    name = "node-lifecycle-controller"

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self.nodes = shared.objects(NODES)
        self.beats: Informer[_Beat] = shared.keep(
            Informer(shared.client, LEASES, self._read, lambda beat: beat.head, namespace=LEASE_NAMESPACE)
        )
        self.nodes.on_change(self._node_changed)
        self.beats.on_change(self._beat)

    def _read(self, raw: msgspec.Raw) -> _Beat:
        lease = _leases.decode(raw)
        head = lease.metadata
        grace = max(GRACE_S, float(lease.spec.lease_duration_seconds or 0))
        return _Beat(
            Head(head.namespace, head.name, head.uid, int(head.resource_version), ""), self.time.now(), grace
        )

    def _node_changed(self, old: JsonObject | None, new: JsonObject | None) -> None:
        found = new or old
        if found is not None:
            self.queue.add(dig_str(found, "metadata", "name"))

    def _beat(self, old: _Beat | None, new: _Beat | None) -> None:
        if new is not None:
            self.queue.add_after(new.head.name, new.grace_s)

    async def reconcile(self, key: str) -> float | None:
        node = self.nodes.objects.get(key)
        if node is None:
            self.queue.forget(key)
            return None
        beat = self.beats.get(LEASE_NAMESPACE, key)
        left = None if beat is None else beat.at + beat.grace_s - self.time.now()
        if left is not None and left <= 0 and _ready(node) != "Unknown":
            await self._lose(node)
            node = self.nodes.objects.get(key, node)
        await self._taint(node)
        return left if left is not None and left > 0 else None

    async def _lose(self, node: JsonObject) -> None:
        """Nothing is known of the node any more."""
        now = self.shared.now()
        lost: list[JsonValue] = [
            {
                "type": kind,
                "status": "Unknown",
                "reason": "NodeStatusUnknown",
                "message": _NEVER_TOLD,
                "lastTransitionTime": now,
            }
            for kind in (*_PRESSURES, "Ready")
        ]
        name = dig_str(node, "metadata", "name")
        patch: JsonObject = {"status": {"conditions": lost}}
        with suppress(NotFound):
            self.nodes.put(await self.client.patch(NODES, None, name, patch, PatchType.STRATEGIC, "status"))
            await self.tell(node, NORMAL, "NodeNotReady", f"Node {name} status is now: NodeNotReady")

    async def _taint(self, node: JsonObject) -> None:
        """Bring the taints that follow from conditions and from a cordon up to date."""
        present = dig_objects(node, "spec", "taints")
        wanted = _wanted(node)
        kept = [each for each in present if each.get("key") not in _MANAGED]
        ours = {(dig_str(each, "key"), dig_str(each, "effect")): each for each in present if each not in kept}
        if set(ours) == wanted:
            return
        now = self.shared.now()
        made = [ours.get(pair) or _taint_of(*pair, now) for pair in sorted(wanted)]
        listed: list[JsonValue] = [*kept, *made]
        metadata: JsonObject = {"resourceVersion": dig_str(node, "metadata", "resourceVersion")}
        patch: JsonObject = {"metadata": metadata, "spec": {"taints": listed or None}}
        with suppress(NotFound):
            self.nodes.put(await self.client.patch(NODES, None, dig_str(node, "metadata", "name"), patch))


def _ready(node: JsonObject) -> str:
    return _status(node, "Ready")


def _status(node: JsonObject, kind: str) -> str:
    for condition in dig_objects(node, "status", "conditions"):
        if condition.get("type") == kind:
            return dig_str(condition, "status")
    return ""


def _wanted(node: JsonObject) -> set[tuple[str, str]]:
    """Keys and effects of the taints that a node should have. A node that tells nothing of Ready has none for it."""
    wanted: set[tuple[str, str]] = set()
    key = {"False": NOT_READY, "Unknown": UNREACHABLE}.get(_ready(node))
    if key:
        wanted |= {(key, "NoSchedule"), (key, "NoExecute")}
    if dig(node, "spec", "unschedulable") is True:
        wanted.add((UNSCHEDULABLE, "NoSchedule"))
    return wanted | {
        (taint, "NoSchedule") for kind, taint in _PRESSURES.items() if _status(node, kind) == "True"
    }


def _taint_of(key: str, effect: str, now: str) -> JsonObject:
    taint: JsonObject = {"key": key, "effect": effect}
    if effect == "NoExecute" or key == UNSCHEDULABLE:
        taint["timeAdded"] = now
    return taint
