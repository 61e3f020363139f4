"""The life of a JobFlow as a table: what is done in a phase, and which sign leads to which phase. See docs/controllers.md.

The signs of a phase are asked in order; the first that holds decides, and where none does the phase stays. The table and
the order of its signs are Volcano's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from vcray.api.flow import FlowPhase


class Do(StrEnum):
    """What is done with a flow's jobs."""

    MAKE = "make what is due"
    MAKE_OR_DELETE = "delete all jobs under the policy delete, else make what is due"
    NOTHING = "nothing"


class Sign(StrEnum):
    """What the jobs of a flow show."""

    BEGUN = "a job runs or completed, and none failed"
    BROKEN = "a job failed or was terminated"
    DONE = "every job completed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Jobs by phase; `done` tells that each job that the flow names has completed."""

    running: int = 0
    completed: int = 0
    failed: int = 0
    terminated: int = 0
    done: bool = False

    def shows(self, sign: Sign) -> bool:
        """Does the sign hold?"""
        match sign:
            case Sign.BEGUN:
                return bool(self.running or self.completed) and not self.failed
            case Sign.BROKEN:
                return bool(self.failed or self.terminated)
            case Sign.DONE:
                return self.done


@dataclass(frozen=True, slots=True)
class Stage:
    """One phase: what is done in it, and what leaves it."""

    do: Do
    leaves: tuple[tuple[Sign, FlowPhase], ...] = ()


TABLE: Final[Mapping[FlowPhase, Stage]] = {
    FlowPhase.PENDING: Stage(Do.MAKE, ((Sign.BEGUN, FlowPhase.RUNNING), (Sign.BROKEN, FlowPhase.FAILED))),
    FlowPhase.RUNNING: Stage(Do.MAKE, ((Sign.DONE, FlowPhase.SUCCEED), (Sign.BROKEN, FlowPhase.FAILED))),
    FlowPhase.SUCCEED: Stage(Do.MAKE_OR_DELETE),
    FlowPhase.FAILED: Stage(Do.NOTHING),
    FlowPhase.TERMINATING: Stage(Do.NOTHING),
}
"""A flow without a phase is Pending."""


def next_phase(phase: FlowPhase, tally: Tally) -> FlowPhase:
    """The phase that these jobs lead to from this one, in one step."""
    return next((then for sign, then in TABLE[phase].leaves if tally.shows(sign)), phase)
