"""A pod as workload controllers see it: its labels and owners, its phase and conditions, how its containers ended."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import msgspec
from msgspec import Struct

from vcray.api.meta import JsonObject
from vcray.cluster.workloads.affinityview import AffinityView, named_node
from vcray.cluster.workloads.informers import Head

_OURS = frozenset({"ReplicaSet", "ReplicationController", "Job", "StatefulSet", "DaemonSet"})
_GROUPS = ("v1", "apps/v1", "batch/v1")


class _View(Struct, frozen=True, rename="camel", gc=False):
    """Options of all structs here."""


class OwnerRef(_View, frozen=True):
    """One owner."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


class PodHead(_View, frozen=True):
    """A pod's metadata."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: tuple[OwnerRef, ...] | None = None
    finalizers: tuple[str, ...] | None = None


class ClaimSource(_View, frozen=True):
    """The claim that a volume names."""

    claim_name: str = ""


class EphemeralSource(_View, frozen=True):
    """A claim that the pod brings along."""


class VolumeView(_View, frozen=True):
    """A volume; only claims matter."""

    name: str = ""
    persistent_volume_claim: ClaimSource | None = None
    ephemeral: EphemeralSource | None = None


class PodSpecView(_View, frozen=True):
    """What controllers ask of a spec. `volumes` are those with claims."""

    node_name: str = ""
    volumes: tuple[VolumeView, ...] | None = None
    affinity: AffinityView | None = None


class Condition(_View, frozen=True):
    """One condition."""

    type: str = ""
    status: str = ""
    reason: str | None = None
    last_transition_time: datetime | None = None


class Terminated(_View, frozen=True):
    """How a container ended."""

    exit_code: int = 0
    finished_at: datetime | None = None


class ContainerState(_View, frozen=True):
    """Only ends matter."""

    terminated: Terminated | None = None


class ContainerStatus(_View, frozen=True):
    """One container's state."""

    name: str = ""
    restart_count: int = 0
    state: ContainerState | None = None


class PodStatusView(_View, frozen=True):
    """A pod's status."""

    phase: str = ""
    start_time: datetime | None = None
    conditions: tuple[Condition, ...] | None = None
    container_statuses: tuple[ContainerStatus, ...] | None = None
    init_container_statuses: tuple[ContainerStatus, ...] | None = None


class PodView(_View, frozen=True):
    """A pod."""

    metadata: PodHead = PodHead()
    spec: PodSpecView = PodSpecView()
    status: PodStatusView = PodStatusView()

    @property
    def labels(self) -> dict[str, str]:
        """Its labels."""
        return self.metadata.labels or {}

    @property
    def controller(self) -> OwnerRef | None:
        """Its controller."""
        return next((each for each in self.metadata.owner_references or () if each.controller), None)

    @property
    def deleting(self) -> bool:
        """Whether it has been deleted and not yet gone."""
        return self.metadata.deletion_timestamp is not None

    @property
    def finished(self) -> bool:
        """Whether it has succeeded or failed."""
        return self.status.phase in ("Succeeded", "Failed")

    @property
    def active(self) -> bool:
        """Neither finished nor being deleted."""
        return not self.finished and not self.deleting

    def ephemeral_claims(self) -> list[str]:
        """Names of the claims that it brings along."""
        return [f"{self.metadata.name}-{each.name}" for each in self.spec.volumes or () if each.ephemeral]

    def claims(self) -> list[str]:
        """Names of all claims that it uses."""
        sources = [each.persistent_volume_claim for each in self.spec.volumes or ()]
        return [each.claim_name for each in sources if each is not None] + self.ephemeral_claims()

    def condition(self, kind: str) -> Condition | None:
        """Its condition of a kind."""
        return next((each for each in self.status.conditions or () if each.type == kind), None)

    @property
    def ready(self) -> bool:
        """Whether its condition Ready holds."""
        found = self.condition("Ready")
        return found is not None and found.status == "True"

    def available_at(self, min_ready_s: int) -> float | None:
        """When it counts as available, in seconds since the epoch; None while it is not ready."""
        found = self.condition("Ready")
        if found is None or found.status != "True":
            return None
        if not min_ready_s or found.last_transition_time is None:
            return 0.0
        return found.last_transition_time.timestamp() + min_ready_s

    @property
    def target_node(self) -> str:
        """The node it is on or, if it waits, the one its affinity names; empty if there is none."""
        return self.spec.node_name or named_node(self.spec.affinity)

    @property
    def restarts(self) -> int:
        """How often its containers were started again, the most of them."""
        return max((each.restart_count for each in self.container_statuses()), default=0)

    def container_statuses(self) -> Iterable[ContainerStatus]:
        """All statuses, init containers first."""
        yield from self.status.init_container_statuses or ()
        yield from self.status.container_statuses or ()


_pods = msgspec.json.Decoder(PodView)


def read_pod(raw: msgspec.Raw) -> PodView:
    """The view of a pod; of one that somebody else controls only what tells where it is and whether it goes."""
    pod = _without_plain_volumes(_pods.decode(raw))
    owner = pod.controller
    if owner is None or (owner.kind in _OURS and owner.api_version in _GROUPS):
        return pod
    head = pod.metadata
    short = PodHead(
        name=head.name,
        namespace=head.namespace,
        uid=head.uid,
        resource_version=head.resource_version,
        deletion_timestamp=head.deletion_timestamp,
        owner_references=(_FOREIGN,),
    )
    spec = msgspec.structs.replace(pod.spec, affinity=None) if pod.spec.affinity else pod.spec
    return PodView(short, spec, _PHASES.setdefault(pod.status.phase, PodStatusView(pod.status.phase)))


_FOREIGN = OwnerRef(uid="another", controller=True)
_PHASES: dict[str, PodStatusView] = {}


def view_of(obj: JsonObject) -> PodView:
    """The view of a pod from the answer of a write."""
    return _without_plain_volumes(msgspec.convert(obj, PodView))


def _without_plain_volumes(pod: PodView) -> PodView:
    """The view without volumes that are no claims: most pods have one with their token, and memory counts."""
    volumes = pod.spec.volumes
    if not volumes:
        return pod
    kept = tuple(each for each in volumes if each.persistent_volume_claim or each.ephemeral)
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, volumes=kept or None))


def pod_head(pod: PodView) -> Head:
    """Where a pod stands."""
    owner = pod.controller
    version = pod.metadata.resource_version
    return Head(
        pod.metadata.namespace,
        pod.metadata.name,
        pod.metadata.uid,
        int(version) if version.isdigit() else 0,
        owner.uid if owner else "",
    )
