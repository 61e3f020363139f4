"""Pods whose placement or eviction is with the binder: what it has not yet answered is not lost, however long it takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from vcray.core.decisions import Decisions


class Unanswered:
    """UIDs of pods in orders that the binder has been given and has not answered."""

    def __init__(self) -> None:
        self.uids: Counter[str] = Counter()

    @contextmanager
    def of(self, decisions: Decisions) -> Iterator[list[str]]:
        """From the order to the end of its answer; the UIDs of its pods."""
        uids = [bind.uid for commit in decisions.commits for bind in commit.binds]
        uids += [evict.uid for evict in decisions.evictions]
        self.uids.update(uids)
        try:
            yield uids
        finally:
            self.uids -= Counter(uids)
