"""Volumes as placement sees them: claims, volumes, classes and what drivers say of free storage, all by name.

Rules are those of Kubernetes: the API reference of PersistentVolume, StorageClass, CSINode, CSIDriver and CSIStorageCapacity.
Sizes are bytes. A volume belongs to the claim of its `claim` field; `Storage.promised` are those that a decision has given
away and the API server does not show yet, so that no other claim gets them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import msgspec

from vcray.core.tables import NodeTerm, Requirement

ONE_POD: Final = "ReadWriteOncePod"
NO_PROVISIONER: Final = ("", "kubernetes.io/no-provisioner")
"""Provisioners that make no volume: somebody makes them by hand."""


class Volume(msgspec.Struct, frozen=True, array_like=True):
    """A PersistentVolume. `nodes`: required node affinity, None for everywhere; `zones`: (topology label, allowed values);
    `claim` is `namespace/name` of its claimRef; `driver` its CSI driver."""

    name: str
    size: int = 0
    access_modes: tuple[str, ...] = ()
    mode: str = "Filesystem"
    storage_class: str = ""
    attributes_class: str = ""
    nodes: tuple[NodeTerm, ...] | None = None
    labels: tuple[tuple[str, str], ...] = ()
    zones: tuple[tuple[str, tuple[str, ...]], ...] = ()
    claim: str = ""
    claim_uid: str = ""
    available: bool = False
    deleting: bool = False
    driver: str = ""


class Drivers(msgspec.Struct, frozen=True, array_like=True):
    """A CSINode: (driver, how many volumes it can attach there, None when it does not say)."""

    node: str
    drivers: tuple[tuple[str, int | None], ...] = ()


class Driver(msgspec.Struct, frozen=True, array_like=True):
    """A CSIDriver. `publishes`: it tells free storage by CSIStorageCapacity objects."""

    name: str
    publishes: bool = False


class Capacity(msgspec.Struct, frozen=True, array_like=True):
    """A CSIStorageCapacity. `largest`: the largest volume that can be made there, None when unknown; `topology` None: nowhere."""

    key: str
    storage_class: str
    largest: int | None = None
    topology: tuple[Requirement, ...] | None = None


class ClaimRow(NamedTuple):
    """A PersistentVolumeClaim. `phase` is its status; `deleting` when it is about to go; `completed`: a controller has said
    that the binding is done; `selector`: labels of volumes that it wants, None for any; `selected`: the node that a
    provisioner was told already."""

    key: str
    phase: str
    storage_class: str
    volume: str
    deleting: bool
    uid: str = ""
    size: int = 0
    access_modes: tuple[str, ...] = ()
    mode: str = "Filesystem"
    attributes_class: str = ""
    selector: tuple[Requirement, ...] | None = None
    selected: str = ""
    completed: bool = False

    @property
    def bound(self) -> bool:
        """Has it its volume for good?"""
        return self.phase == "Bound" or (bool(self.volume) and self.completed)


class StorageClassRow(NamedTuple):
    """A StorageClass. `waits`: volumes are bound once a pod has a node; `topologies`: where it makes volumes, any of these
    terms of (label, values), empty for everywhere; `driver` names a CSI driver other than the provisioner."""

    name: str
    waits: bool
    provisioner: str = ""
    topologies: tuple[tuple[tuple[str, tuple[str, ...]], ...], ...] = ()
    driver: str = ""

    @property
    def provisions(self) -> bool:
        """Does anybody make volumes of this class on demand?"""
        return self.provisioner not in NO_PROVISIONER


@dataclass(frozen=True, slots=True)
class Storage:
    """All of it, by name. `capacities` by storage class, only of
    drivers that publish them (`publishing`); `promised`: volume -> claim."""

    claims: Mapping[str, ClaimRow] = field(default_factory=dict)
    volumes: Mapping[str, Volume] = field(default_factory=dict)
    classes: Mapping[str, StorageClassRow] = field(default_factory=dict)
    capacities: Mapping[str, tuple[Capacity, ...]] = field(default_factory=dict)
    publishing: tuple[str, ...] = ()
    promised: Mapping[str, str] = field(default_factory=dict)
