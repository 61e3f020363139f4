"""Volcano's `numa-aware`: Guaranteed pods go where the kubelet's topology manager will admit them.

An exporter on each node tells its layout and free cpus in a Numatopology. A pod is put through the kubelet's own choice of cpus
before a node is given to it; what it would get is kept from others until the exporter lists it, and stands in its annotations:
`volcano.sh/topology-decision` as Volcano has it, `vcray.io/pinned-cpus` for the scheduler that comes after this one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np
from pydantic import Field

from vcray.api.names import NUMA_TOPOLOGY_POLICY, PINNED_CPUS, TOPOLOGY_DECISION
from vcray.core.arrays import Bool, BoolLike, Int
from vcray.core.hooks import DomainTerm, Reject, Scale
from vcray.core.numa import NumaNode, cpu_set, cpu_text
from vcray.core.plugin import Args, Plugin
from vcray.core.view import Rows, Shape, View
from vcray.plugins.numa_aware.layout import Layout, layout_of
from vcray.plugins.numa_aware.policies import NONE, admit

NO_LAYOUT = "node(s) had no static cpu manager or another topology policy"
NOT_ADMITTED = "node(s) could not give the cpus that the topology policy wants"


class NumaAwareArgs(Args):
    """`weight` of the score."""

    weight: int = Field(1, alias="weight")


class _Node:
    """Free cpus of a node: now, and once all that leaves is gone."""

    __slots__ = ("future", "held", "layout", "now", "policy")

    def __init__(self, told: NumaNode) -> None:
        self.layout: Layout = layout_of(told.places)
        self.policy = told.topology_policy
        self.now = cpu_set(told.free) & self.layout.all & ~self.layout.reserved(-(-told.reserved // 1000))
        self.held = {pod: cpu_set(cpus) for pod, cpus in told.holders}
        self.future = self.now


class _Want(NamedTuple):
    """What a shape needs: its policy (empty without one) and its containers' milli-cpu."""

    policy: str
    containers: tuple[int, ...]


