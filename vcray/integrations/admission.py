"""Admission of the pods of other operators: our scheduler's name, the pod's group and its task, set before the pod is stored.

Only what the owner asks for by a queue or a scheduler of ours, or its operator by naming our scheduler on the pod, and only while the
pod names no other scheduler: schedulerName cannot be changed later. A pod whose owner cannot be found goes on as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from vcray.api import names
from vcray.api.jsonview import dig_str
from vcray.api.meta import JsonObject
from vcray.api.resources import PODS
from vcray.controllers import raw
from vcray.integrations import choices, together
from vcray.integrations.apart import is_anothers
from vcray.integrations.base import Integration
from vcray.integrations.trails import Trails, controllers_of
from vcray.webhooks.base import Answer, Look, Request, add, annotation_path
from vcray.webhooks.services import Service

PATH: Final = "/integrations/pods"


def service(integrations: Sequence[Integration]) -> Service:
    """The webhook for the pods of these integrations."""
    dressing = Dressing(integrations)
    return Service(
        PATH,
        "integrations.pods.vcray.io",
        True,
        PODS,
        ("CREATE",),
        dressing.admit,
        must_answer=False,
        only=dressing.marks.expression(),
    )


class Dressing:
    """The rule, for a set of integrations."""

    def __init__(self, integrations: Sequence[Integration]) -> None:
        self._trails = Trails(integrations)
        self.marks = self._trails.marks
        self._kinds = [kind for each in integrations for kind in each.kinds if kind != PODS]

    def admit(self, request: Request) -> Answer:
        """A patch for a pod of ours; none for any other."""
        pod = request.new
        scheduler = dig_str(pod, "spec", "schedulerName")
        foreign = scheduler not in ("", names.DEFAULT_SCHEDULER_NAME, *request.rules.scheduler_names)
        if (
            request.operation != "CREATE"
            or foreign
            or not self._trails.may_own(pod)
            or len(list(controllers_of(pod))) > 1
        ):
            return Answer()
        placed = (
            pod
            if raw.namespace(pod)
            else {**pod, "metadata": {**raw.table(pod, "metadata"), "namespace": request.namespace}}
        )
        named = self._trails.named(placed)
        if named is not None:
            if scheduler not in request.rules.scheduler_names:
                return Answer()
            return Answer(patch=tuple(_patch(pod, scheduler, choices.notes_of(named[1], ""), scheduler)))
        owned = self._trails.owner(placed, request.look.find)
        if owned is None:
            return Answer()
        asks = owned.integration.asked(owned.owner, request.look.find)
        namespace = request.look.namespace(request.namespace)
        is_ours = choices.is_ours(asks, owned.owner, namespace, request.rules.scheduler_names)
        if not is_ours and (asks.manager or scheduler not in request.rules.scheduler_names):
            return Answer()
        member = together.member_of(owned.owner, owned.integration.member(owned.owner, pod))
        notes = choices.notes_of(member, choices.named_queue(asks, owned.owner, namespace))
        leaves = member is not None and self._is_anothers(placed, member.group, request.look)
        if leaves:
            notes.pop(names.GROUP_NAME)
        patch = list(_patch(pod, scheduler, notes, request.rules.scheduler_name))
        if member is not None and leaves and raw.annotation(pod, names.GROUP_NAME) == member.group:
            patch.append({"op": "remove", "path": annotation_path(names.GROUP_NAME)})
        return Answer(patch=tuple(patch))

    def _is_anothers(self, pod: JsonObject, group: str, look: Look) -> bool:
        """Is the group that of another object? Then the pod goes without, until its own object has one."""
        present = look.podgroup(raw.namespace(pod), group)
        if present is None:
            return False
        return is_anothers(present, self._trails.line(PODS, pod, look.find), self._kinds)


def _patch(pod: JsonObject, scheduler: str, notes: dict[str, str], ours: str) -> Iterator[JsonObject]:
    if scheduler in ("", names.DEFAULT_SCHEDULER_NAME):
        yield add("/spec/schedulerName", ours)
    present = raw.annotations_of(pod)
    missing = {key: value for key, value in notes.items() if value and key not in present}
    if missing and not present:
        yield add("/metadata/annotations", raw.strings(missing))
        return
    for key, value in missing.items():
        yield add(annotation_path(key), value)
