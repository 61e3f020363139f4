"""Volcano's `cdp`, cooldown protection: a pod that started to run a short while ago is not evicted again.

How long is the pod's own word: label, then annotation `volcano.sh/cooldown-time`. It counts from the moment the pod was
scheduled.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from vcray.api.duration import DurationError, duration_seconds
from vcray.api.names import COOLDOWN_TIME
from vcray.core.arrays import Bool, Float
from vcray.core.plugin import Args, Plugin
from vcray.core.tables import Notes, Status
from vcray.core.victims import Candidates, Claim
from vcray.core.view import View


class Cdp(Plugin[Args]):
    """Protects pods that run since a short while."""

    keeps = True

    def open(self, view: View) -> None:
        """`until_` (P,) is the end of each pod's protection in seconds, 0 without; worked out when first asked for."""
        self.until_: Float | None = None

    def preemptable(self, view: View, claim: Claim, candidates: Candidates) -> Bool:
        """Candidates that are not protected."""
        return self._free(view, candidates)

    def reclaimable(self, view: View, claim: Claim, candidates: Candidates) -> Bool:
        """As `preemptable`."""
        return self._free(view, candidates)

    def claim_key(self, view: View, claim: Claim) -> object:
        """Nothing: whoever claims."""
        return None

    def wakes_at(self, view: View) -> float | None:
        """While pods wait, the end of the protection that ends next: somebody may be taken then."""
        if not (view.status == Status.PENDING).any():
            return None
        until = self._until(view)
        ending = until[until > view.snapshot.now]
        return float(ending.min()) if len(ending) else None

    def _free(self, view: View, candidates: Candidates) -> Bool:
        free: Bool = self._until(view)[candidates.task] <= view.snapshot.now
        return free

    def _until(self, view: View) -> Float:
        if self.until_ is None:
            tasks = view.snapshot.tasks
            own = _times(facts.notes for facts in view.snapshot.pod_facts)[tasks.facts]
            if not np.isnan(own).all():  # what is noted puts an annotation first; here its label goes first
                labelled = _times(view.snapshot.label_sets)[tasks.labels]
                own = np.where(np.isnan(labelled), own, labelled)
            runs = (tasks.status == Status.RUNNING) & (tasks.scheduled > 0) & (own > 0)
            self.until_ = np.where(runs, tasks.scheduled + own, 0.0)
        return self.until_


def _times(rows: Iterable[Notes]) -> Float:
    """Each row's cooldown in seconds: 0 where it is no duration, NaN where there is none."""
    return np.array([_seconds(dict(row)) for row in rows], dtype=np.float64)


def _seconds(notes: Mapping[str, str]) -> float:
    if COOLDOWN_TIME not in notes:
        return float("nan")
    try:
        return duration_seconds(notes[COOLDOWN_TIME])
    except DurationError:
        return 0.0
