"""A plugin or action of a user's, tried before it is used: is it well formed, and does it keep the laws on the samples?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import cast

from vcray.config import userfiles
from vcray.core.action import Action
from vcray.core.check import check_plugin
from vcray.core.fence import NO_LIMIT, Fence, HookFailed, Overrun, watched
from vcray.core.plugin import HOOKS, Args, Plugin
from vcray.core.policy import policy_of
from vcray.core.session import open_session, run
from vcray.errors import ConfigError, InputError, Problem
from vcray.foresight.asking import Asker, on_trial
from vcray.foresight.samples import samples
from vcray.registry import ACTIONS, PLUGINS, base_of, class_of, discover


def breaches(
    file: Path,
    fence: Fence = NO_LIMIT,
    import_s: float = 0.0,
    interrupted: Callable[[], bool] = lambda: False,
) -> list[Problem]:
    """What is wrong with the plugin or action in a file or package: VC0110 when its name is taken or it is not well formed,
    VC0119 for each law and hook. InputError when there is no such file.

    `fence`: the time that one call of a hook may take; `import_s`: that the import may take, 0 for the same; `interrupted`: does
    a KeyboardInterrupt come from the user, not from the plugin?"""
    if not userfiles.is_extension(file):
        what = "is no Python file or package whose name could be a plugin's"
        raise InputError(
            Problem("VC0503", str(file), what if file.exists() else "there is none of that name")
        )
    taken = discover().taken(file)
    asker = Asker(userfiles.name_of(file), fence, interrupted)
    try:
        module = _loaded(file.absolute(), fence, import_s or fence.budget_s, interrupted)
        found = _inside(file, module, asker)
    except ConfigError as error:
        found = list(error.problems)
    return [*([] if taken is None else [taken]), *found]


def _inside(file: Path, module: ModuleType, asker: Asker) -> list[Problem]:
    """What is wrong with what the file holds."""
    action = any(
        isinstance(each, type) and issubclass(each, Action) and each is not base_of(ACTIONS)
        for each in vars(module).values()
    )
    found = class_of(module, ACTIONS if action else PLUGINS, str(file))
    found.name = userfiles.name_of(file)  # type: ignore[attr-defined]
    told: dict[tuple[int, str], Problem] = {}
    tried = _of_action(cast(type[Action], found), asker) if action else _of_plugin(found, asker)
    for law, hook, what in tried:
        told.setdefault((law, hook), Problem("VC0119", str(file), f"law {law}, {hook}: {what}"))
    return list(told.values())


def _loaded(file: Path, fence: Fence, seconds: float, interrupted: Callable[[], bool]) -> ModuleType:
    try:
        if fence.guard is None:
            return userfiles.load(file)
        module: ModuleType = watched(fence.guard, seconds, userfiles.load, (file,))
    except Overrun as error:
        raise ConfigError(userfiles.endless(file, seconds, error)) from None
    except KeyboardInterrupt:
        if interrupted():
            raise
        what = "cannot be imported: KeyboardInterrupt"
        raise ConfigError(Problem("VC0110", str(file), what)) from None
    return module


def _of_plugin(plugin: type[Plugin[Args]], asker: Asker) -> Iterator[tuple[int, str, str]]:
    """(law, hook, what) of each breach; beside one that did not come back the others are tried too."""
    try:
        args, _ = asker.ask(f"{plugin.__name__}.args_model", lambda: plugin.args_model.read({}, ""))
        for world in samples():
            asked_of = None
            while asked_of != asker.endless and not asker.endless - HOOKS:
                asked_of = set(asker.endless)
                for breach in check_plugin(on_trial(plugin, asker), args, world):
                    yield breach.law, breach.hook, breach.what
    except HookFailed as failed:
        yield 0, failed.hook, failed.why
    except ConfigError:
        raise
    except Exception as error:  # as in a round
        yield 0, plugin.__name__, f"the check failed with it: {type(error).__name__}: {error}"


def _of_action(action: type[Action], asker: Asker) -> Iterator[tuple[int, str, str]]:
    """An action has no laws of its own: it must run, alone and without plugins."""
    try:
        asker.ask(f"{action.__name__}.args_model", lambda: action.args_model.read({}, ""))
        for world in samples():
            made = asker.ask(f"{action.__name__}.__init__", action, {})
            asker.ask("run", run, open_session(world, policy_of([made], [[]])))
    except HookFailed as failed:
        yield 0, failed.hook, failed.why
