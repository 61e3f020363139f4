"""Nodes with cards and pods that share them, decided on whole: `placed(...)` is pod -> (node, annotations)."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tests.builders import Amount, node, pod, podgroup, queue
from vcray.actions.allocate import Allocate
from vcray.api.meta import JsonObject
from vcray.cache.cluster import snapshot_of
from vcray.core.policy import Policy, policy_of
from vcray.core.session import decide
from vcray.core.snapshot import Snapshot
from vcray.plugins.deviceshare import DeviceShare
from vcray.plugins.gang import Gang

NUMBER, MEMORY, CORES = "volcano.sh/vgpu-number", "volcano.sh/vgpu-memory", "volcano.sh/vgpu-cores"
PERCENT = "volcano.sh/vgpu-memory-percentage"
IDS = "volcano.sh/vgpu-ids-new"
MIG_CONFIG = """
nvidia:
  knownMigGeometries:
  - models: [A100-SXM4-80GB]
    allowedGeometries:
    - group: group1
      geometries:
      - {name: 1g.10gb, memory: 10240, count: 7}
    - group: group2
      geometries:
      - {name: 2g.20gb, memory: 20480, count: 3}
      - {name: 1g.10gb, memory: 10240, count: 1}
    - group: group3
      geometries:
      - {name: 7g.80gb, memory: 81920, count: 1}
"""


def vgpu_node(
    name: str = "n1",
    cards: int = 2,
    memory: int = 1000,
    kind: str = "NVIDIA-A30",
    mode: str = "hami-core",
    notes: Mapping[str, str] | None = None,
    slots: int = 10,
    ill: Collection[int] = (),
    **more: object,
) -> JsonObject:
    """A node of equal cards `name-0`, `name-1`, …; those in `ill` are unhealthy."""
    told = "".join(
        f"{name}-{i},{slots},{memory},{kind},{str(i not in ill).lower()},{mode}:" for i in range(cards)
    )
    resources: dict[str, Amount] = {NUMBER: slots * cards, MEMORY: memory * cards, CORES: 100 * cards}
    annotations = {"volcano.sh/node-vgpu-register": told, **(notes or {})}
    return node(name, resources=resources, annotations=annotations, **more)  # type: ignore[arg-type]


def vgpu_pod(name: str, memory: int | None = None, number: int | None = None, **more: object) -> JsonObject:
    """A pod of a group of its own (`group` for another) that asks for slices; `cores` and `percent` are further keys."""
    amounts = {
        NUMBER: number,
        MEMORY: memory,
        CORES: more.pop("cores", None),
        PERCENT: more.pop("percent", None),
    }
    resources = {key: amount for key, amount in amounts.items() if amount is not None}
    return pod(name, group=str(more.pop("group", name)), cpu=1, memory=1, resources=resources, **more)  # type: ignore[arg-type]


def config_map(text: str) -> JsonObject:
    return {
        "kind": "ConfigMap",
        "metadata": {"name": "volcano-vgpu-device-config", "namespace": "kube-system"},
        "data": {"device-config.yaml": text},
    }


def policy(**arguments: object) -> Policy:
    """Gang and deviceshare; arguments without their prefix, vGPU on unless another kind is."""
    if not any(key.endswith("Enable") for key in arguments):
        arguments["VGPUEnable"] = True
    spelled = {f"deviceshare.{key}": value for key, value in arguments.items()}
    return policy_of([Allocate({})], [[(Gang, {}), (DeviceShare, spelled)]])


def world(*objects: JsonObject) -> Snapshot:
    """A snapshot; every group that a pod names and nobody made has a minimum of 1."""
    flat = list(objects)
    known = {item["metadata"]["name"] for item in flat if item["kind"] == "PodGroup"}  # type: ignore[index,call-overload]
    wanted = dict.fromkeys(
        item["metadata"]["annotations"]["scheduling.k8s.io/group-name"]  # type: ignore[index,call-overload]
        for item in flat
        if item["kind"] == "Pod"
        and "annotations" in item["metadata"]  # type: ignore[operator]
        and "scheduling.k8s.io/group-name" in item["metadata"]["annotations"]  # type: ignore[index,call-overload,operator]
    )
    groups = [
        podgroup(name, 1, phase="Inqueue", created=i) for i, name in enumerate(wanted) if name not in known
    ]
    return snapshot_of([*flat, *groups, queue("default")], 1_790_000_000.0, 7)


def placed(snapshot: Snapshot, rules: Policy) -> dict[str, tuple[str, dict[str, str]]]:
    decisions = decide(snapshot, rules)
    return {
        bind.task.partition("/")[2]: (bind.node, dict(bind.notes))
        for commit in decisions.commits
        for bind in commit.binds
    }


def cards_of(snapshot: Snapshot, rules: Policy) -> dict[str, str]:
    """Pod -> its cards as written, of pods that were placed."""
    return {name: notes.get(IDS, "") for name, (_, notes) in placed(snapshot, rules).items()}
