"""The smallest free volume a node reaches, kept up to date, is what a fresh look finds; likewise for counted devices."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from tests.builders import claim, node, pod, podgroup, volume
from tests.plugins.test_devices import device, device_class, exactly, resource_claim, slice_of, users
from tests.plugins.worlds import World
from vcray.core.storage import Volume
from vcray.plugins.predicates.device_choice import Search, enough, plain
from vcray.plugins.predicates.device_places import DevicePlaces
from vcray.plugins.predicates.device_use import Use
from vcray.plugins.predicates.free_volumes import NOWHERE, FreeVolumes
from vcray.plugins.predicates.volume_nodes import VolumeNodes


def looked_up(volumes: tuple[Volume, ...], nodes: VolumeNodes, owner: dict[str, str]) -> list[int]:
    found = []
    for row in range(nodes.count):
        free = (n for n, v in enumerate(volumes) if v.name not in owner and nodes.reaches(v, row))
        found.append(next(free, NOWHERE))
    return found


@pytest.mark.parametrize("seed", range(20))
def test_volumes_that_change_hands_leave_the_smallest_free_one_on_each_node(seed: int) -> None:
    random = Random(seed)
    hosts = [node(f"n{i}", labels={"topology.kubernetes.io/zone": f"z{i % 3}"}) for i in range(30)]
    disks = []
    for number in range(40):
        where = random.choice(["node", "node", "zone", "anywhere"])
        local = f"n{random.randrange(30)}" if where == "node" else None
        zone = f"z{random.randrange(3)}" if where == "zone" else None
        disks.append(volume(f"pv{number:02}", size=f"{random.randint(1, 5)}Gi", node=local, zone=zone))
    world = World(*hosts, disks, claim("c"), podgroup("g", 1), pod("p", group="g", claims=["c"]))
    storage = world.snapshot.details.storage
    assert storage is not None
    nodes = VolumeNodes(world.snapshot.nodes, storage)
    volumes = tuple(sorted(storage.volumes.values(), key=lambda each: (each.size, each.name)))
    owner: dict[str, str] = {}
    journal: list[str] = []
    free = FreeVolumes(volumes, nodes, owner, journal)
    for _ in range(60):
        for name in random.sample([each.name for each in volumes], random.randint(0, 3)):
            if owner.pop(name, None) is None:
                owner[name] = "somebody"
            journal.append(name)
        assert free.chosen().tolist() == looked_up(volumes, nodes, owner)


@pytest.mark.parametrize("seed", range(20))
def test_counting_free_devices_tells_what_a_search_tells(seed: int) -> None:
    random = Random(seed)
    models = [device(f"d{i}", model=random.choice("AB")) for i in range(6)]
    selector = 'device.attributes["gpu.example.com"].model == "A"'
    wanted = resource_claim("c", exactly("gpu", selector, count=random.randint(1, 4)))
    world = World(node("n1"), device_class(), slice_of("n1", *models), wanted, users("g", "c"))
    table = world.snapshot.details.devices
    assert table is not None
    units = DevicePlaces(world.snapshot.nodes, table).of(world.node("n1"))
    use = Use()
    for unit in units:
        if random.random() < 0.3:
            use.put(unit.id, unit.device, None)
    claims = [table.claims["default/c"]]
    ask = plain(claims)
    assert ask is not None
    found = Search(units, table.classes, use, {}).run(claims)
    assert enough(ask, table.classes["gpu"], units, use) is (found is not None)


def test_a_search_leaves_use_as_it_was() -> None:
    world = World(node("n1"), device_class(), slice_of("n1", "a", "b"), resource_claim("c"), users("g", "c"))
    table = world.snapshot.details.devices
    assert table is not None
    units = DevicePlaces(world.snapshot.nodes, table).of(world.node("n1"))
    use = Use()
    for _ in range(3):
        found = Search(units, table.classes, use, {}).run([table.claims["default/c"]])
        assert found is not None
        assert [each.unit.device.name for each in found["default/c"]] == ["a"]
    assert np.all([use.free(unit.id, unit.device, {}) for unit in units])
