"""Base class of an action: one class in one file of `vcray.actions`, found by the file's name.

An action reads its arguments when it is made and keeps no state between sessions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from vcray.core.plugin import Args

if TYPE_CHECKING:
    from vcray.core.session import Session


class Action:
    """A step of a scheduling round. `name` is the name in the configuration: the module's, with - for _."""

    name: ClassVar[str]
    args_model: ClassVar[type[Args]] = Args
    """What the action understands under `configurations`; other arguments are told and have no effect."""

    steady: ClassVar[bool] = False
    """It does the same again while nothing differs but what `Plugin.steady` names. An action that evicts is not: pods that run by
    now may be taken. Not inherited."""

    def __init__(self, arguments: Mapping[str, object]) -> None:
        self.arguments = arguments

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        cls.name = cls.__module__.rpartition(".")[2].replace("_", "-")
        cls.steady = vars(cls).get("steady", False)

    def run(self, session: Session) -> None:
        """Change the session through its ledger and placer."""
        raise NotImplementedError
