"""Labels, annotations, finalizers and fixed names of the Volcano API, each under one typed constant.

The words after the slash are a contract with users' manifests and with other operators; the constants only
save them from being misspelt. Where a key may be an annotation or a label, the comment says which.
"""

from __future__ import annotations

from typing import Final

# Groups
CORE_GROUP: Final = ""
BATCH_GROUP: Final = "batch.volcano.sh"
SCHEDULING_GROUP: Final = "scheduling.volcano.sh"
BUS_GROUP: Final = "bus.volcano.sh"
FLOW_GROUP: Final = "flow.volcano.sh"
TOPOLOGY_GROUP: Final = "topology.volcano.sh"
NODEINFO_GROUP: Final = "nodeinfo.volcano.sh"
SHARD_GROUP: Final = "shard.volcano.sh"
CONFIG_GROUP: Final = "config.volcano.sh"

# Fixed names
SCHEDULER_NAME: Final = "volcano"
AGENT_SCHEDULER_NAME: Final = "agent-scheduler"
DEFAULT_SCHEDULER_NAME: Final = "default-scheduler"  # of pods that name none
SYSTEM_NAMESPACE: Final = "volcano-system"
CONTROLLER_COMPONENT: Final = "vc-controller-manager"
DEFAULT_QUEUE: Final = "default"
ROOT_QUEUE: Final = "root"
PODGROUP_PREFIX: Final = "podgroup-"
VOLCANO_PREFIX: Final = "volcano.sh/"  # owner annotations under it are inherited by the PodGroup

# Pod: gang and queue membership (annotations)
GROUP_NAME: Final = "scheduling.k8s.io/group-name"
VOLCANO_GROUP_NAME: Final = "scheduling.volcano.sh/group-name"
GROUP_MIN_MEMBER: Final = (
    "scheduling.volcano.sh/group-min-member"  # on ReplicaSet, StatefulSet, DaemonSet, Job
)
GROUP_MIN_RESOURCES: Final = "scheduling.volcano.sh/group-min-resources"
POD_QUEUE_NAME: Final = "scheduling.volcano.sh/queue-name"  # Pod and Namespace
QUEUE_ALLOCATION_GATE: Final = "scheduling.volcano.sh/queue-allocation-gate"  # annotation and gate name
QUEUE_NAME: Final = "volcano.sh/queue-name"  # annotation and label

# Pod of a vcjob
JOB_NAME: Final = "volcano.sh/job-name"  # label and annotation
JOB_NAMESPACE: Final = "volcano.sh/job-namespace"  # label
TASK_SPEC: Final = "volcano.sh/task-spec"  # label and annotation
TASK_INDEX: Final = "volcano.sh/task-index"  # label and annotation
TASK_PRIORITY: Final = "volcano.sh/task-priority"  # annotation, int32
LEADING: Final = 2**31 - 1  # task priority of pods that lead their gang: placed first, evicted last
JOB_VERSION: Final = "volcano.sh/job-version"  # annotation
JOB_RETRY_COUNT: Final = "volcano.sh/job-retry-count"  # annotation
TEMPLATE_UID: Final = "volcano.sh/template-uid"  # annotation
PARTITION_ID: Final = "volcano.sh/partition-id"  # label
CONTROLLER_OUT_OF_SYNC: Final = "volcano.sh/controller-out-of-sync"  # annotation
JOB_VOLCANO: Final = "job.volcano.sh"  # label set by vcctl run and vsub
RANK_INDEX: Final = "hccl/rankIndex"  # annotation

# Job
JOB_TYPE: Final = "volcano.sh/job-type"  # label
JOB_FORWARDING: Final = "volcano.sh/job-forwarding"
FORWARD_CLUSTER: Final = "volcano.sh/forward-cluster"
BURST_NAME: Final = "volcano.sh/burst-name"
SILO_RESOURCE: Final = "volcano.sh/silo-resource"
CREATED_BY_JOB_TEMPLATE: Final = "volcano.sh/createdByJobTemplate"  # label and annotation, `namespace.name`
CREATED_BY_JOB_FLOW: Final = "volcano.sh/createdByJobFlow"  # label and annotation, `namespace.name`
CRONJOB_SCHEDULED_TIMESTAMP: Final = "volcano.sh/cronjob-scheduled-timestamp"  # annotation

