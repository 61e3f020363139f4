"""Groups of KubeRay's sample objects: those of its own plugin, and ours where it makes none."""

from __future__ import annotations

import pytest

from tests.controllers.world import World
from tests.integrations.kuberay.goldens import RESOURCES, ROWS, amounts, golden
from vcray.api import names
from vcray.cluster.operators.table import STAND_INS
from vcray.controllers import raw
from vcray.integrations.keeping import GroupKeeper
from vcray.integrations.kuberay.raycluster import RayCluster
from vcray.integrations.kuberay.rayjob import RayJob
from vcray.integrations.kuberay.rayservice import RayService

KUBERAY = STAND_INS["kuberay"].makes


def only_group(world, obj):
    """The PodGroup that an object has, and the group's name but for what was generated."""
    world.put(RESOURCES[obj["kind"]], obj)
    world.settle()
    (group,) = world.podgroups()
    return group


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["case"])
def test_the_plugin_says_of_a_sample_what_kuberay_says(row):
    world = World([make("volcano") for make in KUBERAY])

    group = only_group(world, golden(row))

    assert group["spec"]["minMember"] == row["plugin"]["minMember"]
    assert amounts(group["spec"]["minResources"]) == amounts(row["plugin"]["minResources"])
    assert names.MANAGED_BY not in raw.labels_of(group)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["case"])
def test_a_group_made_here_says_the_same_or_what_the_pods_take(row):
    world = World([*(make("") for make in KUBERAY), GroupKeeper([RayCluster(), RayJob(), RayService()])])
    obj = golden(row)
    obj["metadata"]["labels"] = {**obj["metadata"]["labels"], names.QUEUE_NAME: "q"}
    wanted = row.get("ours", row["plugin"])

    group = only_group(world, obj)

    spec = group["spec"]
    assert spec["minMember"] == wanted["minMember"] == sum(spec["minTaskMember"].values())
    assert amounts(spec["minResources"], zeros=False) == amounts(wanted["minResources"], zeros=False)
    units = [
        {key: each[key] for key in ("name", "subGroupSize", "minSubGroups")}
        for each in spec.get("subGroupPolicy", ())
    ]
    assert units == row.get("subGroups", [])
