"""Random small clusters with HyperNodes, and gangs that must or should be near, from one integer."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np

from tests.core.random_worlds import ending_snapshot, preferring_snapshot, random_snapshot
from vcray.core.details import Details
from vcray.core.hypernodes import HyperNodeTable
from vcray.core.snapshot import Snapshot
from vcray.core.tables import MISSING, Closeness, SubGroupPolicy


def random_tree(rng: random.Random, nodes: list[str], overlap: bool = False) -> HyperNodeTable:
    """Leaves of a few nodes, some of them in none; one or two tiers above. With `overlap` nodes are in several leaves."""
    shuffled = rng.sample(nodes, len(nodes))
    leaves: list[tuple[str, ...]] = []
    while shuffled:
        size = rng.randrange(1, 5)
        taken, shuffled = shuffled[:size], shuffled[size:]
        if rng.random() < 0.9:
            leaves.append(tuple(sorted({*taken, *(rng.sample(nodes, 1) if overlap else ())})))
    names = [f"leaf-{i}" for i in range(len(leaves))]
    tiers = [1] * len(leaves)
    parents = [MISSING] * len(leaves)
    members = list(leaves)
    row = list(range(len(leaves)))
    for tier in range(2, 2 + rng.randrange(3)):
        above: list[int] = []
        while row:
            size = rng.randrange(1, 4)
            children, row = row[:size], row[size:]
            above.append(len(names))
            for child in children:
                parents[child] = len(names)
            names.append(f"t{tier}-{len(names)}")
            tiers.append(tier)
            parents.append(MISSING)
            members.append(())
        row = above
    order = sorted(range(len(names)), key=names.__getitem__)
    place = {old: new for new, old in enumerate(order)}
    return HyperNodeTable(
        names=tuple(names[i] for i in order),
        tiers=tuple(tiers[i] for i in order),
        parents=tuple(MISSING if parents[i] == MISSING else place[parents[i]] for i in order),
        members=tuple(members[i] for i in order),
        tier_names=tuple((f"tier-{tier}", tier) for tier in sorted(set(tiers))),
    )


def random_closeness(rng: random.Random) -> Closeness | None:
    roll = rng.random()
    if roll < 0.3:
        return None
    if roll < 0.5:
        return Closeness(soft=True, tier=None)
    if roll < 0.6:
        return Closeness(soft=False, tier=None, tier_name=rng.choice(("tier-1", "tier-2", "nowhere")))
    return Closeness(soft=False, tier=rng.randrange(1, 4))


def near_snapshot(seed: int, groups: bool = True) -> Snapshot:
    """One of the random clusters of `random_worlds`, with HyperNodes and jobs that care."""
    rng = random.Random(seed * 7919 + 1)
    base = rng.choice((random_snapshot, preferring_snapshot, ending_snapshot))(seed)
    tree = random_tree(rng, list(base.nodes.names), overlap=rng.random() < 0.2)
    sizes = (2, 3)
    labels = tuple((("group", str(i)),) for i in range(4))
    place = np.array([rng.randrange(4) for _ in range(len(base.tasks))], dtype=np.int32)
    closeness, policies = [], []
    for name in base.jobs.names:
        own = None if name.endswith(("run", "held")) else random_closeness(rng)
        closeness.append(own)
        grouped = groups and not name.endswith(("run", "held")) and rng.random() < 0.4
        policies.append(
            (SubGroupPolicy("g", (), ("group",), rng.choice(sizes), rng.randrange(3), random_closeness(rng)),)
            if grouped
            else ()
        )
    return replace(
        base,
        details=Details(hypernodes=tree),
        tasks=replace(base.tasks, labels=place),
        label_sets=labels,
        jobs=replace(base.jobs, closeness=tuple(closeness), subgroups=tuple(policies)),
    )
