"""A user's plugin that fails is left out of the round, which then decides what it would have decided without it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from time import perf_counter

import numpy as np
import pytest

from tests.core import stubs
from tests.core.world import Job, Node, Queue, equal_pods, snapshot
from vcray.actions.allocate import Allocate
from vcray.actors.agent import PrioritySort
from vcray.actors.watchdog import Watchdog
from vcray.core.action import Action
from vcray.core.decisions import Decisions, LeftOut
from vcray.core.fence import EVERYTHING, Fence, is_built_in
from vcray.core.hooks import Vote
from vcray.core.plugin import Args, Plugin
from vcray.core.policy import Policy, policy_of
from vcray.core.pools import ScorersLost
from vcray.core.session import Session, decide
from vcray.core.shardrules import ShardRules
from vcray.core.snapshot import Snapshot
from vcray.plugins.gang import Gang

WORLD = snapshot(
    [Node("n1", cpu=4), Node("n2", cpu=8)],
    [Job("j", equal_pods("p", 3, cpu=1))],
    [Queue("default"), Queue("root")],
)


def user_plugin(**hooks: Callable[..., object]) -> type[Plugin[Args]]:
    """A plugin of a user's, called `mine`."""
    made: type[Plugin[Args]] = type("Mine", (Plugin,), {"__module__": "mine", **hooks})
    return made


def policy(*plugins: type[Plugin[Args]], actions: tuple[Action, ...] = ()) -> Policy:
    return policy_of([Allocate({}), *actions], [[(Gang, {}), *((each, {}) for each in plugins)]])


def nodes_of(decisions: Decisions) -> list[str]:
    return [bind.node for commit in decisions.commits for bind in commit.binds]


def divide(self: object, *_: object) -> object:
    return 1 / 0


def answers(value: object) -> Callable[..., object]:
    return lambda *_: value


HOOKS: Mapping[str, object] = {
    "node_static": np.ones(5, bool),
    "node_filter": "yes",
    "node_score": np.array([np.nan, 1.0]),
    "node_preference": [1],
    "domain_terms": 3,
    "job_ready": 1,
    "job_pipelined": True,
    "job_order": "first",
    "queue_order": 3,
    "queue_allows": None,
    "gang_need": 1.5,
    "queue_overused": None,
    "task_order": np.zeros(1),
}


@pytest.mark.parametrize("hook", HOOKS)
def test_a_hook_that_raises_or_answers_nonsense_is_left_out(hook: str) -> None:
    without = decide(WORLD, policy())
    raising = decide(WORLD, policy(user_plugin(**{hook: divide})))
    talking = decide(WORLD, policy(user_plugin(**{hook: answers(HOOKS[hook])})))

    if not raising.left_out:  # nobody asked: only where a hook is not met in this world
        assert hook in ("job_pipelined",)
        return
    assert raising.left_out == (LeftOut("mine", hook, "ZeroDivisionError: division by zero"),)
    assert [(each.plugin, each.hook) for each in talking.left_out] == [("mine", hook)]
    assert talking.left_out[0].why.startswith("must answer")
    for decisions in (raising, talking):
        assert nodes_of(decisions) == nodes_of(without)
        assert replace(decisions, left_out=(), events=without.events) == without


class Leaving(Action):
    """Calls sys.exit."""

    def run(self, session: Session) -> None:
        raise SystemExit(3)


@pytest.mark.parametrize("leaves", [SystemExit(3), asyncio.CancelledError()])
def test_a_hook_that_would_end_the_process_is_left_out(leaves: BaseException) -> None:
    def leave(*_: object) -> object:
        raise leaves

    for mine in (policy(user_plugin(node_score=leave)), policy(actions=(Leaving({}),))):
        decisions = decide(WORLD, mine)

        assert [each.hook for each in decisions.left_out] in (["node_score"], ["run"])
        assert len(nodes_of(decisions)) == 3


def test_a_warning_on_the_root_queue_tells_it() -> None:
    decisions = decide(WORLD, policy(user_plugin(node_score=divide)))

    (event,) = [each for each in decisions.events if each.reason == "PluginFailed"]
    assert (event.kind, event.name, event.uid, event.type) == ("Queue", "root", "uid-root", "Warning")
    assert event.message == (
        "VC0118 plugin mine, node_score: ZeroDivisionError: division by zero; it is left out of this round"
    )


def test_the_other_hooks_of_the_plugin_still_count() -> None:
    def only_n1(self: object, view: object, shape: object) -> object:
        return np.array([True, False])

    decisions = decide(WORLD, policy(user_plugin(node_score=divide, node_static=only_n1)))

    assert nodes_of(decisions) == ["n1", "n1", "n1"]


def test_several_hooks_that_fail_are_all_left_out() -> None:
    decisions = decide(WORLD, policy(user_plugin(node_score=divide, node_filter=divide, job_order=divide)))

    assert {each.hook for each in decisions.left_out} == {"node_score", "node_filter", "job_order"}
    assert len(nodes_of(decisions)) == 3


def test_a_plugin_that_cannot_open_is_left_out_whole() -> None:
    def never(self: object, view: object, shape: object) -> object:
        return np.zeros(2, bool)

    decisions = decide(WORLD, policy(user_plugin(open=divide, node_static=never)))

    assert [each.hook for each in decisions.left_out] == ["open"]
    assert len(nodes_of(decisions)) == 3


