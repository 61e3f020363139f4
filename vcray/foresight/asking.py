"""Asks a plugin or an action on trial, whatever it does instead of answering: raise, end the program, or never come back.

Each such fault is a `HookFailed` that names where it happened. What did not come back is not asked again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from vcray.core.fence import Fence, HookFailed, Overrun, watched
from vcray.core.plugin import HOOKS, Args, Plugin
from vcray.errors import ConfigError

ALTOGETHER = 4
"""All calls of one hook may take so many times what one may."""

ATTRIBUTES = sorted(name for name in dir(Plugin) if not name.startswith("_") and name not in HOOKS)
"""What a plugin says of itself, and the kernel reads."""


class Asker:
    """Asks one plugin or action. `fence`: the time that one call may take; `interrupted`: has the user interrupted the trial?
    `endless`: the hooks that did not come back."""

    def __init__(self, name: str, fence: Fence, interrupted: Callable[[], bool]) -> None:
        self.endless: set[str] = set()
        self._name = name
        self._fence = fence
        self._interrupted = interrupted
        self._spent: Counter[str] = Counter()
        self._asking = False

    def ask(self, hook: str, method: Callable[..., Any], *arguments: Any) -> Any:
        """What it answers; HookFailed when it does not. ConfigError as it comes."""
        if self._asking:  # one hook of the plugin asks another one
            return method(*arguments)
        self._asking = True
        try:
            return self._in_time(hook, method, arguments)
        except (HookFailed, ConfigError):
            raise
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt) and self._interrupted():
                raise
            raise HookFailed(
                self._name, hook, f"{type(error).__name__}: {error}".removesuffix(": ")
            ) from error
        finally:
            self._asking = False

    def _in_time(self, hook: str, method: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        clock, guard, each = self._fence.clock, self._fence.guard, self._fence.budget_s
        if clock is None or guard is None:
            return _answer(method, arguments)
        left = ALTOGETHER * each - self._spent[hook]
        started = clock()
        try:
            return watched(guard, min(each, left), _answer, (method, arguments))
        except Overrun:
            self.endless.add(hook)
            why = (
                f"did not end within {each:g} s"
                if left > each
                else f"took {ALTOGETHER * each:g} s altogether"
            )
            raise HookFailed(self._name, hook, f"{why} of the check") from None
        finally:
            self._spent[hook] += clock() - started  # type: ignore[assignment]


def on_trial(plugin: type[Plugin[Args]], asker: Asker) -> type[Plugin[Args]]:
    """The plugin with everything asked by `asker`, without the hooks that did not come back."""

    def made(self: Plugin[Args], args: Args) -> None:
        asker.ask(f"{plugin.__name__}.__init__", plugin.__init__, self, args)
        for attribute in ATTRIBUTES:
            asker.ask(f"{plugin.__name__}.{attribute}", getattr, self, attribute)
        for hook in HOOKS:
            asker.ask(hook, put, self, hook)

    def put(self: Plugin[Args], hook: str) -> None:
        method = getattr(self, hook, None)
        if callable(method):
            setattr(self, hook, _asked(asker, hook, method))

    body = {
        **dict.fromkeys(asker.endless & HOOKS),
        "__init__": made,
        "__module__": plugin.__module__,
        "by_counts": plugin.by_counts,
        "steady": plugin.steady,
    }
    found: type[Plugin[Args]] = asker.ask(plugin.__name__, type(plugin), plugin.__name__, (plugin,), body)
    found.name = plugin.name
    return found


def _asked(asker: Asker, hook: str, method: Callable[..., Any]) -> Callable[..., Any]:
    def asked(*arguments: Any) -> Any:
        answer = asker.ask(hook, method, *arguments)
        undoes = hook in ("reserve", "release") and callable(answer)
        return _asked(asker, hook, answer) if undoes else answer

    return asked


def _answer(method: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    answer = method(*arguments)
    return tuple(answer) if isinstance(answer, Iterator) else answer
