"""Keeps a user's plugin or action from stopping the scheduler.

A hook of a user's that raises, answers what is no answer, or takes more time than its plugin has in a round ends that session:
the round is decided anew without the hook, from the same snapshot, so what comes out is what a session that never had it
decides. Which hooks were left out, and why, stands in the decisions. Built-in plugins are not fenced: their faults are ours, and
the coordinator's fence is for them.

Time comes from outside: a `Fence` without a clock knows no overrun.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from vcray.core.answers import wrong_answer
from vcray.core.plugin import HOOKS, Args, Plugin

if TYPE_CHECKING:
    from vcray.core.action import Action
    from vcray.core.policy import Policy, Recipe
    from vcray.core.session import Session

EVERYTHING = "*"
"""In place of a hook: the whole plugin."""

BUILT_IN = ("vcray.plugins.", "vcray.actions.", "vcray.core.", "vcray.actors.")


class HookFailed(Exception):
    """A session cannot go on with a hook of a plugin, or with an action (`hook` is `run`)."""

    def __init__(self, plugin: str, hook: str, why: str) -> None:
        super().__init__(f"{plugin}, {hook}: {why}")
        self.plugin, self.hook, self.why = plugin, hook, why


class Guard(Protocol):
    """Interrupts a hook that does not come back: raises `Overrun` in it when its time is up."""

    def begin(self, seconds: float) -> None:
        """A hook begins, with so much time."""

    def end(self, interrupted: bool) -> None:
        """It is over; `interrupted`: by `Overrun`. Raises `Overrun` when one was on its way and has not arrived."""


class Overrun(BaseException):
    """Raised by a guard inside a hook. No `Exception`, so that the hook itself does not swallow it."""


@dataclass(frozen=True, slots=True)
class Fence:
    """How much time the hooks of one plugin have in a session together; 0 for any. `clock` tells seconds."""

    clock: Callable[[], float] | None = None
    budget_s: float = 0.0
    guard: Guard | None = None


NO_LIMIT = Fence()


def is_built_in(extension: type) -> bool:
    """Is a plugin or an action ours?"""
    return extension.__module__.startswith(BUILT_IN)


def fenced(plugin: Plugin[Args], fence: Fence) -> Plugin[Args]:
    """The plugin with all its hooks behind a fence, when it is a user's."""
    if is_built_in(type(plugin)):
        return plugin
    spent = _Spent(plugin.name, fence)
    for hook in HOOKS:
        method = getattr(plugin, hook, None)
        if callable(method):
            setattr(plugin, hook, _behind(spent, hook, method))
    return plugin


ACTION_SHARE = 5
"""An action has so many times what a plugin has: much of its time is the kernel's."""


def act(action: Action, session: Session, fence: Fence) -> None:
    """Run an action; HookFailed when a user's fails or does not come back in time."""
    if is_built_in(type(action)):
        action.run(session)
        return
    seconds = fence.budget_s * ACTION_SHARE
    try:
        if fence.guard is None or seconds <= 0:
            action.run(session)
        else:
            _in_time(action, session, fence.guard, seconds)
    except HookFailed:
        raise
    except BaseException as error:
        if isinstance(error, Overrun) or _is_ours(error, fence):
            raise
        raise HookFailed(action.name, "run", f"{type(error).__name__}: {error}") from error


def _in_time(action: Action, session: Session, guard: Guard, seconds: float) -> None:
    try:
        watched(guard, seconds, action.run, (session,))
    except Overrun:
        why = f"took more than the {seconds * 1000:g} ms that an action has in a round"
        raise HookFailed(action.name, "run", why) from None


def _is_ours(error: BaseException, fence: Fence) -> bool:
    """Is it the user at the keyboard who ends us? Under a guard runs a scheduler, which hears that as a signal of its loop."""
    return isinstance(error, KeyboardInterrupt) and fence.guard is None