class Broken(Action):
    """An action of a user's."""

    def run(self, session: object) -> None:
        raise KeyError("x")


def test_an_action_that_raises_is_left_out() -> None:
    decisions = decide(WORLD, policy(actions=(Broken({}),)))

    assert decisions.left_out == (LeftOut(Broken.name, "run", "KeyError: 'x'"),)
    assert len(nodes_of(decisions)) == 3


class Endless(Action):
    """An action of a user's that asks a user's plugin, and never ends."""

    def run(self, session: Session) -> None:
        Allocate({}).run(session)
        while True:
            pass


def test_an_action_that_does_not_end_is_left_out() -> None:
    """A hook that was timed meanwhile does not take the action's own limit away."""
    mine = policy(user_plugin(node_score=answers(1.0)), actions=(Endless({}),))

    decisions = decide(WORLD, replace(mine, fence=Fence(perf_counter, 0.05, Watchdog())))

    why = "took more than the 250 ms that an action has in a round"
    assert decisions.left_out == (LeftOut(Endless.name, "run", why),)
    assert len(nodes_of(decisions)) == 3


def interrupt(self: object, *_: object) -> object:
    raise KeyboardInterrupt


class Interrupting(Action):
    """An action of a user's."""

    def run(self, session: object) -> None:
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    "mine",
    [policy(user_plugin(node_score=interrupt)), policy(actions=(Interrupting({}),))],
    ids=["hook", "action"],
)
def test_a_keyboard_interrupt_is_the_plugins_own_only_where_a_scheduler_runs(mine: Policy) -> None:
    decisions = decide(WORLD, replace(mine, fence=Fence(perf_counter, 5.0, Watchdog())))

    assert [each.why for each in decisions.left_out] == ["KeyboardInterrupt: "]
    assert len(nodes_of(decisions)) == 3
    with pytest.raises(KeyboardInterrupt):
        decide(WORLD, mine)


def test_what_breaks_the_kernel_costs_all_plugins_of_users() -> None:
    def spoil(self: object, view: object) -> None:
        view.jobs.count = None  # type: ignore[attr-defined]

    decisions = decide(WORLD, policy(user_plugin(open=spoil)))

    assert [(each.plugin, each.hook) for each in decisions.left_out] == [("mine", EVERYTHING)]
    assert decisions.left_out[0].why.startswith("the round failed with them: ")
    assert len(nodes_of(decisions)) == 3


def test_faults_of_built_in_plugins_are_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Gang, "job_ready", divide)

    with pytest.raises(ZeroDivisionError):
        decide(WORLD, policy())


class Slow:
    """A clock that moves on by a step each time it is looked at."""

    def __init__(self, step_s: float) -> None:
        self.now, self.step_s = 0.0, step_s

    def __call__(self) -> float:
        self.now += self.step_s
        return self.now


def test_a_plugin_that_takes_too_long_is_left_out() -> None:
    mine = policy(user_plugin(node_score=answers(1.0)))

    slow = decide(WORLD, replace(mine, fence=Fence(Slow(0.2), 0.1)))
    quick = decide(WORLD, replace(mine, fence=Fence(Slow(0.0), 0.1)))
    unlimited = decide(WORLD, replace(mine, fence=Fence(Slow(0.2), 0.0)))

    why = "took more than the 100 ms that a plugin has in a round"
    assert {(each.plugin, each.why) for each in slow.left_out} == {("mine", why)}
    assert (quick.left_out, unlimited.left_out) == ((), ())
    assert replace(slow, left_out=(), events=quick.events) == decide(WORLD, policy())


def test_what_was_left_out_gives_the_same_decisions_again() -> None:
    first = decide(WORLD, policy(user_plugin(node_score=divide)))
    again = decide(WORLD, policy(user_plugin(node_score=divide)))

    assert first == again


def test_generators_may_answer_lists() -> None:
    def none(self: object, *_: object) -> object:
        yield from ()

    decisions = decide(WORLD, policy(user_plugin(why=none, node_preference=none, domain_terms=none)))

    assert decisions.left_out == ()


def test_a_vote_is_taken_as_it_is() -> None:
    mine = user_plugin(job_pipelined=answers(Vote.ABSTAIN), job_ready=answers(np.bool_(True)))

    assert decide(WORLD, policy(mine)).left_out == ()


def test_built_ins_are_told_by_their_module() -> None:
    assert all(is_built_in(ours) for ours in (Gang, Allocate, ShardRules, PrioritySort))
    assert is_built_in(Gang)
    assert not is_built_in(stubs.Gang)
    assert not is_built_in(user_plugin())


def test_scorers_that_are_lost_are_not_blamed_on_users() -> None:
    def lose(self: object, view: object) -> None:
        raise ScorersLost("gone")

    class Asks(Allocate):
        run = lose

    with pytest.raises(ScorersLost):
        decide(WORLD, replace(policy(user_plugin(node_score=answers(1.0))), actions=(_ours(Asks),)))


def _ours(action: type[Action]) -> Action:
    """An action that counts as built in."""
    action.__module__ = "vcray.actions.asks"
    return action({})


def test_a_snapshot_without_a_root_queue_has_no_place_for_the_event() -> None:
    world: Snapshot = snapshot([Node("n1")], [Job("j", equal_pods("p", 1, cpu=1))])

    decisions = decide(world, policy(user_plugin(node_score=divide)))

    assert len(decisions.left_out) == 1
    assert all(each.reason != "PluginFailed" for each in decisions.events)
