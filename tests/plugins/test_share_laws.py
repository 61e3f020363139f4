"""The laws of `check_plugin` on the plugins of queues, in clusters where their parts are in use: trees, node groups, limits."""

from __future__ import annotations

import random

import pytest

from tests.builders import GPU, node, pod, podgroup, queue
from vcray.api.meta import JsonObject
from vcray.cache.cluster import snapshot_of
from vcray.core.check import Violation, check_plugin
from vcray.core.plugin import Args, Plugin
from vcray.core.snapshot import Snapshot
from vcray.plugins.capacity import Capacity
from vcray.plugins.drf import Drf
from vcray.plugins.nodegroup import Nodegroup
from vcray.plugins.overcommit import Overcommit
from vcray.plugins.proportion import Proportion
from vcray.plugins.resourcequota import Resourcequota

TREE = {"enableHierarchy": True}
REQUIRED, PREFERRED = (f"{word}DuringSchedulingIgnoredDuringExecution" for word in ("required", "preferred"))


def cluster(number: int) -> Snapshot:
    """Nodes of two groups and a bare one; queues in two departments with a bit of everything; pods that run and wait."""
    dice = random.Random(number)
    groups = ["a", "b", ""]
    made: list[JsonObject] = [
        node(
            f"n{i}",
            cpu=dice.choice([4, 8]),
            memory=16,
            gpu=dice.choice([0, 4]),
            labels={"volcano.sh/nodegroup-name": groups[i % 3]} if groups[i % 3] else {},
        )
        for i in range(6)
    ]
    made += [queue("root"), queue("d0", parent="root", capability={"cpu": 20}), queue("d1", parent="root")]
    for i in range(4):
        notes = {
            "volcano.sh/hierarchy": f"root/d{i % 2}/q{i}",
            "volcano.sh/hierarchy-weights": f"1/2/{i + 1}",
        }
        if i == 3:
            notes["volcano.sh/nodegroup-resource-limits"] = '{"a": {"cpu": "3"}}'
        one = queue(
            f"q{i}",
            parent=f"d{i % 2}",
            priority=dice.choice([0, 0, 1]),
            deserved={"cpu": dice.randrange(1, 9), GPU: dice.randrange(3)},
            guarantee={"cpu": 1} if dice.random() < 0.3 else None,
            annotations=notes,
        )
        spec = one["spec"]
        assert isinstance(spec, dict)
        if i != 2:
            spec["affinity"] = {"nodeGroupAffinity": {REQUIRED: ["a"], PREFERRED: ["b"][: i % 2]}}
        made.append(one)
    for g in range(6):
        of, runs = f"q{g % 4}", dice.randrange(3)
        made.append(podgroup(f"g{g}", 1, queue=of, phase="Running" if runs else "Inqueue"))
        for p in range(4):
            seat = f"n{dice.randrange(6)}" if p < runs else None
            made.append(
                pod(
                    f"g{g}-{p}", group=f"g{g}", cpu=dice.choice([1, 2]), gpu=dice.choice([None, 1]), node=seat
                )
            )
    return snapshot_of(made, 1_790_000_000.0, number)


CASES: list[tuple[type[Plugin[Args]], dict[str, object]]] = [
    (Capacity, {}),
    (Capacity, TREE),
    (Capacity, {**TREE, "ancestorReclaimLevel": 1}),
    (Proportion, {}),
    (Overcommit, {}),
    (Resourcequota, {}),
    (Nodegroup, {}),
    (Nodegroup, {"strict": False, "enablePreferredOrder": True, **TREE}),
    (Drf, {}),
    (Drf, TREE),
]


@pytest.mark.parametrize(("plugin", "arguments"), CASES, ids=[f"{p.name}-{len(a)}" for p, a in CASES])
def test_plugins_of_queues_keep_all_laws(plugin: type[Plugin[Args]], arguments: dict[str, object]) -> None:
    args = plugin.args_model.model_validate(arguments)
    found: list[Violation] = []
    for number in range(6):
        found += check_plugin(plugin, args, cluster(number))
    if plugin is Drf and arguments:  # a charge moves all queues of a branch; `rekeys` says so
        found = [breach for breach in found if breach.law != 8]
    assert found == []
