"""Laws of row hooks: whole columns, some rows, one row of numbers and real placements all give the same bits."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tests.builders import GPU, node, pod, podgroup
from tests.plugins.worlds import World
from vcray.api.meta import JsonObject
from vcray.core.rows import Assumption, ManyRows, OneRow
from vcray.core.view import Shape
from vcray.plugins.binpack import Binpack
from vcray.plugins.nodeorder import Nodeorder
from vcray.plugins.predicates import Predicates

MANY = 24


def random_world(number: int) -> World:
    """Nodes of odd sizes, some without GPUs, in every second world some without cpu or memory; pods that half fill or
    overfill them, and a few pending shapes."""
    dice = random.Random(number)
    bare = [0] if number % 2 else []
    made: list[JsonObject] = []
    for i in range(MANY):
        made.append(
            node(
                f"n{i}",
                cpu=dice.choice([*bare, 1, 3, 7, 64]),
                memory=dice.choice([*bare, 1, 5, 13, 256]),
                gpu=dice.choice([None, 0, 3, 8]),
                pods=dice.choice([1, 2, 4, 110]),
                images={"train:1": dice.randint(1, 2**30)} if dice.random() < 0.5 else None,
            )
        )
        made += [
            pod(
                f"r{i}-{j}",
                node=f"n{i}",
                cpu=dice.choice([None, "100m", "333m", 1, 2]),
                memory=dice.choice([None, "100Mi", "1Gi", "3Gi"]),
                gpu=dice.choice([None, None, 1]),
                ports=dice.choice([(), (), (80,)]),
                labels={"app": dice.choice("ab")},
                spec=keeping_away() if dice.random() < 0.2 else None,
            )
            for j in range(dice.randint(0, 3))
        ]
    for j in range(4):
        made.append(podgroup(f"p{j}", 1))
        made.append(
            pod(
                f"p{j}",
                group=f"p{j}",
                cpu=dice.choice([None, "70m", 1, 3]),
                memory=dice.choice([None, "200Mi", "1Gi"]),
                gpu=dice.choice([None, 1, 2]),
                ports=dice.choice([(), (80,), (81,)]),
                labels={"app": dice.choice("ab")},
                spec=keeping_away() if dice.random() < 0.5 else None,
            )
        )
    return World(*made, seed=number)


def keeping_away() -> JsonObject:
    term: JsonObject = {
        "labelSelector": {"matchLabels": {"app": "a"}},
        "topologyKey": "kubernetes.io/hostname",
    }
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


WEIGHTS = {"binpack.resources": GPU, f"binpack.resources.{GPU}": 3, "binpack.cpu": 2}


class Hooks:
    """The row hooks of all plugins in one answer: (accepted, scores)."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.predicates = world.plugin(Predicates)
        self.nodeorder = world.plugin(Nodeorder, {"mostrequested.weight": 3})
        self.binpack = world.plugin(Binpack, WEIGHTS)

    def __call__(self, rows: ManyRows | OneRow, shape: Shape) -> tuple[object, object, object]:
        view = self.world.view
        return (
            self.predicates.node_filter(view, rows, shape),
            self.nodeorder.node_score(view, rows, shape),
            self.binpack.node_score(view, rows, shape),
        )


def bits(answers: tuple[object, object, object], size: int) -> list[list[object]]:
    """Per hook a list of numbers, floats as their bits."""
    out: list[list[object]] = []
    for answer in answers:
        column = np.broadcast_to(np.asarray(answer if answer is not None else 0.0), (size,))
        whole = column.dtype == bool
        out.append(column.tolist() if whole else column.astype(np.float64).view(np.int64).tolist())
    return out


@pytest.mark.parametrize("number", range(40))
def test_columns_rows_and_numbers_agree_bit_for_bit(number: int) -> None:
    world = random_world(number)
    hooks = Hooks(world)
    pick = np.array(random.Random(number).sample(range(MANY), 9))
    for shape in {id(s): s for s in (world.shape(f"p{j}") for j in range(4))}.values():
        whole = bits(hooks(world.all_rows(), shape), MANY)
        some = bits(hooks(ManyRows(world.view, world.layout, pick), shape), len(pick))
        for hook, part in zip(whole, some, strict=True):
            assert [hook[i] for i in pick.tolist()] == part
        for i in range(MANY):
            one = bits(hooks(OneRow(world.view, world.layout, i), shape), 1)
            assert [hook[i] for hook in whole] == [hook[0] for hook in one]


@pytest.mark.parametrize("number", range(40))
def test_assumed_copies_equal_real_placements_and_refusals_stay(number: int) -> None:
    world = random_world(number)
    hooks, index = Hooks(world), np.arange(MANY)
    shape = world.shape("p0")
    assumption = Assumption(world.matrix, shape, promised=False)
    assumed = [
        bits(
            hooks(
                ManyRows(world.view, world.layout, index).assume(shape, assumption, np.full(MANY, j)), shape
            ),
            MANY,
        )
        for j in (1, 2)
    ]
    one = [
        bits(hooks(OneRow(world.view, world.layout, i).assume(shape, assumption, 1), shape), 1)
        for i in range(MANY)
    ]
    assert [[hook[i] for hook in assumed[0]] for i in range(MANY)] == [[h[0] for h in row] for row in one]
    first = bits(hooks(world.all_rows(), shape), MANY)[0]
    for fewer, more in ((first, assumed[0][0]), (assumed[0][0], assumed[1][0])):
        assert all(was or not now for was, now in zip(fewer, more, strict=True))
    for i in range(MANY):
        mark = world.ledger.checkpoint()
        world.place("p0", world.snapshot.nodes.names[i])
        real = bits(hooks(OneRow(world.view, world.layout, i), shape), 1)
        assert [hook[i] for hook in assumed[0]] == [hook[0] for hook in real]
        world.ledger.rollback(mark)
    assert bits(hooks(world.all_rows(), shape), MANY)[0] == first
