"""Plugins that only take note of placements: they hear of each, of what is undone too, and pods come many at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

import pytest

from tests.core.stubs import Gang
from tests.core.world import Job, Node, equal_pods, snapshot
from vcray.actions.allocate import Allocate
from vcray.config.scheduler import PluginConfig
from vcray.core.plugin import Args, Plugin
from vcray.core.policy import Policy, Recipe
from vcray.core.session import Session, open_session, run
from vcray.core.view import Shape, View


class Tally(Plugin[Args]):
    """Counts pods by node."""

    observes = True

    def open(self, view: View) -> None:
        self.seen_: Counter[str] = Counter()

    def reserves(self, view: View, shape: Shape) -> bool:
        return True

    def reserve(self, view: View, task: int, node: int, promised: bool) -> Callable[[], None] | str:
        return self._move(view.snapshot.nodes.names[node], 1)

    def release(self, view: View, task: int, node: int) -> Callable[[], None]:
        return self._move(view.snapshot.nodes.names[node], -1)

    def bind_notes(self, view: View, task: int, node: int) -> Mapping[str, str]:
        return {}

    def _move(self, name: str, by: int) -> Callable[[], None]:
        self.seen_[name] += by

        def undo() -> None:
            self.seen_[name] -= by

        return undo


def session_of(*jobs: Job, flags: Mapping[str, bool] | None = None) -> tuple[Session, Tally]:
    recipes = (
        Recipe(Gang, Args(), PluginConfig("gang")),
        Recipe(Tally, Args(), PluginConfig("tally", flags or {})),
    )
    session = open_session(snapshot([Node("a"), Node("b")], jobs), Policy((Allocate({}),), (recipes,)))
    (tally,) = (plugin for tier in session.chains.plugins for plugin, _ in tier if isinstance(plugin, Tally))
    return session, tally


@pytest.mark.parametrize("flags", [{}, {"enablePredicate": False, "enableNodeOrder": False}])
def test_it_hears_of_every_pod_whatever_its_flags(flags: Mapping[str, bool]) -> None:
    session, tally = session_of(Job("j", equal_pods("j", 6, cpu=1)), flags=flags)
    (commit,) = run(session).commits
    assert +tally.seen_ == Counter(bind.node for bind in commit.binds)


def test_what_is_undone_is_taken_back() -> None:
    session, tally = session_of(Job("huge", equal_pods("h", 9, cpu=1)))
    assert run(session).commits == ()
    assert +tally.seen_ == Counter()


def test_pods_come_many_at_a_time() -> None:
    session, tally = session_of(Job("j", equal_pods("j", 3, cpu=1)))
    session.ledger.place(0, session.view.shapes[0], [0, 1, 2], [0, 0, 1])
    assert tally.seen_ == Counter({"a": 2, "b": 1})
    session.ledger.evict(1)
    assert +tally.seen_ == Counter({"a": 1, "b": 1})
    session.ledger.rollback(0)
    assert +tally.seen_ == Counter()
