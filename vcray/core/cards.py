"""What a cluster tells of its cards beside amounts: the device configuration, and which pods hold which cards.

Cards themselves stand in annotations of their nodes (`NodeTable.notes`). What a pod holds stands in its own annotations, as
the device plugins read it; pods of other schedulers are told here too, since they hold cards all the same.
"""

from __future__ import annotations

from dataclasses import dataclass

from vcray.core.tables import ContainerAsk, Notes


@dataclass(frozen=True, slots=True)
class MigInstance:
    """Instances of one profile that a partitioned card has: `memory` MiB each, `count` of them."""

    name: str
    memory: int
    count: int


@dataclass(frozen=True, slots=True)
class MigGroup:
    """One way to partition a card."""

    name: str
    instances: tuple[MigInstance, ...]


@dataclass(frozen=True, slots=True)
class MigModel:
    """Partitions that cards whose type contains one of `models` can take, in order of preference."""

    models: tuple[str, ...]
    groups: tuple[MigGroup, ...]


@dataclass(frozen=True, slots=True)
class VgpuConfig:
    """Section `nvidia`: names of the resources, and MIG geometries. An empty name is no resource.

    `memory_factor`: MiB that one unit of the memory resource stands for, where a card is partitioned."""

    count: str = "volcano.sh/vgpu-number"
    memory: str = "volcano.sh/vgpu-memory"
    percentage: str = "volcano.sh/vgpu-memory-percentage"
    cores: str = "volcano.sh/vgpu-cores"
    memory_factor: int = 1
    geometries: tuple[MigModel, ...] = ()


@dataclass(frozen=True, slots=True)
class ChipTemplate:
    """A part of an Ascend chip: memory in MiB, AI cores, AI cpus."""

    name: str
    memory: int
    cores: int = 0
    cpus: int = 0


@dataclass(frozen=True, slots=True)
class ChipConfig:
    """An entry of section `vnpus`: a type of Ascend chip. `templates` by memory, smallest first."""

    word: str
    chip: str
    resource: str
    memory_resource: str
    memory_allocatable: int
    memory_capacity: int
    cores: int
    cpus: int
    templates: tuple[ChipTemplate, ...]
    core_resource: str = ""


ASCEND_310P = ChipConfig(
    word="Ascend310P",
    chip="310P3",
    resource="huawei.com/Ascend310P",
    memory_resource="huawei.com/Ascend310P-memory",
    memory_allocatable=21527,
    memory_capacity=24576,
    cores=8,
    cpus=7,
    templates=(
        ChipTemplate("vir01", 3072, 1, 1),
        ChipTemplate("vir02", 6144, 2, 2),
        ChipTemplate("vir04", 12288, 4, 4),
    ),
)
"""The chip that is known without a configuration, as in Volcano."""


@dataclass(frozen=True, slots=True)
class DeviceConfig:
    """`device-config.yaml` of a ConfigMap; `soft_split`: chips may be split without templates everywhere (hamiVnpuCore)."""

    vgpu: VgpuConfig = VgpuConfig()
    chips: tuple[ChipConfig, ...] = (ASCEND_310P,)
    soft_split: bool = False


@dataclass(frozen=True, slots=True)
class Holder:
    """A pod on a node that holds cards. `notes` are its annotations, `asks` what its containers ask for, `group` its
    PodGroup (namespace/name) or empty, `leaving` when it terminates."""

    pod: str
    node: str
    group: str
    leaving: bool
    notes: Notes
    labels: Notes
    asks: tuple[ContainerAsk, ...]


@dataclass(frozen=True, slots=True)
class CardFigures:
    """A card for metrics: what pods hold of it; `pods`: (namespace/name, memory, cores) of each."""

    card: str
    memory_limit: int
    number: int = 0
    memory: int = 0
    cores: int = 0
    pods: tuple[tuple[str, int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class CardTable:
    """`configs`: (namespace/name, content) of ConfigMaps with a device configuration, by name."""

    configs: tuple[tuple[str, DeviceConfig], ...] = ()

    def config(self, namespace: str, name: str) -> DeviceConfig:
        """The configuration of that ConfigMap, Volcano's defaults when there is none."""
        return dict(self.configs).get(f"{namespace}/{name}", DeviceConfig())


NO_CARDS = CardTable()
