"""Rules about actions that take from others: preempt, reclaim, their gang forms, and shuffle.

Such an action needs a job that starves, plugins that name victims, and, for reclaim, a plugin that knows what a queue
deserves; where one of them is missing it does nothing, or too much, without a word.
"""

from __future__ import annotations

from collections.abc import Iterator

from vcray.errors import Problem
from vcray.foresight.configured import CLAIMING, RECLAIMING, SHARES, Configured

HOOK_OF = {
    "preempt": "preemptable",
    "reclaim": "reclaimable",
    "gangpreempt": "evictable",
    "gangreclaim": "evictable",
}
"""Action -> the hook that names its victims."""

NAMES_VICTIMS = ("tdm", "rescheduling")
"""Plugins that name victims of shuffle by a rule of their own; pdb only takes some away."""


def claims_of_nobody(of: Configured) -> Iterator[Problem]:
    """No plugin ever says that a job starves."""
    if of.offering("job_starving"):
        return
    for action in of.configured(*CLAIMING):
        what = (
            f"{action} acts for no one: in no tier does a plugin tell that a job is starving; "
            "switch on enableJobStarving of priority or gang"
        )
        yield Problem("VC0116", of.place_of(action), what)


def claims_without_victims(of: Configured) -> Iterator[Problem]:
    """No plugin names victims for the action; for preempt those that only protect name none."""
    for action in of.configured(*CLAIMING):
        judges = of.offering(HOOK_OF[action])
        if all(entry.plugin.keeps and action == "preempt" for entry in judges):
            flag = {"preempt": "enablePreemptable", "reclaim": "enableReclaimable"}.get(action)
            more = "proportion or capacity" if action in RECLAIMING else "priority or gang"
            switch = f", with {flag}" if flag else ""
            what = f"{action} finds no victims, since no plugin says who may go; add {more}{switch}"
            yield Problem("VC0115", of.place_of(action), what)


def reclaim_without_shares(of: Configured) -> Iterator[Problem]:
    """Queues would rob each other in turn, since nobody knows what one deserves."""
    shares = [entry for entry in of.offering("reclaimable") if entry.name in (*SHARES, "drf")]
    if shares:
        return
    for action in of.configured(*RECLAIMING):
        named = of.first(*SHARES)
        missing = (
            f"{named.name} has enableReclaimable: false"
            if named
            else "there is neither proportion nor capacity"
        )
        what = (
            f"{action} cannot tell what a queue deserves ({missing}), so queues take from each other in turn"
        )
        yield Problem("VC0115", of.place_of(action), what)


def only_surplus(of: Configured) -> Iterator[Problem]:
    """gang gives away only what a group has above its minimum, and no later tier is there to be asked."""
    for action, hook in (("preempt", "preemptable"), ("reclaim", "reclaimable")):
        gang = of.first("gang")
        if action not in of.actions or gang is None or not gang.offers(hook):
            continue
        others = [entry for entry in of.offering(hook) if entry.tier > gang.tier]
        if action == "preempt":
            others = [entry for entry in others if not entry.plugin.keeps]
        flag = "enablePreemptable" if action == "preempt" else "enableReclaimable"
        if not others:
            what = (
                f"{action} takes only members above minMember of their groups: gang protects the rest, and no later tier "
                f"is asked; set {flag}: false here to let whole gangs go"
            )
            yield Problem("VC0116", gang.place, what)
        elif all(entry.name not in SHARES for entry in others):
            names = ", ".join(dict.fromkeys(entry.name for entry in others))
            what = (
                f"where gang protects everybody, {action} asks the next tier ({names}), which breaks gangs that gang "
                f"protects; set {flag}: false here, or there"
            )
            yield Problem("VC0117", gang.place, what)


def shares_in_a_later_tier(of: Configured) -> Iterator[Problem]:
    """Volcano asks only the first tier that agrees on somebody; here a share plugin has its say from any tier."""
    for action in of.configured("reclaim"):
        asked = of.offering("reclaimable")
        for entry in asked:
            before = [each for each in asked if each.tier < entry.tier]
            if entry.name in SHARES and before:
                what = (
                    f"Volcano's {action} does not ask {entry.name} once {before[0].name} and its tier agree on victims; "
                    "vcray lets it refuse from any tier; put it beside them and both do the same"
                )
                yield Problem("VC0117", entry.place, what)


def claims_behind_admission(of: Configured) -> Iterator[Problem]:
    """A group that is not let in has no pods, and without pods nobody claims anything."""
    overcommit = of.first("overcommit")
    claims = of.configured(*CLAIMING)
    if "enqueue" not in of.actions or not claims or overcommit is None:
        return
    if overcommit.offers("job_enqueueable"):
        factor = overcommit.number("overcommit-factor")
        what = (
            f"on a full cluster overcommit lets a group in only while its minResources fit {factor - 1:.0%} of the "
            f"cluster; one that is kept out has no pods, so {claims[0]} never acts for it; raise overcommit-factor, "
            "or leave out overcommit"
        )
        yield Problem("VC0116", overcommit.place, what)


def shuffle_without_victims(of: Configured) -> Iterator[Problem]:
    """shuffle evicts what plugins name; pdb names all that its budgets allow."""
    naming = of.offering("victim_tasks")
    if "shuffle" in of.actions:
        place = of.place_of("shuffle")
        if not naming:
            what = "shuffle evicts nobody: no plugin names victims; add rescheduling or tdm"
            yield Problem("VC0115", place, what)
        elif all(entry.name == "pdb" for entry in naming):
            what = "pdb alone names every running pod that a budget does not protect; add rescheduling or tdm before it"
            yield Problem("VC0115", place, what)
        return
    for name in NAMES_VICTIMS:
        entry = of.first(name)
        if entry is not None and entry in naming:
            what = f"{name} moves pods only through the action shuffle, which `actions` does not name"
            yield Problem("VC0115", entry.place, what)


def claims_pass_over_topology(of: Configured) -> Iterator[Problem]:
    """preempt and reclaim make room pod by pod, which is no help to a job that must stay within one part of the network."""
    if of.first("network-topology-aware") is None:
        return
    for action, gang, which in (("preempt", "gangpreempt", "a"), ("reclaim", "gangreclaim", "a hard")):
        if action in of.actions and gang not in of.actions:
            what = f"{action} does nothing for jobs with {which} networkTopology; add {gang} for them"
            yield Problem("VC0116", of.place_of(action), what)


CLAIM_RULES = (
    claims_of_nobody,
    claims_without_victims,
    reclaim_without_shares,
    only_surplus,
    shares_in_a_later_tier,
    claims_behind_admission,
    claims_pass_over_topology,
    shuffle_without_victims,
)
