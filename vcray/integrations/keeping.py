"""Keeps the PodGroups of other operators' objects, for all kinds alike: makes them, follows their objects, lets pods join.

Where the operator itself made a group (it controls it by the same object, without our label) we stand down, and only say on the
group when its object rests without pods: such a group holds no room, whatever its spec says (kuberay#5183, #4473). A group of
another object is never written: the object gets an event and waits. Nothing is remembered.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

from vcray.api import names
from vcray.api.meta import JsonObject
from vcray.api.resources import NAMESPACES, PODGROUPS, PODS
from vcray.controllers import raw
from vcray.controllers.base import (
    Again,
    Change,
    Create,
    Effects,
    Emit,
    Patch,
    ReconcileError,
    Request,
    Seen,
    must,
    one_object_each,
)
from vcray.controllers.notes import annotate
from vcray.integrations import choices, together
from vcray.integrations.apart import apart
from vcray.integrations.base import Asks, Gang, Integration, Malformed, Ref, Remark
from vcray.integrations.joining import Join, Joiner
from vcray.integrations.podgroups import changes, podgroup, spec_of
from vcray.integrations.trails import Finder, Owned, Trails
from vcray.integrations.writing import (
    controls,
    delete,
    is_kept,
    release,
    taken,
    tell_minimum,
    was_of_a_namesake,
)

INVALID: Final = "InvalidSpec"
CONFLICT: Final = "PodGroupConflict"
NOT_ONE_GANG: Final = (
    "vcray.io/start-together: only an object whose pods are one gang can start together with others"
)
AFTER_CONFLICT_S: Final = 30.0
"""Nothing tells an object that the group of another went whose name it wants."""
_JOINED: Final = ("metadata", "annotations", names.GROUP_NAME)


class GroupKeeper:
    """One controller for all integrations. `scheduler_names` are ours. Implements `vcray.controllers.base.Controller`."""

    name = "integrations"
    starts_anew = True
    max_requeue = -1

    def __init__(
        self, integrations: Sequence[Integration], scheduler_names: Collection[str] = (names.SCHEDULER_NAME,)
    ) -> None:
        self._integrations = tuple(integrations)
        self._schedulers = frozenset(scheduler_names)
        self._trails = Trails(integrations)
        kinds = dict.fromkeys(kind for each in integrations for kind in each.kinds)
        self._kinds = tuple(kind for kind in kinds if kind != PODS)
        resources = [PODS, PODGROUPS, NAMESPACES]
        for each in integrations:
            resources += [*each.kinds, *each.reads]
        self.watches = tuple(dict.fromkeys(resources))
        self._joiner = Joiner(self._trails, self._kinds, self.watches, self._schedulers)

    # -- what changes ask for -------------------------------------------------------------------------------------------

    def requests(self, change: Change, seen: Seen) -> Iterable[Request]:
        """Objects to look at anew, and pods without a group."""
        found: dict[Request, None] = {}
        for each in one_object_each(change):
            found |= dict.fromkeys(self._requests(each, seen))
        return found

    def _requests(self, change: Change, seen: Seen) -> Iterator[Request]:
        resource = change.resource
        if resource == PODGROUPS:
            yield from self._controlled_by(change.object)
        elif resource == PODS:
            yield from self._about_pod(change, seen)
        elif resource == NAMESPACES:
            yield from self._of_namespace(change, seen)
        if change.new is not None and self._trails.speaker(resource, change.new) is not None:
            yield Ref.of(resource, change.new)
        for integration in self._integrations:
            if resource in integration.reads:
                yield from integration.concerned(change, seen)
        if resource in self._kinds:
            for each in (change.old, change.new):
                name = "" if each is None else together.name_of(each)
                if name:
                    found = together.namesakes(name, self._kinds, raw.namespace(change.object), seen)
                    yield from (Ref.of(kind, obj) for kind, obj in found)

    def _controlled_by(self, group: JsonObject) -> Iterator[Request]:
        shared = together.is_shared(group)
        for above in raw.tables(group, "metadata", "ownerReferences") if shared else [raw.controller(group)]:
            for kind in self._kinds:
                if (kind.api_version, kind.kind) == (raw.text(above, "apiVersion"), raw.text(above, "kind")):
                    yield Ref(kind, raw.namespace(group), raw.text(above, "name"))

    def _about_pod(self, change: Change, seen: Seen) -> Iterator[Request]:
        pod = change.object
        if not self._trails.may_own(pod):
            return
        is_new = change.new is not None and change.old is None
        if is_new and not raw.annotation(pod, names.GROUP_NAME):
            yield Join(raw.namespace(pod), raw.name(pod))
        owned = self._trails.owner(pod, self._finder(seen))
        if owned is None:
            return
        if owned.integration.follows_pods and _counts_anew(change):
            yield Ref.of(owned.resource, owned.owner)
        line = self._joiner.strays(pod, owned, seen) if is_new else None
        if line is not None:
            yield Join(raw.namespace(pod), raw.name(pod))
            yield from (Ref.of(kind, obj) for kind, obj in line.objects if kind in self._kinds)

    def _of_namespace(self, change: Change, seen: Seen) -> Iterator[Request]:
        old, new = (
            "" if each is None else raw.annotation(each, names.POD_QUEUE_NAME)
            for each in (change.old, change.new)
        )
        if change.new is None or old == new:
            return
        for kind in self._kinds:
            yield from (Ref.of(kind, owner) for owner in seen.list(kind, raw.name(change.new)))

    # -- carrying out ---------------------------------------------------------------------------------------------------

    def reconcile(self, request: Request, seen: Seen, now: float) -> Effects:
        """Keep the groups of one object, let one pod join, or tell something. ReconcileError when a write was refused."""
        if isinstance(request, Join):
            yield from self._joiner.join(request, seen)
            return
        if isinstance(request, Remark):
            about = seen.get(request.about.resource, request.about.namespace, request.about.name)
            if about is not None:
                yield Emit(request.about.resource, about, request.type, request.reason, request.message)
            return
        assert isinstance(request, Ref)
        owner = seen.get(request.resource, request.namespace, request.name)
        speaker = None if owner is None else self._trails.speaker(request.resource, owner)
        if owner is None or speaker is None:
            return
        owned = Owned(speaker, request.resource, owner)
        if raw.terminating(owner):
            yield from self._let_go(owned, seen)
            return
        yield from self._keep(owned, seen)
        yield from _tell_status(owned, seen, now)

    def gave_up(self, request: Request, seen: Seen, now: float) -> Effects:
        """Never comes: failures of this controller do not count."""
        yield from ()

    def _keep(self, owned: Owned, seen: Seen) -> Effects:
        speaker, owner = owned.integration, owned.owner
        made_here, theirs = _groups_of(owner, seen)
        if theirs:
            yield from release(speaker.rests(owner, seen), theirs)
            for group in theirs:
                yield from tell_minimum(speaker.starts_with(owner, group, seen), group)
            return
        asks = speaker.asked(owner, self._finder(seen))
        namespace = seen.get(NAMESPACES, "", raw.namespace(owner))
        ours = choices.is_ours(asks, owner, namespace, self._schedulers)
        starts = ours and speaker.begun(owner, seen)
        must_be = bool(made_here) or (not starts and self._is_displaced(owned, seen))
        if not ours and not must_be:
            return
        try:
            gangs = speaker.gangs(owner, seen)
        except Malformed as error:
            yield Emit(owned.resource, owner, "Warning", INVALID, str(error))
            return
        if not must_be and not starts:
            return
        shared = together.name_of(owner) if gangs else ""
        if shared:
            yield from self._keep_shared(owned, shared, seen)
        gangs = [self._apart(owned, gang, seen) for gang in gangs]
        for gang in gangs if not shared else ():
            yield from self._keep_one(owned, gang, asks, namespace, seen)
            yield from self._take(owned, gang, seen)
        wanted = {gang.name for gang in gangs} if not shared else set()
        for group in made_here:
            if raw.name(group) not in wanted:
                yield from delete(group)

    def _apart(self, owned: Owned, gang: Gang, seen: Seen) -> Gang:
        """The gang, under another name where another object has its group."""
        kind, holder = gang.owner or (owned.resource, owned.owner)
        return apart(gang, kind, holder, self._trails, self._kinds, seen, self._finder(seen))

    def _is_displaced(self, owned: Owned, seen: Seen) -> bool:
        """Has its operator given pods of it to our scheduler, into the group of another?"""
        try:
            gangs = [self._apart(owned, gang, seen) for gang in owned.integration.gangs(owned.owner, seen)]
        except Malformed:
            return False
        space = raw.namespace(owned.owner)
        pods = [seen.get(PODS, space, name) for gang in gangs if gang.instead for name in gang.takes]
        return any(raw.text(pod, "spec", "schedulerName") in self._schedulers for pod in pods if pod)

    def _keep_shared(self, owned: Owned, name: str, seen: Seen) -> Effects:
        """Keep the group of all objects that start together with this one."""
        space = raw.namespace(owned.owner)
        namespace = seen.get(NAMESPACES, "", space)
        partners, asked = [], []
        for kind, obj in together.namesakes(name, self._kinds, space, seen):
            speaker = self._trails.speaker(kind, obj)
            asks = None if speaker is None else speaker.asked(obj, self._finder(seen))
            if speaker is None or asks is None:
                continue
            try:
                gangs = speaker.gangs(obj, seen)
            except Malformed:
                continue  # it is told so in its own turn
            if len(gangs) == 1 and choices.is_ours(asks, obj, namespace, self._schedulers):
                partners.append(together.Partner(kind, obj, gangs[0]))
                asked.append(asks)
        present = seen.get(PODGROUPS, space, together.group_name(name))
        if raw.uid(owned.owner) not in {raw.uid(each.owner) for each in partners}:
            yield Emit(owned.resource, owned.owner, "Warning", INVALID, NOT_ONE_GANG)
        elif present is not None and not together.is_shared(present):
            yield Emit(owned.resource, owned.owner, "Warning", CONFLICT, taken(present))
            yield Again(AFTER_CONFLICT_S, Ref.of(owned.resource, owned.owner))
        else:
            gang, first = together.combined(name, partners), partners[0].owner
            queue = choices.named_queue(asked[0], first, namespace)
            spec = spec_of(
                gang, queue, choices.priority_class(asked[0], first), choices.network_topology(first)
            )
            yield from together.keep(spec, gang, partners, present)

    def _let_go(self, owned: Owned, seen: Seen) -> Effects:
        """An object that is being deleted may have to wait for a pod that waits for the room of its group."""
        speaker, owner = owned.integration, owned.owner
        why = speaker.rests(owner, seen)
        made_here, theirs = _groups_of(owner, seen)
        if not why:
            return
        yield from release(why, theirs)
        namespace = seen.get(NAMESPACES, "", raw.namespace(owner))
        asks = speaker.asked(owner, self._finder(seen))
        for group in made_here:
            yield from self._keep_one(owned, Gang(raw.name(group)), asks, namespace, seen)

    def _keep_one(
        self, owned: Owned, gang: Gang, asks: Asks, namespace: JsonObject | None, seen: Seen
    ) -> Effects:
        owner = owned.owner
        spec = spec_of(
            gang,
            choices.named_queue(asks, owner, None)
            or gang.queue
            or choices.named_queue(asks, owner, namespace),
            choices.priority_class(asks, owner),
            choices.network_topology(owner) or gang.topology,
        )
        resource, holder = gang.owner or (owned.resource, owner)
        space = raw.namespace(owner)
        present = seen.get(PODGROUPS, space, gang.name)
        if present is None:
            made = podgroup(gang, spec, space, holder, resource, owned.integration.name)
            outcome = yield Create(PODGROUPS, made)
            if outcome.already_exists:
                yield Again(AFTER_CONFLICT_S, Ref.of(owned.resource, owner))
                return
            must(outcome, f"create PodGroup {space}/{gang.name}")
            first = seen.get(PODGROUPS, space, gang.instead) if gang.instead else None
            if first is not None:
                yield Emit(owned.resource, owner, "Warning", CONFLICT, taken(first, gang.name))
        elif is_kept(present) and was_of_a_namesake(holder, present):
            yield from delete(present)
            raise ReconcileError(f"PodGroup {space}/{gang.name} was of another {resource.kind}", counts=False)
        elif is_kept(present) and controls(holder, present):
            patch = changes(present, spec)
            if patch:
                outcome = yield Patch(PODGROUPS, space, gang.name, patch, "json")
                must(outcome, f"update PodGroup {space}/{gang.name}")
        elif not controls(holder, present):
            yield Emit(owned.resource, owner, "Warning", CONFLICT, taken(present))
            yield Again(AFTER_CONFLICT_S, Ref.of(owned.resource, owner))

    def _take(self, owned: Owned, gang: Gang, seen: Seen) -> Effects:
        """Bring pods into a group in place of one that is gone."""
        for name in gang.takes:
            pod = seen.get(PODS, raw.namespace(owned.owner), name)
            if pod is None or raw.text(pod, "spec", "schedulerName") not in self._schedulers:
                continue
            yield from annotate(PODS, pod, {names.GROUP_NAME: gang.name})

    def _finder(self, seen: Seen) -> Finder:
        return Finder(seen, self.watches)


def _groups_of(owner: JsonObject, seen: Seen) -> tuple[list[JsonObject], list[JsonObject]]:
    """The groups that an object controls: those that we made, and those of its operator."""
    groups = [each for each in seen.owned(PODGROUPS, raw.uid(owner)) if controls(owner, each)]
    return [each for each in groups if is_kept(each)], [each for each in groups if not is_kept(each)]


def _tell_status(owned: Owned, seen: Seen, now: float) -> Effects:
    """Write what is ours to write of the object's status."""
    if type(owned.integration).status is Integration.status:
        return
    owner = owned.owner
    group = next((each for each in seen.owned(PODGROUPS, raw.uid(owner)) if controls(owner, each)), None)
    told = owned.integration.status(owner, group, now)
    if told:
        patch: JsonObject = {"metadata": {"resourceVersion": raw.version(owner)}, "status": told}
        place = raw.namespace(owner), raw.name(owner)
        outcome = yield Patch(owned.resource, *place, patch, subresource="status")
        if not outcome.not_found:
            must(outcome, f"report on {owned.resource.kind} {place[0]}/{place[1]}")


def _counts_anew(change: Change) -> bool:
    """Did a pod come, go, join, change its phase or begin to go?"""
    if change.old is None or change.new is None:
        return True
    return any(
        raw.text(change.old, *path) != raw.text(change.new, *path)
        for path in (("status", "phase"), ("metadata", "deletionTimestamp"), _JOINED)
    )
