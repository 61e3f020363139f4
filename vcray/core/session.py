"""`decide(snapshot, policy) -> Decisions`: one round, pure.

A session opens plugins on a view, runs the configured actions, lets plugins close, and reads the decisions off the ledger.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from vcray.core.arrays import Int
from vcray.core.carry import Carry
from vcray.core.charges import charged
from vcray.core.closing import close, last_words
from vcray.core.decisions import Decisions, Event, GroupUpdate, LeftOut
from vcray.core.fence import EVERYTHING, HookFailed, act, users_of, without, without_users
from vcray.core.gates import Gates
from vcray.core.kept import Kept
from vcray.core.ledger import Ledger
from vcray.core.meter import Meter, collect
from vcray.core.openview import open_view
from vcray.core.place import Placer
from vcray.core.policy import Chains, Policy
from vcray.core.pools import Pools, ScorersLost
from vcray.core.queuetree import ROOT
from vcray.core.record import Record
from vcray.core.repeat import changes, closers, only, repeatable, repeated
from vcray.core.reserve import Reservations
from vcray.core.snapshot import Snapshot
from vcray.core.view import View

Watch = Callable[[str, int], None]
"""Told `turn` and `commit` with the job, for measurements."""


@dataclass(slots=True)
class Session:
    """What an action works with. `to_come`: the actions after it; `kept`: places that allocate keeps for some pods."""

    view: View
    policy: Policy
    chains: Chains
    ledger: Ledger
    placer: Placer
    record: Record = field(default_factory=Record)
    watch: Watch | None = None
    meter: Meter = field(default_factory=Meter)
    to_come: tuple[str, ...] = ()
    kept: Kept | None = None

    def spared(self, task: int) -> Int:
        """Nodes (rows) where room is kept for pods other than this one."""
        return np.zeros(0, dtype=np.int64) if self.kept is None else self.kept.for_others(task)


def open_session(
    snapshot: Snapshot,
    policy: Policy,
    watch: Watch | None = None,
    carry: Carry | None = None,
    scorers: int = 1,
    pools: Pools | None = None,
    meter: Meter | None = None,
) -> Session:
    """A session before its first action; for tests and for callers that drive actions themselves."""
    carry, meter = carry or Carry(), meter or Meter()
    carry.start(policy, snapshot.nodes)
    snapshot = charged(snapshot, policy.charging())
    view, matrix = open_view(snapshot)
    ledger = Ledger(view, matrix)
    view.gates = Gates(view) if policy.gates else None
    chains = policy.open(view, meter)
    ledger.reservations = Reservations(view, chains.reservers, chains.watchers)
    placer = Placer(view, chains, ledger, carry, scorers, pools)
    return Session(view, policy, chains, ledger, placer, watch=watch, meter=meter)


def decide(
    snapshot: Snapshot,
    policy: Policy,
    carry: Carry | None = None,
    scorers: int = 1,
    pools: Pools | None = None,
    meter: Meter | None = None,
) -> Decisions:
    """One scheduling round: the same snapshot and policy give the same bytes.

    carry: caches of earlier rounds, updated; None for none. scorers: how many share the scoring, pools: scorers elsewhere
    that do (fresh for each session); neither ever shows. meter: takes down durations and figures of the round.
    A hook of a user's that fails is left out: the round is decided anew without it (`vcray.core.fence`)."""
    known = None if carry is None else _as_before(snapshot, policy, carry, meter)
    if known is not None:
        return known
    left: list[LeftOut] = []
    while True:
        try:
            session = open_session(snapshot, policy, carry=carry, scorers=scorers, pools=pools, meter=meter)
            decisions = run(session)
        except HookFailed as failed:
            left.append(LeftOut(failed.plugin, failed.hook, failed.why))
            policy = without(policy, failed.plugin, failed.hook)
        except Exception as error:
            users = users_of(policy)
            if not users or isinstance(error, ScorersLost):
                raise
            why = f"the round failed with them: {type(error).__name__}: {error}"
            left += [LeftOut(name, EVERYTHING, why) for name in dict.fromkeys(users)]
            policy = without_users(policy)
        else:
            if carry is not None:
                carry.last = repeatable(policy, snapshot, decisions)
            return decisions if not left else _telling(decisions, snapshot, left)
        carry, pools = None, None
        if meter is not None:
            meter.restart()


def _as_before(snapshot: Snapshot, policy: Policy, carry: Carry, meter: Meter | None) -> Decisions | None:
    """The decisions of a round in which nothing can help that the one before could not; None when something may."""
    last, carry.last = carry.last, None
    found = None if last is None else changes(last, policy, snapshot)
    if last is None or found is None:
        return None
    groups: tuple[GroupUpdate, ...] = ()
    events: list[Event] = []
    if len(found.close):
        try:
            session = open_session(only(snapshot, found.close), closers(policy))
            _, groups, events = last_words(session.view, session.chains, session.ledger, session.record)
        except Exception:
            if not users_of(policy):
                raise
            return None  # decided in full, where what failed is left out and told
    decisions = repeated(last, snapshot, found, groups, events)
    carry.last = repeatable(policy, snapshot, decisions)
    if meter is not None:
        meter.repeats = True
    return decisions


def _telling(decisions: Decisions, snapshot: Snapshot, left: list[LeftOut]) -> Decisions:
    """The decisions with what they were made without, and a word about it on the root queue."""
    queues = snapshot.queues
    events = [
        Event(
            "Queue",
            ROOT,
            queues.uids[queues.names.index(ROOT)],
            "Warning",
            "PluginFailed",
            f"VC0118 plugin {each.plugin}, {each.hook}: {each.why}; it is left out of this round",
        )
        for each in left
        if ROOT in queues.names
    ]
    return replace(
        decisions,
        left_out=tuple(left),
        events=tuple(sorted([*decisions.events, *events], key=Event.order)),
    )


def run(session: Session) -> Decisions:
    """Run the policy's actions on an open session and close it."""
    meter = session.meter
    names = tuple(action.name for action in session.policy.actions)
    for number, action in enumerate(session.policy.actions):
        session.to_come = names[number + 1 :]
        started = meter.clock()
        act(action, session, session.policy.fence)
        meter.acted.append((action.name, meter.clock() - started))
    decisions = close(session.view, session.chains, session.ledger, session.record, session.placer.carry)
    if meter.collects:
        collect(meter, session.view, session.chains, session.ledger)
    return decisions


__all__ = ["Carry", "Session", "Watch", "decide", "open_session", "run"]
