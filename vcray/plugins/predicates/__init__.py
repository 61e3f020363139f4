"""Volcano's `predicates`: where a pod may go, by kube-scheduler's filters.

In their order: pods of a node, cordons, node selector and affinity, taints, host ports, affinity between pods, topology
spread, volumes. A pod whose claim is missing or never comes waits (`ShapeSpec.hold`). Resources, attachable volumes among
them, are the kernel's own test. Sentences are kube-scheduler's, so that tools that read them
keep working.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import ClassVar

import numpy as np
from pydantic import Field, JsonValue

from vcray.core.arrays import Bool, BoolLike, Int
from vcray.core.decisions import Preparation
from vcray.core.domains import DomainIndex
from vcray.core.hooks import DomainTerm, Reject
from vcray.core.plugin import Args, Plugin
from vcray.core.reserve import undo_all
from vcray.core.space import PODS
from vcray.core.view import Rows, Shape, View
from vcray.plugins.predicates import node_rules
from vcray.plugins.predicates.devices import Devices, joined
from vcray.plugins.predicates.pod_affinity import NO_RULES, PodAffinity
from vcray.plugins.predicates.topology_spread import TopologySpread
from vcray.plugins.predicates.volumes import Volumes

CROWDED = "node(s) pod number exceeded"
PORTS = "node(s) didn't have free ports for the requested pod ports"


class PredicatesArgs(Args):
    """Switches of single checks. Attachable volumes are resources, so `NodeVolumeLimitsEnable` has nothing to switch; masks are
    made once a session, so neither has `CacheEnable`; capacity of storage is not scored, so neither have its weight and shape."""

    moved: ClassVar[dict[str, tuple[str, str]]] = {
        f"predicate.{switch}": ("deviceshare", f"deviceshare.{switch}")
        for switch in ("GPUSharingEnable", "GPUNumberEnable", "VGPUEnable")
    }

    node_affinity: bool = Field(True, alias="predicate.NodeAffinityEnable")
    node_ports: bool = Field(True, alias="predicate.NodePortsEnable")
    taint_toleration: bool = Field(True, alias="predicate.TaintTolerationEnable")
    pod_affinity: bool = Field(True, alias="predicate.PodAffinityEnable")
    node_volume_limits: bool = Field(True, alias="predicate.NodeVolumeLimitsEnable")
    volume_zone: bool = Field(True, alias="predicate.VolumeZoneEnable")
    pod_topology_spread: bool = Field(True, alias="predicate.PodTopologySpreadEnable")
    volume_binding: bool = Field(True, alias="predicate.VolumeBindingEnable")
    dynamic_resources: bool = Field(False, alias="predicate.DynamicResourceAllocationEnable")
    cache: bool = Field(False, alias="predicate.CacheEnable")
    volume_weight: int = Field(1, alias="volumebinding.weight")
    volume_timeout: int = Field(600, alias="volumebinding.bindTimeoutSeconds")
    volume_shape: JsonValue = Field(None, alias="volumebinding.shape")
    device_timeout: int = Field(10, alias="dynamicresources.filterTimeoutSeconds")


class Predicates(Plugin[PredicatesArgs]):
    """kube-scheduler's filters over node masks, node rows and topology domains."""

    steady = True
    args_model = PredicatesArgs

    def open(self, view: View) -> None:
        """Index topology domains and the anti-affinity of running pods for this session."""
        nodes = view.snapshot.nodes
        domains = DomainIndex(nodes)
        args, storage = self.args, view.snapshot.details.storage
        self.volumes_ = None
        if storage is not None:
            self.volumes_ = Volumes(view, storage, args.volume_binding, args.volume_zone, args.volume_timeout)
        table = view.snapshot.details.devices
        self.devices_ = Devices(view, table) if table is not None else None
        self.affinity_ = PodAffinity(nodes, domains) if self.args.pod_affinity else None
        self.spread_ = TopologySpread(nodes, domains) if self.args.pod_topology_spread else None

    def node_static(self, view: View, shape: Shape) -> Bool | None:
        """Cordons, node selector and affinity, taints; nowhere for a pod on hold."""
        args = self.args
        return node_rules.allowed(view.snapshot.nodes, shape.spec, args.node_affinity, args.taint_toleration)

    def node_filter(self, view: View, rows: Rows, shape: Shape) -> BoolLike:
        """Room for one more pod, free host ports, and affinity rules of single nodes."""
        ok: BoolLike = rows.requested[PODS] < rows.allocatable[PODS]
        if shape.port_clashes and self.args.node_ports:
            for port in shape.port_clashes:
                ok = ok & (rows.port_count[port] == 0)
        if self.affinity_ is None or self.affinity_.rules(shape) is NO_RULES:
            return ok
        return self.affinity_.near(view, rows, shape, ok)

    def domain_terms(self, view: View, shape: Shape, candidates: Bool) -> Sequence[DomainTerm]:
        """Affinity between pods and topology spread, where they look beyond one node."""
        terms: list[DomainTerm] = []
        if self.affinity_ and (mask := self.affinity_.allowed(view, shape)) is not None:
            terms.append(DomainTerm(ok=mask))
        if self.spread_ and shape.spec.spread and (mask := self.spread_.allowed(view, shape)) is not None:
            terms.append(DomainTerm(ok=mask))
        if self.volumes_ and shape.spec.claims:
            terms.append(DomainTerm(ok=self.volumes_.fit(shape).ok))
        if self.devices_ and shape.spec.devices:
            terms.append(self.devices_.term(shape, candidates))
        return terms

    def moves_itself(self, view: View, shape: Shape) -> bool:
        """Anti-affinity to its own kind beyond a node, a spread constraint that counts its own kind, or volumes to choose."""
        return bool(
            (self.affinity_ and self.affinity_.moves_itself(shape))
            or (self.spread_ and self.spread_.moves_itself(shape))
            or self.reserves(view, shape)
        )

    def reserves(self, view: View, shape: Shape) -> bool:
        """Pods whose volumes are still to be chosen or may be used by one pod only, and pods with devices."""
        devices = self.devices_ is not None and bool(shape.spec.devices)
        return devices or bool(shape.spec.claims and self.volumes_ and self.volumes_.moves(shape))

    def reserve(self, view: View, task: int, node: int, promised: bool) -> Callable[[], None] | str:
        """Choose the volumes and devices that the pod gets on the node."""
        shape = view.shapes[int(view.snapshot.tasks.shape[task])]
        undos: list[Callable[[], None]] = []
        for part, claims in ((self.volumes_, shape.spec.claims), (self.devices_, shape.spec.devices)):
            if part is None or not claims:
                continue
            said = part.reserve(shape, node)
            if isinstance(said, str):
                undo_all(undos)
                return said
            undos.append(said)
        return lambda: undo_all(undos)

    def release(self, view: View, task: int, node: int) -> Callable[[], None]:
        """An evicted pod no longer uses its volume claims; its devices are free only once their claim says so."""
        shape = view.shapes[int(view.snapshot.tasks.shape[task])]
        if self.volumes_ is None or not shape.spec.claims:
            return lambda: None
        return self.volumes_.release(shape)

    def bind_notes(self, view: View, task: int, node: int) -> Mapping[str, str]:
        """None: what was chosen is written to claims and volumes."""
        return {}

    def bind_before(self, view: View, task: int, node: int) -> Preparation | None:
        """What must be written to the volumes and claims of a placed pod."""
        shape = view.shapes[int(view.snapshot.tasks.shape[task])]
        volumes = self.volumes_.before(shape) if self.volumes_ and shape.spec.claims else None
        return joined(volumes, self.devices_.before(shape) if self.devices_ else ())

    def valid_prefix(self, view: View, shape: Shape, nodes: Int) -> int:
        """All; one while the first pod of a series that wants its own kind near is yet to be placed."""
        return 1 if self.affinity_ and self.affinity_.starting(view, shape) else len(nodes)

    def why(self, view: View, shape: Shape) -> Iterator[Reject]:
        """kube-scheduler's reasons in its order of filters; a hold comes first and speaks for all nodes."""
        nodes, args = view.snapshot.nodes, self.args
        if shape.spec.hold:
            yield Reject(np.ones(len(nodes), dtype=bool), shape.spec.hold, curable=False)
            return
        yield Reject(view.nodes.requested[PODS] >= nodes.allocatable[PODS], CROWDED, curable=True)
        yield from node_rules.rejects(nodes, shape.spec, args.node_affinity, args.taint_toleration)
        if shape.port_clashes and args.node_ports:
            taken = view.nodes.port_count[list(shape.port_clashes)] > 0
            yield Reject(np.logical_or.reduce(taken, axis=0), PORTS, curable=True)
        if self.affinity_:
            yield from self.affinity_.rejects(view, shape)
        if self.spread_:
            yield from self.spread_.rejects(view, shape)
        if self.volumes_ and shape.spec.claims:
            yield from self.volumes_.rejects(shape)
        if self.devices_ and shape.spec.devices:
            yield from self.devices_.rejects(shape)
