"""RayServices: a cluster that serves, and beside it the next one while a change of the spec is rolled out.

A cluster serves as soon as it is ready. The one before it goes when the time for its last requests has passed."""

from __future__ import annotations

from typing import ClassVar, Final

from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import PODGROUPS, PODS, RAYCLUSTERS, RAYSERVICES, Resource
from vcray.api.times import seconds_of
from vcray.cluster.operators.base import Follow, Operator, conditions
from vcray.cluster.operators.kuberay import templates, words
from vcray.controllers import raw
from vcray.controllers.base import Again, Effects, Patch, Seen, Steps, must

_DELETION_DELAY_S: Final = 60


class RayServices(Operator):
    """Groups belong to the clusters; `gang` plays no part here."""

    resource: ClassVar[Resource] = RAYSERVICES
    owns: ClassVar[tuple[Resource, ...]] = (RAYCLUSTERS, PODS, PODGROUPS)

    def follow(self, obj: JsonObject, seen: Seen, now: float) -> Effects:
        """One turn of a service."""
        spec = raw.table(obj, "spec")
        if not words.is_ours(spec):
            return
        clusters = self.owned(RAYCLUSTERS, obj, seen)
        if raw.at(spec, "suspend") is True:
            yield from self._suspend(obj, clusters, seen, now)
            return
        active = _named(clusters, obj, "activeServiceStatus")
        pending = _named(clusters, obj, "pendingServiceStatus")
        wanted = templates.spec_hash(raw.table(spec, "rayClusterConfig"))
        if pending is not None and raw.annotation(pending, words.SPEC_HASH) != wanted:
            yield from self.remove(RAYCLUSTERS, [pending])
            pending = None
        if active is not None and pending is None and raw.annotation(active, words.SPEC_HASH) == wanted:
            yield from self._scale(obj, active)
        elif pending is None and (active is None or _strategy(obj) != "None"):
            pending = yield from self._make_cluster(obj, clusters, active, wanted)
        if pending is not None and raw.text(pending, "status", "state") == "ready":
            active, pending = pending, None
        yield from self._report(obj, active, pending, now)
        yield from self._end_old(obj, clusters, active, pending, now)

    def _make_cluster(
        self, service: JsonObject, clusters: list[JsonObject], active: JsonObject | None, wanted: str
    ) -> Steps[JsonObject]:
        """The next cluster; one that was made before the status said so is taken."""
        for each in clusters:
            if each is not active and raw.annotation(each, words.SPEC_HASH) == wanted:
                return each
        metadata = words.child_metadata(service, "RayService")
        marks: JsonObject = {words.SPEC_HASH: wanted}
        metadata["annotations"] = {**raw.table(metadata, "annotations"), **marks}
        spec = raw.table(service, "spec", "rayClusterConfig")
        if active is not None and _strategy(service) == "NewClusterWithIncrementalUpgrade":
            groups: list[JsonValue] = [
                {key: value for key, value in each.items() if key != "replicas"}
                for each in raw.tables(spec, "workerGroupSpecs")
            ]
            spec = {**spec, "workerGroupSpecs": groups}
        return (yield from self.make(RAYCLUSTERS, service, {"metadata": metadata, "spec": spec}))

    def _scale(self, service: JsonObject, active: JsonObject) -> Steps[None]:
        """Another number of workers needs no new cluster; one that scales itself is left alone."""
        spec = raw.table(service, "spec", "rayClusterConfig")
        groups = raw.tables(spec, "workerGroupSpecs")
        present = raw.tables(active, "spec", "workerGroupSpecs")
        if raw.at(spec, "enableInTreeAutoscaling") is True or [_replicas(each) for each in groups] == [
            _replicas(each) for each in present
        ]:
            return
        listed: list[JsonValue] = [*groups]
        patch: JsonObject = {"spec": {"workerGroupSpecs": listed}}
        outcome = yield Patch(RAYCLUSTERS, raw.namespace(active), raw.name(active), patch)
        must(outcome, "scale the cluster")

    def _suspend(
        self, service: JsonObject, clusters: list[JsonObject], seen: Seen, now: float
    ) -> Steps[None]:
        yield from self.remove(RAYCLUSTERS, clusters)
        left = bool(seen.owned(RAYCLUSTERS, raw.uid(service)))
        held = {
            "Suspending": (left, "UserRequest"),
            "Suspended": (not left, "UserRequest"),
            "Ready": (False, "Suspended"),
            "UpgradeInProgress": (False, "Suspended"),
        }
        status: dict[str, JsonValue] = {
            "activeServiceStatus": None,
            "pendingServiceStatus": None,
            "conditions": conditions(service, held, now),
        }
        yield from self.report(service, status)

    def _report(
        self, service: JsonObject, active: JsonObject | None, pending: JsonObject | None, now: float
    ) -> Steps[None]:
        upgrades = active is not None and pending is not None
        serving = "" if active is None else raw.name(active)
        held = {
            "Ready": (active is not None, f"Serving-{serving}" if serving else "Initializing"),
            "UpgradeInProgress": (
                upgrades,
                "BothActivePendingClustersExist" if upgrades else "NoPendingCluster",
            ),
            "Suspended": (False, "NotSuspended"),
            "Suspending": (False, "NotSuspended"),
        }
        status: dict[str, JsonValue] = {
            "activeServiceStatus": None if active is None else {"rayClusterName": raw.name(active)},
            "pendingServiceStatus": None if pending is None else {"rayClusterName": raw.name(pending)},
            "conditions": conditions(service, held, now),
        }
        yield from self.report(service, status)

    def _end_old(
        self,
        service: JsonObject,
        clusters: list[JsonObject],
        active: JsonObject | None,
        pending: JsonObject | None,
        now: float,
    ) -> Steps[None]:
        kept = [raw.uid(each) for each in (active, pending) if each is not None]
        old = [each for each in clusters if raw.uid(each) not in kept]
        if not old or active is None:
            return
        delay_s = raw.number(service, "spec", "rayClusterDeletionDelaySeconds", default=_DELETION_DELAY_S)
        left_s = _serves_since(service, active, now) + delay_s - now
        if left_s > 0:
            yield Again(left_s, Follow(raw.namespace(service), raw.name(service)))
        else:
            yield from self.remove(RAYCLUSTERS, old)


def _serves_since(service: JsonObject, active: JsonObject, now: float) -> float:
    """When the active cluster took over, by the condition that names it; `now` when that is being written."""
    for each in raw.tables(service, "status", "conditions"):
        if each.get("type") == "Ready" and each.get("reason") == f"Serving-{raw.name(active)}":
            return seconds_of(each.get("lastTransitionTime")) or now
    return now


def _named(clusters: list[JsonObject], service: JsonObject, field: str) -> JsonObject | None:
    name = raw.text(service, "status", field, "rayClusterName")
    return next((each for each in clusters if raw.name(each) == name), None)


def _strategy(service: JsonObject) -> str:
    return raw.text(service, "spec", "upgradeStrategy", "type") or "NewCluster"


def _replicas(group: JsonObject) -> tuple[int, ...]:
    return tuple(raw.number(group, field) for field in ("replicas", "minReplicas", "maxReplicas"))
