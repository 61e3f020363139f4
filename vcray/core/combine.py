"""The one table of how answers of several plugins to one hook combine, and of the flag that switches each hook on."""

from __future__ import annotations

from collections.abc import Mapping

from vcray.core.parthooks import COMBINE as PART_COMBINE

COMBINE: Mapping[str, tuple[str, str]] = {
    "class_key": ("", "tuple"),
    "node_static": ("enablePredicate", "and"),
    "node_filter": ("enablePredicate", "and"),
    "why": ("enablePredicate", "first reject of a node that is not curable ends its list"),
    "node_score": ("enableNodeOrder", "float sum in policy order"),
    "node_preference": ("enableNodeOrder", "normalised over the candidate group, integer sum"),
    "domain_terms": ("enablePredicate for ok, enableNodeOrder for raw", "ok: and; raw: integer sum"),
    "moves_itself": ("", "any"),
    "valid_prefix": ("", "min"),
    "gang_need": ("enableJobReady", "max"),
    "job_ready": ("enableJobReady", "and over all tiers"),
    "job_pipelined": ("enableJobPipelined", "votes by tier"),
    "job_starving": ("enableJobStarving", "and inside a tier; the first tier that has one decides"),
    "job_enqueueable": ("enableJobEnqueued", "votes by tier"),
    "job_enqueued": ("enableJobEnqueued", "all are called"),
    "job_valid": ("", "first sentence"),
    "holes": ("enableJobReady", "the latest moment of each job"),
    "job_order": ("enableJobOrder", "lexicographic, then creation, then name"),
    "task_order": ("enableTaskOrder", "lexicographic, then pod index, creation, uid"),
    "queue_order": ("enableQueueOrder", "columns joined, then creation, then name"),
    "queue_overused": ("enabledOverused", "or"),
    "queue_allows": ("enabledAllocatable", "min"),
    "preemptable": (
        "enablePreemptable",
        "tiers: the first tier whose plugins agree on somebody; share plugins veto",
    ),
    "reclaimable": (
        "enableReclaimable",
        "tiers: the first tier whose plugins agree on somebody; share plugins veto",
    ),
    "evictable": ("", "tiers: the first tier whose plugins agree on somebody; share plugins veto"),
    "claim_key": ("as the victim hook", "tuple"),
    "queue_preemptive": ("enablePreemptive", "and"),
    "victim_order": ("", "columns joined, then the inverse of queue_order"),
    "victim_tasks": ("enabledVictim", "or within a tier; the first tier that names anybody"),
    "reserves": ("enablePredicate", "any"),
    "reserve": ("enablePredicate", "all are called; the first refusal undoes the others"),
    "release": ("enablePredicate", "all are called"),
    "bind_notes": ("enablePredicate", "merged in policy order"),
    "bind_before": ("enablePredicate", "joined in policy order"),
    "queue_figures": ("", "per figure, the first that tells"),
    "card_figures": ("", "per node, the first that tells"),
    "job_shares": ("", "the first that tells"),
    "wakes_at": ("", "min"),
    "ran": ("", "all, sorted"),
    "charges": ("enablePredicate", "merged in policy order"),
    "offers": ("enablePredicate", "added"),
    "open": ("", "all are called"),
    "close": ("", "all are called"),
    **PART_COMBINE,
}
"""Hook -> (flag that switches it on, how several answers become one)."""
