"""DaskJob: its runner is in the gang of the cluster that it makes, which bears its name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from vcray.api.meta import JsonObject
from vcray.api.resources import DASKJOBS, Resource
from vcray.controllers import raw
from vcray.controllers.base import Seen
from vcray.integrations.base import Asks, Gang, Integration, Member, template
from vcray.integrations.dask import daskcluster as dask


class DaskJob(Integration):
    """Its cluster's pods are told by the DaskCluster."""

    name: ClassVar[str] = "daskjob"
    kinds: ClassVar[tuple[Resource, ...]] = (DASKJOBS,)
    pod_labels: ClassVar[tuple[str, ...]] = (dask.CLUSTER,)

    def asks(self, owner: JsonObject) -> Asks:
        spec = raw.table(owner, "spec")
        parts = (("cluster", "spec", "scheduler"), ("cluster", "spec", "worker"), ("cluster",), ("job",))
        return Asks(templates=tuple(raw.table(spec, *path) for path in parts))

    def gangs(self, owner: JsonObject, seen: Seen) -> Sequence[Gang]:
        template(owner, "spec.job", "spec", "job")
        return ()  # its cluster has one

    def member(self, owner: JsonObject, pod: JsonObject) -> Member | None:
        return Member(dask.group_name(raw.name(owner)), dask.RUNNER)