# Preemption and disruption (Job, Pod, PodGroup)
PREEMPTABLE: Final = "volcano.sh/preemptable"  # annotation, then label
POD_DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"  # annotation of Kubernetes, int32
COOLDOWN_TIME: Final = "volcano.sh/cooldown-time"  # label, then annotation
REVOCABLE_ZONE: Final = "volcano.sh/revocable-zone"  # annotation; a label on nodes
JDB_MIN_AVAILABLE: Final = "volcano.sh/jdb-min-available"  # annotation
JDB_MAX_UNAVAILABLE: Final = "volcano.sh/jdb-max-unavailable"  # annotation
SLA_WAITING_TIME: Final = "volcano.sh/sla-waiting-time"  # annotation
SLA_WAITING_TIME_BARE: Final = "sla-waiting-time"  # annotation, read after the prefixed key

# Placement
NUMA_TOPOLOGY_POLICY: Final = "volcano.sh/numa-topology-policy"  # annotation
TOPOLOGY_DECISION: Final = "volcano.sh/topology-decision"  # annotation
PINNED_CPUS: Final = "vcray.io/pinned-cpus"  # annotation of ours: the cpus behind the decision
TASK_TOPOLOGY_AFFINITY: Final = "volcano.sh/task-topology-affinity"  # annotation on PodGroup
TASK_TOPOLOGY_ANTI_AFFINITY: Final = "volcano.sh/task-topology-anti-affinity"
TASK_TOPOLOGY_TASK_ORDER: Final = "volcano.sh/task-topology-task-order"
NETWORK_TOPOLOGY_MODE: Final = "volcano.sh/network-topology-mode"  # annotation
NETWORK_TOPOLOGY_HIGHEST_TIER: Final = "volcano.sh/network-topology-highest-tier"  # annotation
NETWORK_TOPOLOGY_SOURCE: Final = "volcano.sh/network-topology-source"  # label on HyperNode
JOB_ALLOCATED_HYPERNODE: Final = "volcano.sh/job-allocated-hypernode"  # annotation on PodGroup
RESOURCE_STRATEGY_SCORING_TYPE: Final = "volcano.sh/resource-strategy-scoring-type"
RESOURCE_STRATEGY_WEIGHT: Final = "volcano.sh/resource-strategy-weight"
RESOURCE_GROUP: Final = "volcano.sh/resource-group"  # annotation
QOS_LEVEL: Final = "volcano.sh/qos-level"  # annotation
COLOCATION_CONFIG: Final = "volcano.sh/colocation-config"  # annotation
COLOCATION_CONFIG_NAME: Final = "volcano.sh/colocation-config-name"  # annotation
GPU_INDEX: Final = "volcano.sh/gpu-index"  # annotation

# Groups that we make for the objects of other operators (docs/integrations.md)
MANAGED_BY: Final = "vcray.io/managed-by"  # label: the integration that keeps the PodGroup
RELEASED: Final = "vcray.io/released"  # annotation on PodGroup: why it holds no room, whatever its spec says
MIN_MEMBER: Final = "vcray.io/min-member"  # annotation on PodGroup: how many start together for now
UNCLAIMED: Final = "vcray.io/unclaimed"  # annotation on PodGroup: why what it was let in for counts no more
START_TOGETHER: Final = "vcray.io/start-together"  # annotation on objects that start as one group
START_TOGETHER_COUNT: Final = "vcray.io/start-together-count"  # annotation: how many they are to be
NETWORK_TOPOLOGY_HIGHEST_TIER_ALLOWED: Final = "volcano.sh/network-topology-highest-tier-allowed"  # label
RAY_PRIORITY_CLASS: Final = "ray.io/priority-class-name"  # label on RayCluster, RayJob, RayService
RAY_WORK: Final = "vcray.io/ray-work"  # annotation on Ray's workers: the pod-deletion-cost that we gave

# Queue (annotations)
HIERARCHY: Final = "volcano.sh/hierarchy"
HIERARCHY_WEIGHTS: Final = "volcano.sh/hierarchy-weights"
CLOSED_BY_PARENT: Final = "volcano.sh/closed-by-parent"
NODEGROUP_RESOURCE_LIMITS: Final = "volcano.sh/nodegroup-resource-limits"

# Queue: annotations of ours, lists of patterns: whom it serves (docs/tenants.md)
ALLOWED_NAMESPACES: Final = "vcray.io/allowed-namespaces"
ALLOWED_USERS: Final = "vcray.io/allowed-users"
ALLOWED_GROUPS: Final = "vcray.io/allowed-groups"
ALLOWED_SERVICE_ACCOUNTS: Final = "vcray.io/allowed-service-accounts"

