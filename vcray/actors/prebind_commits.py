"""Commits whose pods need something before they are bound: all of a gang's members are made ready side by side, then bound.

A gang is not bound in part: while one member's claims are not ready all wait, and when one's never will be, what was written
for all is taken back and the gang is decided anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from vcray.actors.messages import Outcome
from vcray.actors.prebind import TIMED_OUT, PodGone, PreBind, PreBindError
from vcray.actors.status_writer import StatusWriter
from vcray.core.decisions import Bind, Commit
from vcray.log import get_logger

log = get_logger("binder")

HELD_BACK = "another member of its gang could not be made ready"


class PreparedCommits:
    """Carries such commits out; `bind` binds one pod of a job."""

    def __init__(
        self, prebind: PreBind, writer: StatusWriter, bind: Callable[[str, Bind], Awaitable[Outcome]]
    ) -> None:
        self._prebind = prebind
        self._writer = writer
        self._bind = bind

    async def carry_out(self, commit: Commit, later: bool, last: bool) -> tuple[Outcome, ...]:
        """Outcomes of all pods; `later`, `last` as in `Execute`."""
        found = await asyncio.gather(*(self._prepare(commit.job, bind, later, last) for bind in commit.binds))
        failed = any(outcome is not None and outcome.result != "waiting" for outcome in found)
        waiting = any(outcome is not None and outcome.result == "waiting" for outcome in found)
        if commit.whole and (failed or waiting):
            spare = Outcome("", "", "", "stale", HELD_BACK) if failed else Outcome("", "", "", "waiting")
            found = [
                outcome
                if outcome is not None and not (failed and outcome.result == "waiting")
                else _for(commit, bind, spare)
                for bind, outcome in zip(commit.binds, found, strict=True)
            ]
        return tuple(
            await asyncio.gather(
                *(
                    self._finish(commit.job, bind, each)
                    for bind, each in zip(commit.binds, found, strict=True)
                )
            )
        )

    async def take_back(self, commit: Commit) -> None:
        """The commit is not to be carried out any more."""
        await asyncio.gather(
            *(self._prebind.take_back(bind) for bind in commit.binds if bind.before is not None)
        )

    async def _prepare(self, job: str, bind: Bind, later: bool, last: bool) -> Outcome | None:
        """None when the pod is ready."""
        if bind.before is None:
            return None
        try:
            if await self._prebind.prepare(bind, later):
                return None
        except PodGone as error:
            return Outcome(job, bind.task, bind.uid, "gone", str(error))
        except PreBindError as error:
            return Outcome(job, bind.task, bind.uid, "refused", str(error))
        if last:
            return Outcome(job, bind.task, bind.uid, "refused", TIMED_OUT)
        return Outcome(job, bind.task, bind.uid, "waiting")

    async def _finish(self, job: str, bind: Bind, outcome: Outcome | None) -> Outcome:
        if outcome is not None and outcome.result == "waiting":
            return outcome
        if outcome is None:
            outcome = await self._bind(job, bind)
            if outcome.result == "bound":
                return outcome
        elif outcome.result == "refused":
            log.warning("pod not made ready", pod=bind.task, node=bind.node, message=outcome.message)
            await self._writer.unprepared(bind, outcome.message)
        if bind.before is not None:
            await self._prebind.take_back(bind)
        return outcome


def _for(commit: Commit, bind: Bind, outcome: Outcome) -> Outcome:
    return Outcome(commit.job, bind.task, bind.uid, outcome.result, outcome.message)
