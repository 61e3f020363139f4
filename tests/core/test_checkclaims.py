"""The laws about victims and reservations: each bad plugin is caught by its law, good ones pass."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest

from vcray.core.arrays import Bool, BoolLike, Int, IntLike
from vcray.core.check import check_plugin
from vcray.core.plugin import Args, Plugin
from vcray.core.tables import Status
from vcray.core.victims import Candidates, Claim
from vcray.core.view import Rows, Shape, View
from vcray.foresight.samples import SAMPLES, samples
from vcray.registry import PLUGINS, discover

REGISTRY = discover([])
WORLDS = list(samples())


@pytest.mark.parametrize("name", REGISTRY.names(PLUGINS))
def test_built_in_plugins_keep_the_laws_on_the_samples(name: str) -> None:
    plugin = REGISTRY.load(PLUGINS, name)
    args, _ = plugin.args_model.read({}, "")  # type: ignore[attr-defined]

    assert [check_plugin(plugin, args, world) for world in WORLDS] == [[]] * SAMPLES


class FirstOfAll(Plugin[Args]):
    """Only the very first candidate, whichever nodes are asked about."""

    def reclaimable(self, view: View, claim: Claim, candidates: Candidates) -> Bool:
        return np.arange(len(candidates)) == 0


class AllAlike(Plugin[Args]):
    """Says that all claims are alike, and tells them apart by their pod."""

    def claim_key(self, view: View, claim: Claim) -> object:
        return ()

    def reclaimable(self, view: View, claim: Claim, candidates: Candidates) -> Bool:
        return np.full(len(candidates), claim.tasks[0] % 2 == 0)


class EveryOther(Plugin[Args]):
    """Takes every other candidate of a node: once one has gone, those behind it change places."""

    def claim_key(self, view: View, claim: Claim) -> object:
        return ()

    def reclaimable(self, view: View, claim: Claim, candidates: Candidates) -> Bool:
        return candidates.rank(candidates.group) % 2 == 0


class Counts(Plugin[Args]):
    """Remembers what it was asked."""

    def open(self, view: View) -> None:
        self.asked_ = 0

    def reclaimable(self, view: View, claim: Claim, candidates: Candidates) -> Bool:
        self.asked_ += 1
        return np.full(len(candidates), self.asked_ % 2 == 0)


class Leaks(Plugin[Args]):
    """Takes a device of a node and does not give it back."""

    def open(self, view: View) -> None:
        self.taken_ = np.zeros(len(view.snapshot.nodes), dtype=np.int64)

    def node_filter(self, view: View, rows: Rows, shape: Shape) -> BoolLike:
        return rows.take(self.taken_) < 1

    def reserves(self, view: View, shape: Shape) -> bool:
        return True

    def reserve(self, view: View, task: int, node: int, promised: bool) -> Callable[[], None] | str:
        self.taken_[node] += 1
        return lambda: self._give(node)

    def _give(self, node: int) -> None:
        return None

    def release(self, view: View, task: int, node: int) -> Callable[[], None]:
        return lambda: None

    def bind_notes(self, view: View, task: int, node: int) -> Mapping[str, str]:
        return {}


class GivesBack(Leaks):
    """The same, and gives it back."""

    def _give(self, node: int) -> None:
        self.taken_[node] -= 1


class WrongShape(Plugin[Args]):
    def reclaimable(self, view: View, claim: Claim, candidates: Candidates) -> Bool:
        return np.ones(len(candidates) + 1, dtype=bool)


class Raises(Plugin[Args]):
    def node_score(self, view: View, rows: Rows, shape: Shape) -> float:
        return 1 / 0


def broken(plugin: type[Plugin[Args]]) -> set[tuple[int, str]]:
    return {(each.law, each.hook) for world in WORLDS for each in check_plugin(plugin, Args(), world)}


@pytest.mark.parametrize(
    ("plugin", "law", "hook"),
    [
        (FirstOfAll, 9, "reclaimable"),
        (AllAlike, 10, "reclaimable"),
        (EveryOther, 10, "reclaimable"),
        (Leaks, 11, "reserve"),
        (Counts, 12, "reclaimable"),
        (WrongShape, 0, "reclaimable"),
        (Raises, 0, "node_score"),
    ],
)
def test_a_plugin_that_breaks_a_law_is_caught(plugin: type[Plugin[Args]], law: int, hook: str) -> None:
    assert (law, hook) in broken(plugin)


class Surplus(Plugin[Args]):
    """What the gang has above its minimum, as gang does it."""

    def claim_key(self, view: View, claim: Claim) -> object:
        return ()

    def reclaimable(self, view: View, claim: Claim, candidates: Candidates) -> Bool:
        held: Int = view.jobs.count[Status.RUNNING] - view.snapshot.jobs.min_available
        return candidates.rank(candidates.job) < held[candidates.job]


class Quiet(Plugin[Args]):
    """Abstains."""

    def preemptable(self, view: View, claim: Claim, candidates: Candidates) -> Bool | None:
        return None

    def job_order(self, view: View, jobs: IntLike) -> IntLike:
        return jobs * 0


@pytest.mark.parametrize("plugin", [Surplus, Quiet])
def test_good_plugins_pass(plugin: type[Plugin[Args]]) -> None:
    assert broken(plugin) == set()


def test_what_is_given_back_breaks_no_law_of_reservations() -> None:
    assert {(law, hook) for law, hook in broken(GivesBack) if law in (6, 11)} == set()