class NumaAware(Plugin[NumaAwareArgs]):
    """Simulates cpu managers."""

    steady = True
    args_model = NumaAwareArgs

    def open(self, view: View) -> None:
        """Nodes with a static cpu manager; without any Guaranteed pod that wants cpus nothing is looked at."""
        self.nodes_: dict[int, _Node] = {}
        self.known_: dict[tuple[Layout, str, int, tuple[int, ...]], int | None] = {}
        self.widths_: dict[int, tuple[Int, dict[int, None]]] = {}
        self.size_ = len(view.snapshot.nodes)
        table = view.snapshot.details.numa
        if table is None or not any(shape.spec.pinned for shape in view.shapes):
            return
        row = {name: number for number, name in enumerate(view.snapshot.nodes.names)}
        for told in table.nodes:
            if told.name in row and told.cpu_policy == "static" and told.places:
                self.nodes_[row[told.name]] = _Node(told)
        for pinned in view.snapshot.details.pinned or ():
            node = self.nodes_.get(row.get(pinned.node, -1))
            if node is None:
                continue
            if pinned.pod not in node.held:
                node.held[pinned.pod] = cpu_set(pinned.cpus)
                node.now &= ~node.held[pinned.pod]
                node.future &= ~node.held[pinned.pod]
            if pinned.leaving:
                node.future |= node.held[pinned.pod]

    # ---- what a node would give ----

    def _want(self, shape: Shape) -> _Want | None:
        if not shape.spec.pinned:
            return None
        policy = dict(shape.spec.notes).get(NUMA_TOPOLOGY_POLICY, "")
        return _Want("" if policy == NONE else policy, shape.spec.pinned)

    def _gives(self, want: _Want, row: int, copies: int = 0) -> int | None:
        """Cpus that the pod would get beside all that stays; 0 where nobody looks at cpus, None where it is kept out."""
        node = self.nodes_.get(row)
        if node is None:
            return None if want.policy else 0
        if copies:
            return self._after(want, node, copies)
        return self._admitted(want, node, node.future)

    def _after(self, want: _Want, node: _Node, copies: int) -> int | None:
        free = node.future
        for _ in range(copies):
            given = self._admitted(want, node, free)
            if given is None:
                return None
            free &= ~given
        return self._admitted(want, node, free)

    def _admitted(self, want: _Want, node: _Node, free: int) -> int | None:
        if want.policy and (want.policy != node.policy or not free):
            return None
        if node.policy in ("", NONE):
            return 0
        key = (node.layout, node.policy, free, want.containers)
        if key not in self.known_:
            self.known_[key] = admit(node.layout, node.policy, free, want.containers)
        return self.known_[key]

    def node_filter(self, view: View, rows: Rows, shape: Shape) -> BoolLike | None:
        """Would the kubelet's topology manager admit the pod?"""
        want = self._want(shape)
        if want is None or (not self.nodes_ and not want.policy):
            return None
        index, copies = rows.index, rows.copies
        if isinstance(index, int):
            return self._gives(want, index, int(copies) if isinstance(copies, int) else 0) is not None
        counts = [0] * len(index) if copies is None else np.broadcast_to(copies, len(index)).tolist()
        found: Bool = np.array(
            [
                self._gives(want, row, count) is not None
                for row, count in zip(index.tolist(), counts, strict=True)
            ],
            dtype=np.bool_,
        )
        return found

    def why(self, view: View, shape: Shape) -> Iterator[Reject]:
        """Neither reason is one that an eviction cures, as in Volcano."""
        want = self._want(shape)
        if want is None:
            return
        size = len(view.snapshot.nodes)
        unfit = np.zeros(size, dtype=np.bool_)
        if want.policy:
            fit = [row for row, node in self.nodes_.items() if node.policy == want.policy and node.future]
            unfit[:] = True
            unfit[fit] = False
            yield Reject(unfit, NO_LAYOUT, False)
        kept_out = [row for row in range(size) if not unfit[row] and self._gives(want, row) is None]
        refused = np.zeros(size, dtype=np.bool_)
        refused[kept_out] = True
        yield Reject(refused, NOT_ADMITTED, False)

    def domain_terms(self, view: View, shape: Shape, candidates: Bool) -> list[DomainTerm]:
        """Fewer NUMA nodes are better, against the most that any candidate would use; for pods with a policy."""
        want = self._want(shape)
        if want is None or not want.policy or not self.args.weight:
            return []
        raw = self._widths(shape, want)
        return [DomainTerm(raw=raw, scale=Scale.REVERSED_MAX, weight=self.args.weight)]

    def _widths(self, shape: Shape, want: _Want) -> Int:
        """(N,) NUMA nodes that the pod would use on each node; only nodes that moved since the last look are asked again."""
        known = self.widths_.get(shape.row)
        if known is None:
            known = self.widths_[shape.row] = (
                np.zeros(self.size_, dtype=np.int64),
                dict.fromkeys(self.nodes_),
            )
        raw, stale = known
        if stale:
            raw = raw.copy()
            for row in stale:
                raw[row] = len(self.nodes_[row].layout.numas_of(self._gives(want, row) or 0))
            self.widths_[shape.row] = (raw, {})
        return raw

    def _moved(self, row: int) -> None:
        for _, stale in self.widths_.values():
            stale[row] = None

    def moves_itself(self, view: View, shape: Shape) -> bool:
        """Each pod takes cpus that the next one's score looks at."""
        want = self._want(shape)
        return want is not None and bool(want.policy)

    # ---- placing ----

    def reserves(self, view: View, shape: Shape) -> bool:
        """Guaranteed pods, where any node has a static cpu manager."""
        return bool(self.nodes_) and bool(shape.spec.pinned)

    def reserve(self, view: View, task: int, node: int, promised: bool) -> Callable[[], None] | str:
        """Take cpus for the pod, from what is free now or from what will be."""
        here, want = self.nodes_.get(node), self._want(view.shapes[int(view.snapshot.tasks.shape[task])])
        if here is None or want is None:
            return _nothing
        given = self._admitted(want, here, here.future if promised else here.future & here.now)
        if given is None:
            return NOT_ADMITTED
        pod = view.snapshot.tasks.names[task]
        return self._move(node, pod, given, here.now if promised else here.now & ~given, here.future & ~given)

    def release(self, view: View, task: int, node: int) -> Callable[[], None]:
        """The pod's cpus are free for promises from now on."""
        here, pod = self.nodes_.get(node), view.snapshot.tasks.names[task]
        cpus = 0 if here is None else here.held.get(pod, 0)
        if here is None or not cpus:
            return _nothing
        return self._move(node, pod, cpus, here.now, here.future | cpus)

    def _move(self, row: int, pod: str, cpus: int, now: int, future: int) -> Callable[[], None]:
        node = self.nodes_[row]
        before = (node.now, node.future, node.held.get(pod))
        node.now, node.future, node.held[pod] = now, future, cpus
        self._moved(row)

        def undo() -> None:
            node.now, node.future, held = before
            self._moved(row)
            if held is None:
                del node.held[pod]
            else:
                node.held[pod] = held

        return undo

    def bind_notes(self, view: View, task: int, node: int) -> Mapping[str, str]:
        """Cpus by NUMA node, and which they are."""
        here = self.nodes_.get(node)
        cpus = 0 if here is None else here.held.get(view.snapshot.tasks.names[task], 0)
        if here is None or not cpus:
            return {}
        numas = {str(numa): {"cpu": str(count)} for numa, count in here.layout.numas_of(cpus).items()}
        return {
            TOPOLOGY_DECISION: json.dumps({"numa": numas}, separators=(",", ":")),
            PINNED_CPUS: cpu_text(cpus),
        }


def _nothing() -> None:
    """Nothing was taken."""