# Node
NODEGROUP_NAME: Final = "volcano.sh/nodegroup-name"  # label
NODE_WARMUP: Final = "node.volcano.sh/warmup"  # label
OVERSUBSCRIPTION: Final = "volcano.sh/oversubscription"  # label
OVERSUBSCRIPTION_CPU: Final = "volcano.sh/oversubscription-cpu"  # annotation, milli-cpu
OVERSUBSCRIPTION_MEMORY: Final = "volcano.sh/oversubscription-memory"  # annotation, bytes
OFFLINE_JOB_EVICTING: Final = "volcano.sh/offline-job-evicting"  # annotation
NODE_POOL: Final = "vcray.io/node-pool"  # label of ours: which cache shard keeps the node
BROKE_GANGS: Final = (
    "vcray.io/broke-gangs"  # annotation of ours: when the node's failures broke gangs, with commas between
)
UNRELIABLE: Final = "vcray.io/unreliable"  # key of a taint of ours: the node broke gangs too often
HOSTNAME: Final = "kubernetes.io/hostname"  # label

# Resources
CPU: Final = "cpu"
MEMORY: Final = "memory"
PODS: Final = "pods"
EPHEMERAL_STORAGE: Final = "ephemeral-storage"
NVIDIA_GPU: Final = "nvidia.com/gpu"
HUGEPAGES_PREFIX: Final = "hugepages-"
ATTACHABLE_VOLUMES_PREFIX: Final = "attachable-volumes-"
CSI_VOLUMES_PREFIX: Final = "attachable-volumes-csi-"

# Volumes
SELECTED_NODE: Final = (
    "volume.kubernetes.io/selected-node"  # annotation of a claim: make its volume for this node
)
BOUND_BY_CONTROLLER: Final = "pv.kubernetes.io/bound-by-controller"  # annotation of a volume
BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"  # annotation of a claim
BETA_STORAGE_CLASS: Final = "volume.beta.kubernetes.io/storage-class"  # annotation of claims and volumes
CSI_DRIVER_PARAMETER: Final = "csi.storage.k8s.io/csi-driver-name"  # parameter of a storage class
ZONE_LABELS: Final = (
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
)

# What the scheduler reads of annotations and labels (annotation first where a key may be either)
VGPU_MODE: Final = "volcano.sh/vgpu-mode"  # annotation
POD_NOTES: Final = (
    PREEMPTABLE, REVOCABLE_ZONE, COOLDOWN_TIME, NUMA_TOPOLOGY_POLICY, TOPOLOGY_DECISION, QUEUE_ALLOCATION_GATE,
    RESOURCE_STRATEGY_SCORING_TYPE, RESOURCE_STRATEGY_WEIGHT, TASK_SPEC, POD_DELETION_COST,
)  # fmt: skip
PLACEMENT_NOTES: Final = (
    PREEMPTABLE, REVOCABLE_ZONE, NUMA_TOPOLOGY_POLICY, RESOURCE_STRATEGY_SCORING_TYPE, RESOURCE_STRATEGY_WEIGHT,
    QUEUE_ALLOCATION_GATE,
)  # fmt: skip
GROUP_NOTES: Final = (
    PREEMPTABLE, REVOCABLE_ZONE, SLA_WAITING_TIME, SLA_WAITING_TIME_BARE, JDB_MIN_AVAILABLE, JDB_MAX_UNAVAILABLE,
    TASK_TOPOLOGY_AFFINITY, TASK_TOPOLOGY_ANTI_AFFINITY, TASK_TOPOLOGY_TASK_ORDER, JOB_ALLOCATED_HYPERNODE,
)  # fmt: skip
QUEUE_NOTES: Final = (HIERARCHY, HIERARCHY_WEIGHTS, NODEGROUP_RESOURCE_LIMITS)
NODE_NOTES: Final = (OVERSUBSCRIPTION_CPU, OVERSUBSCRIPTION_MEMORY, OFFLINE_JOB_EVICTING)

# Annotations of generated CRDs
HELM_RESOURCE_POLICY: Final = "helm.sh/resource-policy"
CONTROLLER_GEN_VERSION: Final = "controller-gen.kubebuilder.io/version"
