"""usage's shadows follow pods that are placed many at a time exactly as they follow pods that are placed one by one."""

from __future__ import annotations

from random import Random

from tests.builders import gang, node, queue
from tests.plugins.test_usage import measured
from vcray.actions.allocate import Allocate
from vcray.api.meta import JsonObject
from vcray.cache.cluster import snapshot_of
from vcray.core.policy import policy_of
from vcray.core.session import decide
from vcray.core.snapshot import Snapshot
from vcray.plugins.binpack import Binpack
from vcray.plugins.gang import Gang
from vcray.plugins.nodeorder import Nodeorder
from vcray.plugins.usage import Usage


class OneByOne(Usage):
    """The same plugin, which asks for each pod on its own."""

    observes = False


def cluster(number: int) -> Snapshot:
    """A dozen measured nodes and a few gangs of equal pods, some too large."""
    dice = Random(number)
    objects: list[JsonObject] = [queue("default")]
    objects += [node(f"n{i}", cpu=dice.choice([4, 8, 16]), memory=dice.choice([16, 64])) for i in range(12)]
    for name in "abcdef":
        size = {"cpu": dice.choice(["500m", 1, 2]), "memory": dice.choice([None, 1, 4])}
        objects += gang(name, dice.choice([2, 5, 9, 30]), created=dice.randint(0, 9), **size)
    loads = [(f"n{i}", dice.uniform(0, 100), dice.uniform(0, 100)) for i in range(12) if dice.random() < 0.9]
    return measured(snapshot_of(objects, 1_790_000_000.0, number), *loads)


def test_batches_and_single_pods_go_to_the_same_nodes() -> None:
    placed = 0
    for number in range(60):
        snapshot, dice = cluster(number), Random(number)
        args = {
            "estimator": {"risk_threshold": dice.choice([0.3, 0.6]), "risk_factor": dice.choice([1, 1.5])}
        }
        others = [(Gang, {})] + [(kind, {}) for kind in (Binpack, Nodeorder) if dice.random() < 0.5]
        many = decide(snapshot, policy_of([Allocate({})], [[*others, (Usage, args)]]))
        single = decide(snapshot, policy_of([Allocate({})], [[*others, (OneByOne, args)]]))
        assert many == single, number
        placed += sum(len(commit.binds) for commit in many.commits)
    assert placed > 600
