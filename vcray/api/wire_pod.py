"""The pod as a typed struct: only the fields that the scheduler and the controllers read.

Import them through `vcray.api.wire`.
"""

from __future__ import annotations

from datetime import datetime

from msgspec import field

from vcray.api.wire_meta import Condition, Metadata, Requirement, ResourceList, Resources, Selector, Wire


class NodeSelectorTerm(Wire, frozen=True):
    """Expressions over a node's labels and fields that must all hold; an empty term matches nothing."""

    match_expressions: tuple[Requirement, ...] = ()
    match_fields: tuple[Requirement, ...] = ()


class NodeSelector(Wire, frozen=True):
    """Terms of which one must hold."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class PreferredNodeTerm(Wire, frozen=True):
    """A node preference, weight 1 to 100."""

    weight: int = 0
    preference: NodeSelectorTerm = NodeSelectorTerm()


class NodeAffinity(Wire, frozen=True):
    """Node rules of a pod: `required` filters, `preferred` scores."""

    required: NodeSelector | None = field(default=None, name="requiredDuringSchedulingIgnoredDuringExecution")
    preferred: tuple[PreferredNodeTerm, ...] = field(
        default=(), name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class PodAffinityTerm(Wire, frozen=True):
    """Which pods, in which namespaces, counted over which topology key."""

    topology_key: str = ""
    label_selector: Selector | None = None
    namespaces: tuple[str, ...] = ()
    namespace_selector: Selector | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class WeightedPodAffinityTerm(Wire, frozen=True):
    """A pod preference, weight 1 to 100."""

    weight: int = 0
    pod_affinity_term: PodAffinityTerm = PodAffinityTerm()


class PodAffinity(Wire, frozen=True):
    """Pod rules of a pod, for or against other pods: `required` filters, `preferred` scores."""

    required: tuple[PodAffinityTerm, ...] = field(
        default=(), name="requiredDuringSchedulingIgnoredDuringExecution"
    )
    preferred: tuple[WeightedPodAffinityTerm, ...] = field(
        default=(), name="preferredDuringSchedulingIgnoredDuringExecution"
    )


class Affinity(Wire, frozen=True):
    """All affinity rules of a pod."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class Toleration(Wire, frozen=True):
    """A taint that the pod puts up with; an empty key with `Exists` tolerates all, an empty effect every effect."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class TopologySpreadConstraint(Wire, frozen=True):
    """How evenly matching pods must spread over the domains of a topology key."""

    topology_key: str = ""
    max_skew: int = 1
    when_unsatisfiable: str = "DoNotSchedule"
    label_selector: Selector | None = None
    min_domains: int | None = None
    node_affinity_policy: str = "Honor"
    node_taints_policy: str = "Ignore"
    match_label_keys: tuple[str, ...] = ()


class ContainerPort(Wire, frozen=True):
    """A container port; `host_port` 0 means none."""

    container_port: int = 0
    host_port: int = 0
    host_ip: str = field(default="", name="hostIP")
    protocol: str = "TCP"
    name: str = ""


class Container(Wire, frozen=True):
    """A container or init container; `restart_policy` Always makes an init container a sidecar."""

    name: str = ""
    image: str = ""
    ports: tuple[ContainerPort, ...] = ()
    resources: Resources = Resources()
    restart_policy: str = ""


class ClaimSource(Wire, frozen=True):
    """A volume that names a claim."""

    claim_name: str = ""
    read_only: bool = False


class ClaimTemplate(Wire, frozen=True):
    """A volume with its own claim; the claim is called `<pod>-<volume>`."""


class Volume(Wire, frozen=True):
    """A pod volume, as far as claims go."""

    name: str = ""
    persistent_volume_claim: ClaimSource | None = None
    ephemeral: ClaimTemplate | None = None


class PodResourceClaim(Wire, frozen=True):
    """A ResourceClaim of a pod, by name or made from a template."""

    name: str = ""
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class PodResourceClaimStatus(Wire, frozen=True):
    """The ResourceClaim that was made for a template; without a name none was needed."""

    name: str = ""
    resource_claim_name: str | None = None


class SchedulingGate(Wire, frozen=True):
    """A gate that keeps the pod from being scheduled."""

    name: str = ""


class PodSpec(Wire, frozen=True):
    """What a pod asks for."""

    node_name: str = ""
    scheduler_name: str = ""
    priority: int | None = None
    priority_class_name: str = ""
    preemption_policy: str = ""
    restart_policy: str = ""
    node_selector: dict[str, str] = {}
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    overhead: ResourceList = {}
    resources: Resources | None = None
    scheduling_gates: tuple[SchedulingGate, ...] = ()
    volumes: tuple[Volume, ...] = ()
    resource_claims: tuple[PodResourceClaim, ...] = ()
    host_network: bool = False


class Terminated(Wire, frozen=True):
    """How a container ended."""

    exit_code: int = 0
    reason: str = ""
    message: str = ""


class ContainerState(Wire, frozen=True):
    """State of a container; only a finished one is looked at."""

    terminated: Terminated | None = None


class ContainerStatus(Wire, frozen=True):
    """What the kubelet says of one container; `resources` are those it has, after a resize in place."""

    name: str = ""
    ready: bool = False
    restart_count: int = 0
    state: ContainerState = ContainerState()
    resources: Resources | None = None
    allocated_resources: ResourceList = {}


class PodStatus(Wire, frozen=True):
    """What became of a pod."""

    phase: str = ""
    reason: str = ""
    message: str = ""
    nominated_node_name: str = ""
    start_time: datetime | None = None
    pod_ip: str = field(default="", name="podIP")
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    resource_claim_statuses: tuple[PodResourceClaimStatus, ...] = ()


class Pod(Wire, frozen=True):
    """A pod, as far as vcray reads it."""

    metadata: Metadata = Metadata()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()
