"""JobSet: the pods of its current stage start together; a later stage raises the gang when it may begin."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from vcray.api.meta import JsonObject
from vcray.api.resources import JOBSETS, KUBERNETES_JOBS, Resource
from vcray.controllers import raw
from vcray.controllers.base import Change, Seen
from vcray.integrations.base import Asks, Gang, Integration, Member, Ref
from vcray.integrations.batch import _jobsets as sets


class JobSet(Integration):
    """Stand-alone ones; those that a TrainJob controls are the TrainJob's."""

    name: ClassVar[str] = "jobset"
    kinds: ClassVar[tuple[Resource, ...]] = (JOBSETS,)
    reads: ClassVar[tuple[Resource, ...]] = (KUBERNETES_JOBS,)
    pod_labels: ClassVar[tuple[str, ...]] = (sets.NAME,)

    def owns(self, obj: JsonObject) -> bool:
        return raw.text(raw.controller(obj), "kind") != "TrainJob"

    def asks(self, owner: JsonObject) -> Asks:
        spec = raw.table(owner, "spec")
        manager = raw.text(spec, "managedBy")
        return Asks(
            templates=sets.pod_templates(spec), manager="" if manager in ("", sets.OPERATOR) else manager
        )

    def gangs(self, owner: JsonObject, seen: Seen) -> Sequence[Gang]:
        name, spec = raw.name(owner), raw.table(owner, "spec")
        if raw.at(spec, "suspend") is True or sets.is_finished(owner):
            return (Gang(name),)
        jobs = seen.owned(KUBERNETES_JOBS, raw.uid(owner))
        return (sets.gang_of(owner, sets.steps_of(owner, spec, "spec"), jobs, name),)

    def member(self, owner: JsonObject, pod: JsonObject) -> Member | None:
        return Member(raw.name(owner), raw.labels_of(pod).get(sets.REPLICATED_JOB, ""))

    def concerned(self, change: Change, seen: Seen) -> Iterable[Ref]:
        above = raw.controller(change.object)
        if (above.get("apiVersion"), above.get("kind")) == (JOBSETS.api_version, JOBSETS.kind):
            yield Ref(JOBSETS, raw.namespace(change.object), raw.text(above, "name"))
