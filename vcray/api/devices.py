"""Annotations and labels by which schedulers and device plugins tell each other of cards.

Volcano's own for NVIDIA cards, HAMi's for Ascend chips (their names end in the type of chip), MindCluster's for 310P chips.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from vcray.api.names import (
    GPU_INDEX,
    NODE_NOTES,
    PINNED_CPUS,
    PLACEMENT_NOTES,
    POD_NOTES,
    VGPU_MODE,
)

# Node
VGPU_REGISTER: Final = "volcano.sh/node-vgpu-register"
GPU_UNHEALTHY: Final = "volcano.sh/gpu-unhealthy-ids"
HAMI_REGISTER_PREFIX: Final = "hami.io/node-register-"
HAMI_SCORE: Final = "hami.io/node-nvidia-score"
HAMI_SOFT_SPLIT: Final = "hami-vnpu-core"
CHIPS_UNHEALTHY: Final = "huawei.com/Ascend310P-Unhealthy"
SERVER_TYPE: Final = "servertype"  # label
DEVICE_CONFIG_FILE: Final = "device-config.yaml"  # key of the ConfigMap

# Pod, written with its binding
VGPU_IDS: Final = "volcano.sh/vgpu-ids-new"
VGPU_TO_ALLOCATE: Final = "volcano.sh/devices-to-allocate"
VGPU_NODE: Final = "volcano.sh/vgpu-node"
VGPU_TIME: Final = "volcano.sh/vgpu-time"
BIND_PHASE: Final = "volcano.sh/bind-phase"
BIND_TIME: Final = "volcano.sh/bind-time"
PREDICATE_TIME: Final = "volcano.sh/predicate-time"
HAMI_NODE: Final = "hami.io/vgpu-node"
HAMI_TIME: Final = "hami.io/vgpu-time"
HAMI_BIND_PHASE: Final = "hami.io/bind-phase"
HAMI_BIND_TIME: Final = "hami.io/bind-time"
HAMI_PREDICATE_TIME: Final = "predicate-time"
NPU_CORE: Final = "huawei.com/npu-core"  # also the resource
ALLOCATING: Final = "allocating"

# Pod, written by users
USE_TYPE: Final = "nvidia.com/use-gputype"
NO_USE_TYPE: Final = "nvidia.com/nouse-gputype"
USE_UUID: Final = "volcano.sh/vgpu-use-gpuuuid"
NO_USE_UUID: Final = "volcano.sh/vgpu-nouse-gpuuuid"
GROUP_POLICY: Final = "volcano.sh/vgpu-podgroup-policy"
VNPU_MODE: Final = "huawei.com/vnpu-mode"
VNPU_LEVEL: Final = "vnpu-level"  # label
VNPU_DVPP: Final = "vnpu-dvpp"  # label

NODE_KEYS: Final = (*NODE_NOTES, VGPU_REGISTER, GPU_UNHEALTHY, HAMI_SCORE, HAMI_SOFT_SPLIT, CHIPS_UNHEALTHY)
POD_KEYS: Final = (
    *POD_NOTES,
    VGPU_IDS,
    GPU_INDEX,
    NPU_CORE,
    BIND_PHASE,
    BIND_TIME,
    HAMI_BIND_PHASE,
    HAMI_BIND_TIME,
    PINNED_CPUS,
)
PLACEMENT_KEYS: Final = (
    *PLACEMENT_NOTES, VGPU_MODE, USE_TYPE, NO_USE_TYPE, USE_UUID, NO_USE_UUID, GROUP_POLICY, VNPU_MODE, VNPU_LEVEL, VNPU_DVPP,
)  # fmt: skip
HELD_KEYS: Final = frozenset((VGPU_IDS, GPU_INDEX, NPU_CORE))
"""Annotations that say which cards a pod holds, HAMi's for chips beside them."""


def hami_allocated(word: str) -> str:
    """The annotation that says which chips of a type a pod holds."""
    return f"hami.io/{word}-devices-to-allocate"


def is_chip_note(key: str) -> bool:
    """An annotation of HAMi about Ascend chips, on a node or a pod; it bears the type of chip in its name."""
    return key.startswith("hami.io/") and (
        key.startswith(HAMI_REGISTER_PREFIX) or key.endswith("-devices-to-allocate")
    )


def is_pod_note(key: str) -> bool:
    """Is an annotation that comes with a binding read again of the pod?"""
    return key in POD_KEYS or is_chip_note(key)


def is_held(key: str) -> bool:
    """Does an annotation of a pod say which cards it holds?"""
    return key in HELD_KEYS or is_chip_note(key)


def chip_notes(annotations: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Annotations of HAMi about Ascend chips."""
    if not any(key.startswith("hami.io/") for key in annotations):
        return ()
    return tuple((key, value) for key, value in annotations.items() if is_chip_note(key))
