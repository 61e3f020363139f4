"""Admission of objects that an autoscaler of their own makes larger: a number grows as far as its pods have room now.

Demand that cannot be placed is not turned into pods that would wait. The number is cut, never below what it was nor below the
object's own minimum, and nothing else is touched; whoever asked asks again. Where nobody knows what has room, the update passes as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from vcray.api import names
from vcray.api.meta import JsonObject
from vcray.api.quantity import QuantityError
from vcray.api.resources import Resource
from vcray.api.wire import to_pod
from vcray.cache.supposed import Wanted
from vcray.cache.translate import pod_row
from vcray.controllers import raw
from vcray.integrations import choices, together
from vcray.integrations.base import Growth, Integration, Malformed
from vcray.webhooks.base import Answer, Request, replace
from vcray.webhooks.services import Service

NONE: Final = Answer()


def services(integrations: Sequence[Integration]) -> tuple[Service, ...]:
    """A webhook for each kind that grows by itself."""
    return tuple(_service(each, kind) for each in integrations if each.self_growing for kind in each.kinds)


def _service(integration: Integration, kind: Resource) -> Service:
    return Service(
        f"/integrations/{kind.plural}",
        f"integrations.{kind.plural}.vcray.io",
        True,
        kind,
        ("UPDATE",),
        Growing(integration).admit,
        must_answer=False,
        only=integration.self_growing,
    )


class Growing:
    """The rule, for one integration."""

    def __init__(self, integration: Integration) -> None:
        self._integration = integration

    def admit(self, request: Request) -> Answer:
        """A patch of the numbers for which there is no room, with a word about each."""
        if request.operation != "UPDATE" or not request.old or raw.terminating(request.new):
            return NONE
        try:
            growths = self._integration.grows(request.old, request.new)
        except Malformed:
            return NONE  # told of by an event
        found = [(each, self._wanted(each, request)) for each in growths]
        asked = [(growth, wanted) for growth, wanted in found if wanted is not None]
        if not asked:
            return NONE
        places = request.look.room([wanted for _, wanted in asked])
        cuts = [
            (growth, wanted, max(growth.least, room // growth.hosts), room // growth.hosts)
            for (growth, wanted), room in zip(asked, places, strict=True)
            if room is not None and room // growth.hosts < growth.asked
        ]
        if not cuts:
            return NONE
        return Answer(
            patch=tuple(replace(_pointer(growth), granted) for growth, _, granted, _ in cuts),
            warnings=tuple(_words(growth, wanted.job, room) for growth, wanted, _, room in cuts),
        )

    def _wanted(self, growth: Growth, request: Request) -> Wanted | None:
        """The pods of a number, as admission would let them in; None for pods that are not ours or cannot be read."""
        metadata = raw.table(growth.template, "metadata")
        labels = {**raw.table(metadata, "labels"), **growth.labels}
        annotations = {**raw.table(metadata, "annotations")}
        spec = raw.table(growth.template, "spec")
        head: JsonObject = {"namespace": request.namespace, "labels": labels, "annotations": annotations}
        pod: JsonObject = {"metadata": head, "spec": spec}
        scheduler = raw.text(spec, "schedulerName")
        if scheduler not in ("", names.DEFAULT_SCHEDULER_NAME, *request.rules.scheduler_names):
            return None
        member = together.member_of(request.new, self._integration.member(request.new, pod))
        if member is None:
            return None
        head["annotations"] = {**choices.notes_of(member, ""), **annotations}
        try:
            made = to_pod(pod)
            pod_row(made)
        except (msgspec.ValidationError, QuantityError, ValueError):
            return None  # the API server will say what is wrong with it
        return Wanted(made, growth.asked * growth.hosts, growth.hosts, growth.unit)


def _pointer(growth: Growth) -> str:
    return "".join(f"/{each}" for each in growth.path)


def _words(growth: Growth, job: str, room: int) -> str:
    field = "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in growth.path)
    group = job.partition("/")[2]
    return (
        f"{field.removeprefix('.')}: {room} of {growth.asked} have room now in the queue of PodGroup {group}; "
        f"it is {max(growth.least, room)} until the autoscaler asks again"
    )
