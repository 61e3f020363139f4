"""Which families of cards a configuration switches on, and what their pods are charged."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from vcray.api.devices import GROUP_POLICY, VGPU_REGISTER
from vcray.core.arrays import Int
from vcray.core.cards import DeviceConfig, VgpuConfig
from vcray.core.snapshot import Snapshot
from vcray.core.tables import ShapeSpec
from vcray.plugins.deviceshare.arguments import SPREAD, DeviceShareArgs
from vcray.plugins.deviceshare.ascend import AscendChips
from vcray.plugins.deviceshare.gpushare import GpuShare
from vcray.plugins.deviceshare.mindcluster import MindCluster
from vcray.plugins.deviceshare.table import Family
from vcray.plugins.deviceshare.vgpu import (
    PROFILE,
    Vgpu,
    by_share,
    charges_of,
    instances_in,
    slices_of,
)
from vcray.plugins.deviceshare.wire import registered


def families(args: DeviceShareArgs, config: DeviceConfig) -> list[Family[Any]]:
    """The families that are switched on, in Volcano's order."""
    found: list[Family[Any]] = []
    if args.vgpu:
        found.append(_vgpu(config.vgpu, args.policy))
    if args.gpu_sharing or args.gpu_number:
        found.append(GpuShare(by_memory=args.gpu_sharing))
    if args.mindcluster:
        found.append(MindCluster())
    if args.ascend:
        found += [AscendChips(chip, args.policy, config.soft_split) for chip in config.chips]
    return found


@lru_cache(maxsize=64)
def _vgpu(config: VgpuConfig, policy: str) -> Vgpu:
    """One object for equal configurations, so that what is remembered of it outlives a session; it has no state."""
    return Vgpu(config, policy)


def uses_groups(spec: ShapeSpec) -> bool:
    """Does it matter to the pod which PodGroup others on its cards belong to?"""
    return dict(spec.notes).get(GROUP_POLICY) == SPREAD


def charges(
    args: DeviceShareArgs, config: DeviceConfig, snapshot: Snapshot, spec: ShapeSpec
) -> Mapping[str, int]:
    """What a pod is charged, by resource, in whole units; resources that nobody lists and no card knows stay as they are."""
    found: dict[str, int] = {}
    if args.vgpu and slices_of(spec, config.vgpu):
        found |= charges_of(spec, config.vgpu, largest(snapshot) if by_share(spec, config.vgpu) else 0)
    if args.ascend:
        named = {name for ask in spec.asks for name, _ in ask.amounts}
        found |= dict.fromkeys(
            (chip.memory_resource for chip in config.chips if chip.memory_resource in named), 0
        )
    return found


def offers(config: DeviceConfig, snapshot: Snapshot) -> dict[str, Int]:
    """Instances of MIG profiles that pods ask for by name and partitioned cards can still make: milli of each, by node."""
    wanted = {
        name
        for spec in snapshot.shapes
        for ask in spec.asks
        for name, _ in ask.amounts
        if name.startswith(PROFILE)
    }
    found: dict[str, Int] = {}
    texts = [dict(notes).get(VGPU_REGISTER, "") for notes in snapshot.nodes.notes] if wanted else []
    for name in sorted(wanted):
        profile = name.removeprefix(PROFILE)
        counts = [instances_in(text, config.vgpu, profile) if text else 0 for text in texts]
        if any(counts):
            found[name] = np.array(counts, dtype=np.int64) * 1000
    return found


def largest(snapshot: Snapshot) -> int:
    """Memory of the largest card of the cluster."""
    texts = {text for notes in snapshot.nodes.notes for key, text in notes if key == VGPU_REGISTER}
    return max((card.memory for text in texts for card in registered(text)), default=0)
