"""Keeps a round from saying again what an earlier round said, and from complaining too soon.

The kernel is pure: a gang that waits yields the same status, conditions and events in every round. Volcano writes them each
second; here only what is new goes out, until the process restarts. A round runs milliseconds after a change, so a job whose pods
are still being made looks unschedulable for a moment: that a pod or group cannot be scheduled is told only once it has been so
for `patience_s`. Commits and evictions always pass, and so does the node that an eviction made room on, which no later round says
again. A job that waits as it did before costs one comparison.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from vcray.core.decisions import Decisions, Event, Waiting

REMEMBERED = 200_000
"""Statements remembered, the oldest forgotten first: two per pod of the largest cluster we plan for."""

FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 30.0
"""Between two tries to write what the server did not take."""

AGAIN_S = 10.0
"""A gate that is still there after about so long is removed once more."""

REWORDINGS_A_S, REWORDINGS_AT_ONCE = 20.0, 240
"""How many pods may say in other words that they wait as before, in the long run and after a rest."""

COMPLAINTS = ("Unschedulable",)
"""Reasons of events on PodGroups that say that something cannot be scheduled now."""

Key = tuple[str, ...]


@dataclass(slots=True)
class _Waits:
    """What is known of a job whose pods wait. `since` and `said` are by pod uid; `told`: all of `groups` has been said."""

    groups: tuple[Waiting, ...] = ()
    told: bool = False
    since: dict[str, float] = field(default_factory=dict)
    said: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    worded: float = 0.0
    """When its pods were last told something."""


class _Allowance:
    """What may be spent: grows by `rate` a second up to `most`."""

    def __init__(self, rate: float, most: int) -> None:
        self._rate, self._most = rate, most
        self._left, self._at = float(most), 0.0

    def spend(self, now: float) -> bool:
        """Take one, if there is one."""
        self._left = min(self._most, self._left + max(0.0, now - self._at) * self._rate)
        self._at = now
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True

    @property
    def full_s(self) -> float:
        """Seconds in which an empty one fills."""
        return self._most / self._rate


class Novelty:
    """Last statement about each object. `due` is when a complaint that is held back may go out, None when none is."""

    def __init__(self, patience_s: float = 0.0) -> None:
        self._patience_s = patience_s
        self._said: dict[Key, object] = {}
        self._since: dict[Key, float] = {}
        self._waits: dict[str, _Waits] = {}
        self._young: list[float] = []
        self._failures = 0
        self._rewordings = _Allowance(REWORDINGS_A_S, REWORDINGS_AT_ONCE)
        self._holds_back = False
        """Is there a pod whose new words were held back in this round?"""
        self._waiting_told: tuple[Waiting, ...] | None = None
        self._events_told: tuple[Event, ...] | None = None
        """What the last round said, where all of it is told: a round that repeats it (`core/repeat`) says it by the very same tuple."""
        self.due: float | None = None

    def keep(self, decisions: Decisions, now: float = 0.0) -> Decisions:
        """The decisions without statements that were made before, and without complaints that are too young."""
        self._young = []
        kept = replace(
            decisions,
            groups=tuple(
                group
                for group in decisions.groups
                if self._is_new(("group", group.uid), (group.resource_version, group.status))
            ),
            waiting=self._new_waits(decisions.waiting, now),
            events=self._new_events(decisions.events, now),
            queues=tuple(queue for queue in decisions.queues if self._is_new(("queue", queue.queue), queue)),
            lifts=tuple(
                lift for lift in decisions.lifts if self._is_new(("lift", lift.uid), int(now // AGAIN_S))
            ),
        )
        moments = [min(self._young) + self._patience_s] if self._young else []
        if self._holds_back:
            moments.append(now + self._rewordings.full_s)
        self.due = min(moments, default=None)
        return kept

    def _is_young(self, since: float, now: float) -> bool:
        if now - since >= self._patience_s:
            return False
        self._young.append(since)
        return True

    def _new_events(self, events: tuple[Event, ...], now: float) -> tuple[Event, ...]:
        """Events that are new, complaints only once they have lasted; those that are no longer made are forgotten."""
        if events is self._events_told:
            return ()
        made = [_key(event) for event in events if event.reason in COMPLAINTS]
        self._since = {key: self._since.get(key, now) for key in made}
        ripe = {key for key, since in self._since.items() if not self._is_young(since, now)}
        self._events_told = events if len(ripe) == len(self._since) else None
        by_key: dict[Key, list[Event]] = {}
        for event in events:
            if event.reason not in COMPLAINTS or _key(event) in ripe:
                by_key.setdefault(_key(event), []).append(event)
        told: list[Event] = []
        for key, several in by_key.items():
            before = self._said.get(key)
            if self._is_new(key, several):
                told += [event for event in several if not isinstance(before, list) or event not in before]
        return tuple(told)

    # ---- pods ----

    def _new_waits(self, waiting: tuple[Waiting, ...], now: float) -> tuple[Waiting, ...]:
        """What pods have not said yet; of pods and jobs that no longer wait nothing is remembered."""
        if waiting is self._waiting_told:
            return ()
        by_job: dict[str, list[Waiting]] = {}
        for group in waiting:
            by_job.setdefault(group.job, []).append(group)
        before = self._waits
        self._waits = {job: before.get(job) or _Waits() for job in by_job}
        jobs = list(self._waits.items())
        if self._holds_back:
            jobs.sort(key=lambda each: each[1].worded)
        self._holds_back = False
        told: list[Waiting] = []
        for job, known in jobs:
            groups = tuple(by_job[job])
            if not known.told or known.groups != groups:
                told += self._tell(known, groups, now)
        self._waiting_told = waiting if all(known.told for known in self._waits.values()) else None
        return tuple(told)

    def _tell(self, known: _Waits, groups: tuple[Waiting, ...], now: float) -> list[Waiting]:
        since = {uid: known.since.get(uid, now) for group in groups for _, uid in group.pods}
        told: list[Waiting] = []
        said: dict[str, tuple[str, str, str]] = {}
        known.told = True
        for group in groups:
            statement = (group.reason, group.message, group.nominated)
            fresh = []
            for pod in group.pods:
                last = known.said.get(pod[1])
                if not group.nominated and self._is_young(since[pod[1]], now):
                    known.told = False
                    if last is not None:
                        said[pod[1]] = last
                    continue
                if last is not None and last != statement and self._is_held_back(last, statement, now):
                    known.told = False
                    said[pod[1]] = last
                    continue
                if last != statement:
                    fresh.append(pod)
                said[pod[1]] = statement
            if fresh:
                known.worded = now
                told.append(replace(group, pods=tuple(fresh)))
        known.groups, known.since, known.said = groups, since, said
        return told

    def _is_held_back(self, last: tuple[str, str, str], new: tuple[str, str, str], now: float) -> bool:
        """Is this the same statement in other words, and have there been too many of those?"""
        if (last[0], last[2]) != (new[0], new[2]) or self._rewordings.spend(now):
            return False
        self._holds_back = True
        return True

    def forget(self, uids: Iterable[str]) -> None:
        """Let the next statement about these pods pass, whatever it is."""
        gone = set(uids)
        self._waiting_told = None
        for known in self._waits.values():
            if not gone.isdisjoint(known.said):
                known.told = False
                known.said = {uid: said for uid, said in known.said.items() if uid not in gone}

    def unsay(self, unwritten: Sequence[tuple[str, ...]], now: float) -> float | None:
        """Forget statements that did not reach the server (`StatusWriter.write`); when a round is to say them again.

        A server that goes on failing is asked ever more rarely."""
        if not unwritten:
            self._failures = 0
            return None
        by_kind: dict[str, set[str]] = {}
        for kind, about in unwritten:
            by_kind.setdefault(kind, set()).add(about)
        self.forget(by_kind.pop("pod", ()))
        told = by_kind.pop("event", set())
        self._events_told = None
        for key in [key for key in self._said if key[0] == "event" and key[2] in told]:
            del self._said[key]
        for kind, names in by_kind.items():
            for name in names:
                self._said.pop((kind, name), None)
        self._failures += 1
        return now + min(LONGEST_WAIT_S, FIRST_WAIT_S * 2.0 ** min(self._failures - 1, 10))

    def _is_new(self, about: tuple[str, ...], statement: object) -> bool:
        if self._said.get(about) == statement:
            return False
        self._said.pop(about, None)
        self._said[about] = statement
        if len(self._said) > REMEMBERED:
            del self._said[next(iter(self._said))]
        return True


def _key(event: Event) -> Key:
    return ("event", event.kind, event.name, event.type, event.reason)
