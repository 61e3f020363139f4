"""Sub-groups in racks against a scalar walk: which racks they get, one turn after the other."""

from __future__ import annotations

import random

import pytest

from tests.core.test_near import configured
from tests.core.world import Job, Node, Pod, snapshot
from vcray.core.details import Details
from vcray.core.hypernodes import HyperNodeTable
from vcray.core.session import decide
from vcray.core.snapshot import Snapshot
from vcray.core.tables import MISSING, Closeness, Status, SubGroupPolicy


class Walk:
    """One job whose sub-groups must each be in one rack; a node takes one pod. Volcano's loop, told plainly,
    but that a group which no rack holds whole may start where its minimum fits."""

    def __init__(self, racks: dict[str, list[bool]], groups: dict[str, int], size: int, least: int) -> None:
        self.idle = {rack: nodes.count(True) for rack, nodes in racks.items()}
        self.frozen = dict(self.idle)
        self.nodes = {rack: len(nodes) for rack, nodes in racks.items()}
        self.left = dict(groups)
        self.total = dict(groups)
        self.size, self.least = size, least
        self.rack: dict[str, str] = {}
        self.placed = dict.fromkeys(groups, 0)

    def whole(self) -> int:
        return sum(placed >= self.size for placed in self.placed.values())

    def rating(self, rack: str, group: str) -> float:
        after = self.nodes[rack] - self.idle[rack] + self.total[group]
        return after / self.nodes[rack] if after <= self.nodes[rack] else 0.0

    def place(self, group: str) -> bool:
        """Until the group is whole; of a whole one, one more pod."""
        need = max(1, self.size - self.placed[group])
        if group in self.rack:
            racks = [self.rack[group]]
        else:
            racks = [rack for rack in self.idle if self.frozen[rack] >= self.left[group]]
            least = min(self.size, self.left[group])
            racks = racks or [rack for rack in self.idle if self.frozen[rack] >= least]
        racks = [rack for rack in racks if self.idle[rack] >= need and need <= self.left[group]]
        if not racks:
            return False
        rack = min(racks, key=lambda rack: (-self.rating(rack, group), rack))
        self.rack[group] = rack
        self.idle[rack] -= need
        self.placed[group] += need
        self.left[group] -= need
        return True

    def turn(self) -> bool:
        """True when the job starts or has grown."""
        before = (dict(self.idle), dict(self.placed), dict(self.left), dict(self.rack))
        waiting = [group for group in self.left if self.left[group]]
        missing = sorted(group for group in waiting if self.placed[group] < self.size)
        required = missing[: max(0, self.least - self.whole())]
        grown = False
        while waiting:
            group = min(
                waiting, key=lambda each: (each not in required, self.placed[each] >= self.size, each)
            )
            waiting.remove(group)
            if self.place(group):
                grown = True
                if self.left[group]:
                    waiting.append(group)
            else:
                self.left[group] = 0
            if self.whole() >= self.least:
                break
        if not grown or self.whole() < self.least:
            self.idle, self.placed, self.left, self.rack = before
            return False
        for group in self.left:
            if group not in waiting:
                self.left[group] = 0
        return True


def world_of(racks: dict[str, list[bool]], groups: dict[str, int], size: int, least: int) -> Snapshot:
    nodes = [Node(f"{rack}-{i}", cpu=2, mem=999) for rack, free in racks.items() for i in range(len(free))]
    taken = [
        Pod(f"t-{rack}-{i}", cpu=2, status=Status.RUNNING, node=f"{rack}-{i}")
        for rack, free in racks.items()
        for i, is_free in enumerate(free)
        if not is_free
    ]
    pods = [
        Pod(f"{group}-{i}", cpu=2, labels={"part": group})
        for group, count in groups.items()
        for i in range(count)
    ]
    names = tuple(sorted(racks))
    table = HyperNodeTable(
        names=names,
        tiers=(1,) * len(names),
        parents=(MISSING,) * len(names),
        members=tuple(tuple(f"{rack}-{i}" for i in range(len(racks[rack]))) for rack in names),
    )
    policy = SubGroupPolicy("p", (), ("part",), size, least, Closeness(soft=False, tier=1))
    jobs = [Job("taken", taken, least=0), Job("near", pods, least=0, subgroups=(policy,))]
    return snapshot(nodes, jobs, details=Details(hypernodes=table))


@pytest.mark.parametrize("seed", range(120))
def test_sub_groups_get_the_racks_that_a_plain_walk_gives_them(seed: int) -> None:
    rng = random.Random(seed)
    racks = {
        f"r{i}": [rng.random() < 0.7 for _ in range(rng.randrange(1, 5))] for i in range(rng.randrange(1, 6))
    }
    size = rng.randrange(1, 4)
    groups = {f"g{i}": rng.randrange(1, 5) for i in range(rng.randrange(1, 5))}
    least = rng.randrange(1, len(groups) + 1)
    walk = Walk(racks, groups, size, least)
    while any(walk.left.values()) and walk.turn():
        pass

    seats: dict[str, list[str]] = {}
    for commit in decide(world_of(racks, groups, size, least), configured()).commits:
        for bind in commit.binds:
            group = bind.task.removeprefix("ns/").partition("-")[0]
            seats.setdefault(group, []).append(bind.node.partition("-")[0])

    expected = {group: [walk.rack[group]] * placed for group, placed in walk.placed.items() if placed}
    assert seats == expected, (racks, groups, size, least)
