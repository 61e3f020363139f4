"""Cards: device configurations of the cluster, and pods on nodes that hold cards.

A ConfigMap counts when it has a `device-config.yaml`, as Volcano and HAMi's device plugin for it read the same one. Holders are
found by their annotations, pods of other schedulers included; nobody looks at pods that have none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import msgspec
import yaml

from vcray.api.devices import DEVICE_CONFIG_FILE, is_held
from vcray.api.jsonview import dig, dig_int, dig_list, dig_objects, dig_str
from vcray.api.meta import JsonObject, JsonValue
from vcray.cache.delta import Field
from vcray.cache.details.source import PODS, Kept, Source
from vcray.cache.podcolumns import HELD, LEAVING, SHAPE, PodColumns
from vcray.core.cards import (
    ASCEND_310P,
    CardTable,
    ChipConfig,
    ChipTemplate,
    DeviceConfig,
    Holder,
    MigGroup,
    MigInstance,
    MigModel,
    VgpuConfig,
)

if TYPE_CHECKING:
    from vcray.cache.state import State

KIND: Final = "ConfigMap"


class ConfigRow(msgspec.Struct, frozen=True, array_like=True):
    """What is kept of a ConfigMap: its device configuration, empty for all others."""

    name: str
    text: str


def read_config(data: JsonObject) -> ConfigRow:
    """The row of an object. Raises ValueError for a device configuration that cannot be read."""
    found = dig_str(data, "data", DEVICE_CONFIG_FILE)
    if found:
        parse(found)
    return ConfigRow(f"{dig_str(data, 'metadata', 'namespace')}/{dig_str(data, 'metadata', 'name')}", found)


def parse(text: str) -> DeviceConfig:
    """A `device-config.yaml`. Raises ValueError for what is no YAML map; fields of another type count as absent."""
    try:
        document: JsonValue = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(f"{DEVICE_CONFIG_FILE}: {error}") from error
    if not isinstance(document, dict):
        raise ValueError(f"{DEVICE_CONFIG_FILE}: must be a map")
    chips = dig(document, "vnpus")
    listed = chips if isinstance(chips, list) else dig_list(chips, "configs")
    return DeviceConfig(
        vgpu=_vgpu(document),
        chips=tuple(_chip(item) for item in listed if isinstance(item, dict)),
        soft_split=dig(chips, "hamiVnpuCore") is True,
    )


def _vgpu(document: JsonObject) -> VgpuConfig:
    known, section = VgpuConfig(), dig(document, "nvidia")
    return VgpuConfig(
        count=dig_str(section, "resourceCountName") or known.count,
        memory=dig_str(section, "resourceMemoryName") or known.memory,
        percentage=dig_str(section, "resourceMemoryPercentageName") or known.percentage,
        cores=dig_str(section, "resourceCoreName") or known.cores,
        memory_factor=max(1, dig_int(section, "gpuMemoryFactor", default=1)),
        geometries=tuple(
            MigModel(
                tuple(str(name) for name in dig_list(item, "models")),
                tuple(_group(group) for group in dig_objects(item, "allowedGeometries")),
            )
            for item in dig_objects(section, "knownMigGeometries")
        ),
    )


def _group(item: JsonObject) -> MigGroup:
    return MigGroup(
        dig_str(item, "group"),
        tuple(
            MigInstance(dig_str(part, "name"), dig_int(part, "memory"), dig_int(part, "count"))
            for part in dig_objects(item, "geometries")
        ),
    )


def _chip(item: JsonObject) -> ChipConfig:
    templates = [
        ChipTemplate(
            dig_str(part, "name"), dig_int(part, "memory"), dig_int(part, "aiCore"), dig_int(part, "aiCPU")
        )
        for part in dig_objects(item, "templates")
    ]
    return ChipConfig(
        word=dig_str(item, "commonWord") or ASCEND_310P.word,
        chip=dig_str(item, "chipName"),
        resource=dig_str(item, "resourceName"),
        memory_resource=dig_str(item, "resourceMemoryName"),
        memory_allocatable=dig_int(item, "memoryAllocatable"),
        memory_capacity=dig_int(item, "memoryCapacity"),
        cores=dig_int(item, "aiCore"),
        cpus=dig_int(item, "aiCPU"),
        templates=tuple(sorted(templates, key=lambda template: (template.memory, template.name))),
        core_resource=dig_str(item, "resourceCoreName"),
    )


def build_configs(state: State) -> CardTable | None:
    """All device configurations; None when there are none."""
    rows = state.knowledge.details.get(KIND, {}).values()
    found = {row.name: parse(row.text) for row in rows if isinstance(row, ConfigRow) and row.text}
    return CardTable(tuple(sorted(found.items()))) if found else None


def build_holders(state: State) -> tuple[Holder, ...] | None:
    """Pods on nodes that say which cards they hold, by name; None when there are none."""
    facts = [
        number
        for number, known in enumerate(state.facts.values)
        if known.notes and any(is_held(key) for key, _ in known.notes)
    ]
    if not facts:
        return None
    found = [
        _holder(state, table, row)
        for table in state.tables.values()
        for row in state.rows_with(table, Field.FACTS, facts)
        if table.data[HELD, row] >= 0
    ]
    return tuple(sorted(found, key=lambda holder: holder.pod)) or None


def _holder(state: State, table: PodColumns, row: int) -> Holder:
    strings = state.strings.values
    shape = int(table.data[SHAPE, row])
    return Holder(
        pod=table.keys[row],
        node=strings[int(table.data[HELD, row])],
        group=strings[int(table.data[Field.JOB, row])],
        leaving=bool(table.data[LEAVING, row]),
        notes=state.facts.values[int(table.data[Field.FACTS, row])].notes,
        labels=state.resolver.labels.item(int(table.data[Field.LABELS, row]))[1],
        asks=state.resolver.shapes.specs[shape].asks if shape >= 0 else (),
    )


KINDS: Final[Mapping[str, Kept]] = {KIND: Kept(ConfigRow, read_config)}
SOURCE: Final = Source("cards", KINDS, build_configs)
HOLDERS: Final = Source("holders", {}, build_holders, (PODS,))
