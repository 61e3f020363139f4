"""The law book: real plugins keep it, each bad plugin is caught by its law."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from tests.core import stubs
from tests.core.random_worlds import preferring_snapshot, random_snapshot
from vcray.core.arrays import Bool, BoolLike, FloatLike, Int, IntLike
from vcray.core.check import check_plugin, permute_nodes
from vcray.core.hooks import DomainTerm, Preference, Scale
from vcray.core.plugin import Args, Plugin
from vcray.core.view import Rows, Shape, View
from vcray.registry import PLUGINS, discover

REGISTRY = discover()


@pytest.mark.parametrize("name", REGISTRY.names(PLUGINS))
def test_built_in_plugins_keep_the_laws(name: str) -> None:
    plugin = REGISTRY.load(PLUGINS, name)
    args, _ = plugin.args_model.read({}, "")
    for seed in range(3):
        for make in (random_snapshot, preferring_snapshot):
            assert check_plugin(plugin, args, make(seed)) == [], (make.__name__, seed)


class OverTheMean(Plugin[Args]):
    def node_score(self, view: View, rows: Rows, shape: Shape) -> FloatLike:
        idle = rows.idle[0]
        return idle - (idle.mean() if isinstance(idle, np.ndarray) else idle)


class LooksPast(Plugin[Args]):
    """Reads the ledger instead of the row, so hypothetical copies are not seen."""

    def node_score(self, view: View, rows: Rows, shape: Shape) -> FloatLike:
        return rows.take(view.nodes.used[0]) * 1.0


class ChangesItsMind(Plugin[Args]):
    def node_filter(self, view: View, rows: Rows, shape: Shape) -> BoolLike:
        return rows.used[2] % 2 == 1


class MovingPreference(Plugin[Args]):
    def node_preference(self, view: View, shape: Shape) -> Sequence[Preference]:
        return [Preference(view.nodes.used[2].copy(), Scale.MAX, 1)]


class SecretMover(Plugin[Args]):
    def domain_terms(self, view: View, shape: Shape, candidates: Bool) -> Sequence[DomainTerm]:
        return [DomainTerm(raw=view.nodes.used[2].copy(), weight=1)]


class Remembers(Plugin[Args]):
    def open(self, view: View) -> None:
        self.calls_ = 0

    def node_score(self, view: View, rows: Rows, shape: Shape) -> FloatLike:
        self.calls_ += 1
        return float(self.calls_)


class RowFan(Plugin[Args]):
    def node_score(self, view: View, rows: Rows, shape: Shape) -> FloatLike:
        return rows.index * 1.0


class Envious(Plugin[Args]):
    def job_order(self, view: View, jobs: IntLike) -> IntLike:
        return int(view.jobs.claimed[2].sum()) if isinstance(jobs, int) else jobs * 0


@pytest.mark.parametrize(
    ("plugin", "law", "hook"),
    [
        (OverTheMean, 1, "node_score"),
        (LooksPast, 2, "node_score"),
        (ChangesItsMind, 3, "node_filter"),
        (MovingPreference, 4, "node_preference"),
        (SecretMover, 5, "domain_terms"),
        (Remembers, 6, "node_score"),
        (RowFan, 7, "node_score"),
        (Envious, 8, "job_order"),
    ],
)
def test_a_plugin_that_breaks_a_law_is_caught(plugin: type[Plugin[Args]], law: int, hook: str) -> None:
    broken = {
        (violation.law, violation.hook)
        for seed in range(6)
        for violation in check_plugin(plugin, Args(), random_snapshot(seed))
    }

    assert (law, hook) in broken


def test_good_stubs_pass() -> None:
    for plugin in (stubs.Pack, stubs.Spread, stubs.Ports, stubs.Gang, stubs.Priority):
        assert check_plugin(plugin, Args(), random_snapshot(2)) == []


def test_permuting_twice_is_the_same_cluster() -> None:
    world = random_snapshot(5)
    order: Int = np.arange(len(world.nodes))[::-1].copy()

    again = permute_nodes(permute_nodes(world, order), order)

    assert again.nodes.names == world.nodes.names
    assert (again.nodes.used == world.nodes.used).all()
    assert (again.tasks.node == world.tasks.node).all()