class _Spent:
    """The time that one plugin has used in one session."""

    def __init__(self, plugin: str, fence: Fence) -> None:
        self.plugin = plugin
        self.fence = fence
        self.seconds = 0.0

    def call(self, hook: str, method: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        fence, budget = self.fence, self.fence.budget_s
        if fence.clock is None or budget <= 0:
            return _answer(method, arguments)
        started = fence.clock()
        if fence.guard is None:
            answer = _answer(method, arguments)
        else:
            try:
                answer = watched(fence.guard, budget - self.seconds, _answer, (method, arguments))
            except Overrun:
                raise HookFailed(self.plugin, hook, self._over()) from None
        self.seconds += fence.clock() - started
        if self.seconds > budget:
            raise HookFailed(self.plugin, hook, self._over())
        return answer

    def _over(self) -> str:
        return f"took more than the {self.fence.budget_s * 1000:g} ms that a plugin has in a round"


def watched(guard: Guard, seconds: float, method: Callable[..., Any], arguments: tuple[Any, ...] = ()) -> Any:
    """What a user's code answers; `Overrun` when it does not come back in time."""
    interrupted = False
    guard.begin(seconds)
    try:
        return method(*arguments)
    except Overrun:
        interrupted = True
        raise
    finally:
        guard.end(interrupted)


def _answer(method: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    answer = method(*arguments)
    return tuple(answer) if isinstance(answer, Iterator) else answer


def _behind(spent: _Spent, hook: str, method: Callable[..., Any]) -> Callable[..., Any]:
    def guarded(*arguments: Any) -> Any:
        try:
            answer = spent.call(hook, method, arguments)
        except HookFailed:
            raise
        except BaseException as error:  # SystemExit too: a plugin does not end the scheduler
            if isinstance(error, Overrun) or _is_ours(error, spent.fence):
                raise
            raise HookFailed(spent.plugin, hook, f"{type(error).__name__}: {error}") from error
        wrong = wrong_answer(hook, answer, arguments)
        if wrong:
            raise HookFailed(spent.plugin, hook, wrong)
        if hook in ("reserve", "release") and callable(answer):
            return _behind(spent, hook, answer)
        return iter(answer) if hook == "why" else answer

    return guarded


# ---- without a hook ----


def without(policy: Policy, plugin: str, hook: str) -> Policy:
    """The policy without one hook of a plugin, the whole plugin when it cannot open, or without an action."""
    if hook == "run":
        return replace(policy, actions=tuple(each for each in policy.actions if each.name != plugin))
    whole = hook in ("open", EVERYTHING)
    tiers = tuple(
        tuple(
            _masked(recipe, hook) if recipe.plugin.name == plugin else recipe
            for recipe in tier
            if not (whole and recipe.plugin.name == plugin)
        )
        for tier in policy.tiers
    )
    return replace(policy, tiers=tiers)


def without_users(policy: Policy) -> Policy:
    """The policy with built-in plugins and actions alone."""
    tiers = tuple(tuple(each for each in tier if is_built_in(each.plugin)) for tier in policy.tiers)
    return replace(policy, tiers=tiers, actions=tuple(a for a in policy.actions if is_built_in(type(a))))


def users_of(policy: Policy) -> tuple[str, ...]:
    """Names of plugins and actions that are users' own."""
    plugins = [each.plugin.name for tier in policy.tiers for each in tier if not is_built_in(each.plugin)]
    return (*plugins, *(action.name for action in policy.actions if not is_built_in(type(action))))


_masks: dict[tuple[type[Plugin[Args]], str], type[Plugin[Args]]] = {}
MOST_MASKS = 256


def _masked(recipe: Recipe, hook: str) -> Recipe:
    """A recipe whose class has no such hook."""
    key = (recipe.plugin, hook)
    if key not in _masks:
        if len(_masks) >= MOST_MASKS:  # classes of files that were edited since
            _masks.clear()
        body = {hook: None, "__module__": recipe.plugin.__module__}
        made: type[Plugin[Args]] = type(recipe.plugin.__name__, (recipe.plugin,), body)
        made.name = recipe.plugin.name
        _masks[key] = made
    return replace(recipe, plugin=_masks[key])
