"""Volcano's `conformance`: pods that the cluster itself needs are never victims.

Those are pods of the two system priority classes and all of namespace kube-system. Its word holds whatever its tier: a
later tier that names only such pods names nobody.
"""

from __future__ import annotations

import numpy as np

from vcray.core.arrays import Bool
from vcray.core.plugin import Args, Plugin
from vcray.core.victims import Candidates, Claim
from vcray.core.view import View

CRITICAL = ("system-cluster-critical", "system-node-critical")
NAMESPACE = "kube-system/"


class Conformance(Plugin[Args]):
    """Keeps critical pods from eviction in every action that evicts for a claim."""

    steady = True
    vetoes = True
    keeps = True

    def preemptable(self, view: View, claim: Claim, candidates: Candidates) -> Bool:
        """All but critical pods."""
        snapshot = view.snapshot
        critical = np.array(
            [facts.priority_class in CRITICAL for facts in snapshot.pod_facts], dtype=np.bool_
        )
        names = snapshot.tasks.names
        system = [names[task].startswith(NAMESPACE) for task in candidates.task.tolist()]
        spared: Bool = critical[snapshot.tasks.facts[candidates.task]] | np.array(system, dtype=np.bool_)
        return ~spared

    def reclaimable(self, view: View, claim: Claim, candidates: Candidates) -> Bool:
        """All but critical pods."""
        return self.preemptable(view, claim, candidates)

    def evictable(self, view: View, claim: Claim, candidates: Candidates) -> Bool:
        """All but critical pods."""
        return self.preemptable(view, claim, candidates)

    def claim_key(self, view: View, claim: Claim) -> object:
        """Nothing: whoever claims."""
        return None
