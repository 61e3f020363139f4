"""Lets pods into their groups once they are there: those that admission did not see, and those that named the group of another."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from vcray.api import names
from vcray.api.meta import JsonObject
from vcray.api.resources import NAMESPACES, PODGROUPS, PODS, Resource
from vcray.controllers import raw
from vcray.controllers.base import Effects, Emit, Read, ReconcileError, Seen, Steps
from vcray.controllers.notes import annotate
from vcray.integrations import choices, together
from vcray.integrations.apart import is_anothers, own_group
from vcray.integrations.base import Member
from vcray.integrations.trails import WORKLOADS, Finder, Line, Owned, Trails, controllers_of

OTHER_SCHEDULER: Final = "OtherScheduler"
TWO_OWNERS: Final = "TwoOwners"


@dataclass(frozen=True, slots=True)
class Join:
    """Let a pod into its group."""

    namespace: str
    pod: str

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.pod}"


class Joiner:
    """`kinds` are those that groups are made for, `watches` what is mirrored, `schedulers` ours."""

    def __init__(
        self,
        trails: Trails,
        kinds: Collection[Resource],
        watches: tuple[Resource, ...],
        schedulers: Collection[str],
    ) -> None:
        self._trails = trails
        self._kinds = kinds
        self._watches = watches
        self._schedulers = schedulers

    def join(self, request: Join, seen: Seen) -> Effects:
        """Annotate a pod, or say why it joins no group. ReconcileError when a write was refused."""
        pod = seen.get(PODS, request.namespace, request.pod)
        if pod is None or raw.terminating(pod):
            return
        if raw.annotation(pod, names.GROUP_NAME):
            yield from self._move(request, pod, seen)
            return
        claims = list(controllers_of(pod))
        if len(claims) > 1:
            spoken = " and ".join(f'{each.get("kind")} "{each.get("name")}"' for each in claims)
            yield Emit(PODS, pod, "Warning", TWO_OWNERS, f"{spoken} both claim this pod; it joins no group")
            return
        ours = raw.text(pod, "spec", "schedulerName") in self._schedulers
        named = self._trails.named(pod)
        if named is not None:
            if ours:
                yield from _complete(pod, choices.notes_of(named[1], ""))
            return
        owned = yield from self._owner(pod, seen)
        if owned is None:
            return
        member = together.member_of(owned.owner, owned.integration.member(owned.owner, pod))
        if not ours:
            if member is not None:
                yield from self._tell_other_scheduler(pod, owned, seen)
            return
        namespace = seen.get(NAMESPACES, "", raw.namespace(pod))
        asks = owned.integration.asked(owned.owner, self._finder(seen))
        notes = choices.notes_of(member, choices.named_queue(asks, owned.owner, namespace))
        if member is not None:
            notes[names.GROUP_NAME] = self._group(pod, member, seen)
        yield from _complete(pod, notes)

    def strays(self, pod: JsonObject, owned: Owned, seen: Seen) -> Line | None:
        """What a pod goes back to when the group that it names, or is to name, is that of an object not among it."""
        member = together.member_of(owned.owner, owned.integration.member(owned.owner, pod))
        if member is None or raw.annotation(pod, names.GROUP_NAME) not in ("", member.group):
            return None
        present = seen.get(PODGROUPS, raw.namespace(pod), member.group)
        if present is None or raw.controlled_by(present, raw.uid(owned.owner)):
            return None
        line = self._trails.line(PODS, pod, self._finder(seen))
        return line if is_anothers(present, line, self._kinds) else None

    def _group(self, pod: JsonObject, member: Member, seen: Seen) -> str:
        """The name of a member's group; empty while that is another's, and its object has none in place of it yet."""
        line, space = self._trails.line(PODS, pod, self._finder(seen)), raw.namespace(pod)
        own = own_group(member.group, line, seen, space)
        present = seen.get(PODGROUPS, space, member.group)
        if own or present is None or not is_anothers(present, line, self._kinds):
            return own or member.group
        return ""

    def _move(self, request: Join, pod: JsonObject, seen: Seen) -> Effects:
        """From the group of another into that of its own object (trap T16)."""
        owned = self._trails.owner(pod, self._finder(seen))
        if owned is None or raw.text(pod, "spec", "schedulerName") not in self._schedulers:
            return
        member = owned.integration.member(owned.owner, pod)
        if member is None or member.group != raw.annotation(pod, names.GROUP_NAME):
            return
        group = self._group(pod, member, seen)
        if group and group != member.group:
            yield from annotate(PODS, pod, {names.GROUP_NAME: group})

    def _tell_other_scheduler(self, pod: JsonObject, owned: Owned, seen: Seen) -> Effects:
        """Its group would wait for ever: the pod goes to another scheduler (trap T13)."""
        namespace = seen.get(NAMESPACES, "", raw.namespace(pod))
        asks = owned.integration.asked(owned.owner, self._finder(seen))
        if choices.is_ours(asks, owned.owner, namespace, self._schedulers):
            theirs = raw.text(pod, "spec", "schedulerName") or names.DEFAULT_SCHEDULER_NAME
            ours = min(self._schedulers)
            what = f'pod "{raw.name(pod)}" goes to scheduler "{theirs}"; set schedulerName: {ours} in its template'
            yield Emit(owned.resource, owned.owner, "Warning", OTHER_SCHEDULER, what)

    def _owner(self, pod: JsonObject, seen: Seen) -> Steps[Owned | None]:
        """The pod's owner; what stands between them and is not mirrored, or not all of its kind, is read."""
        read: dict[tuple[Resource, str, str], JsonObject | None] = {}
        while True:
            missing: list[tuple[Resource, str, str]] = []

            def find(
                resource: Resource,
                namespace: str,
                name: str,
                missing: list[tuple[Resource, str, str]] = missing,
            ) -> JsonObject | None:
                mirrored = seen.get(resource, namespace, name) if resource in self._watches else None
                if mirrored is not None or (resource in self._watches and resource not in WORKLOADS):
                    return mirrored
                if (resource, namespace, name) not in read:
                    missing.append((resource, namespace, name))
                return read.get((resource, namespace, name))

            owned = self._trails.owner(pod, find)
            if owned is not None or not missing:
                return owned
            outcome = yield Read(*missing[0])
            if not outcome.ok and not outcome.not_found:
                raise ReconcileError(f"read the owner of pod {raw.name(pod)}: {outcome.why}", counts=False)
            read[missing[0]] = outcome.object if outcome.ok else None

    def _finder(self, seen: Seen) -> Finder:
        return Finder(seen, self._watches)


def _complete(pod: JsonObject, notes: Mapping[str, str]) -> Effects:
    """Write those that the pod lacks."""
    lacking = {key: text for key, text in notes.items() if text and not raw.annotation(pod, key)}
    yield from annotate(PODS, pod, lacking)
