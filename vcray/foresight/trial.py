"""A plugin or action of a user's, tried before it is used: is it well formed, and does it keep the laws on the samples?"""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import cast

from vcray.config import userfiles
from vcray.core.action import Action
from vcray.core.check import check_plugin
from vcray.core.fence import NO_LIMIT, Fence, HookFailed, Overrun, watched
from vcray.core.plugin import Args, Plugin
from vcray.core.policy import policy_of
from vcray.core.session import open_session, run
from vcray.errors import ConfigError, InputError, Problem
from vcray.foresight.samples import samples
from vcray.registry import ACTIONS, PLUGINS, base_of, class_of, discover


def breaches(file: Path, fence: Fence = NO_LIMIT) -> list[Problem]:
    """What is wrong with the plugin or action in a file or package: VC0110 when its name is taken or it is not well formed,
    VC0119 for each law and hook. InputError when there is no such file. `fence`: the time that its import, and its hooks on one
    sample, may take."""
    if not userfiles.is_extension(file):
        what = "is no Python file or package whose name could be a plugin's"
        raise InputError(
            Problem("VC0503", str(file), what if file.exists() else "there is none of that name")
        )
    taken = discover().taken(file)
    return [*([] if taken is None else [taken]), *_inside(file, fence)]


def _inside(file: Path, fence: Fence) -> list[Problem]:
    """What is wrong with what the file holds."""
    try:
        module = _loaded(file.absolute(), fence)
        action = any(
            isinstance(each, type) and issubclass(each, Action) and each is not base_of(ACTIONS)
            for each in vars(module).values()
        )
        found = class_of(module, ACTIONS if action else PLUGINS, str(file))
    except ConfigError as error:
        return list(error.problems)
    found.name = userfiles.name_of(file)  # type: ignore[attr-defined]
    if action:
        return _of_action(str(file), cast(type[Action], found))
    return _of_plugin(str(file), cast(type[Plugin[Args]], found), fence)


def _loaded(file: Path, fence: Fence) -> ModuleType:
    if fence.guard is None:
        return userfiles.load(file)
    try:
        module: ModuleType = watched(fence.guard, fence.budget_s, userfiles.load, (file,))
    except Overrun:
        what = f"was not imported within {fence.budget_s:g} s; look for a loop at its top level"
        raise ConfigError(Problem("VC0110", str(file), what)) from None
    return module


def _of_plugin(file: str, plugin: type[Plugin[Args]], fence: Fence) -> list[Problem]:
    args, _ = plugin.args_model.read({}, "")
    told: dict[tuple[int, str], Problem] = {}
    for world in samples():
        for breach in check_plugin(plugin, args, world, fence):
            what = f"law {breach.law}, {breach.hook}: {breach.what}"
            told.setdefault((breach.law, breach.hook), Problem("VC0119", file, what))
    return list(told.values())


def _of_action(file: str, action: type[Action]) -> list[Problem]:
    """An action has no laws of its own: it must run, alone and without plugins."""
    for world in samples():
        try:
            run(open_session(world, policy_of([action({})], [[]])))
        except HookFailed as failed:
            return [Problem("VC0119", file, f"law 0, {failed.hook}: {failed.why}")]
    return []
