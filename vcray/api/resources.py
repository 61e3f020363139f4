"""Every resource that vcray talks to: group, version, kind, plural, scope, short names, subresources.

One table, so that the client builds paths, the embedded cluster builds discovery and the command line resolves
short names from the same facts. Kubernetes' own rows follow `kubectl api-resources`; Volcano's and those of other operators follow their CRDs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple


class GVK(NamedTuple):
    """Group, version and kind: what an object calls itself."""

    group: str
    version: str
    kind: str

    @property
    def api_version(self) -> str:
        """`group/version`, or the bare version for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version


class GVR(NamedTuple):
    """Group, version and plural resource: where an object is served."""

    group: str
    version: str
    resource: str


@dataclass(frozen=True, slots=True)
class Resource:
    """One served resource. `subresources` are those of the server's discovery, in its order."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True
    short_names: tuple[str, ...] = field(default=(), compare=False)
    subresources: tuple[str, ...] = field(default=(), compare=False)

    @property
    def api_version(self) -> str:
        """`group/version`, or the bare version for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def gvk(self) -> GVK:
        """Group, version, kind."""
        return GVK(self.group, self.version, self.kind)

    @property
    def gvr(self) -> GVR:
        """Group, version, plural."""
        return GVR(self.group, self.version, self.plural)

    @property
    def singular(self) -> str:
        """The kind in lower case."""
        return self.kind.lower()

    @property
    def list_kind(self) -> str:
        """The kind of a list answer."""
        return f"{self.kind}List"

    @property
    def full_name(self) -> str:
        """`plural.group`: the name of a CRD, and kubectl's unambiguous spelling."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(
        self, namespace: str | None = None, name: str | None = None, subresource: str | None = None
    ) -> str:
        """The request path; without a namespace all namespaces (or the cluster scope), without a name the list."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        parts = [root]
        if namespace and self.namespaced:
            parts += ["namespaces", namespace]
        parts.append(self.plural)
        if name:
            parts.append(name)
        if subresource:
            parts.append(subresource)
        return "/".join(parts)


_STATUS = ("status",)
_SCALED = ("scale", "status")

_POD_SUBRESOURCES = (
    "attach",
    "binding",
    "ephemeralcontainers",
    "eviction",
    "exec",
    "log",
    "portforward",
    "proxy",
    "resize",
    "status",
)

PODS = Resource("", "v1", "Pod", "pods", short_names=("po",), subresources=_POD_SUBRESOURCES)
NODES = Resource("", "v1", "Node", "nodes", False, ("no",), ("proxy", "status"))
NAMESPACES = Resource("", "v1", "Namespace", "namespaces", False, ("ns",), ("finalize", "status"))
SERVICES = Resource("", "v1", "Service", "services", short_names=("svc",), subresources=("proxy", "status"))
CONFIGMAPS = Resource("", "v1", "ConfigMap", "configmaps", short_names=("cm",))
SECRETS = Resource("", "v1", "Secret", "secrets")
EVENTS = Resource("", "v1", "Event", "events", short_names=("ev",))
PERSISTENTVOLUMECLAIMS = Resource(
    "", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", short_names=("pvc",), subresources=_STATUS
)
PERSISTENTVOLUMES = Resource("", "v1", "PersistentVolume", "persistentvolumes", False, ("pv",), _STATUS)
SERVICEACCOUNTS = Resource(
    "", "v1", "ServiceAccount", "serviceaccounts", short_names=("sa",), subresources=("token",)
)
RESOURCEQUOTAS = Resource(
    "", "v1", "ResourceQuota", "resourcequotas", short_names=("quota",), subresources=_STATUS
)
REPLICATIONCONTROLLERS = Resource(
    "", "v1", "ReplicationController", "replicationcontrollers", short_names=("rc",), subresources=_SCALED
)
ENDPOINTS = Resource("", "v1", "Endpoints", "endpoints", short_names=("ep",))

REPLICASETS = Resource("apps", "v1", "ReplicaSet", "replicasets", short_names=("rs",), subresources=_SCALED)
DEPLOYMENTS = Resource(
    "apps", "v1", "Deployment", "deployments", short_names=("deploy",), subresources=_SCALED
)
STATEFULSETS = Resource(
    "apps", "v1", "StatefulSet", "statefulsets", short_names=("sts",), subresources=_SCALED
)
DAEMONSETS = Resource("apps", "v1", "DaemonSet", "daemonsets", short_names=("ds",), subresources=_STATUS)
CONTROLLERREVISIONS = Resource("apps", "v1", "ControllerRevision", "controllerrevisions")
KUBERNETES_JOBS = Resource("batch", "v1", "Job", "jobs", subresources=_STATUS)
KUBERNETES_CRONJOBS = Resource(
    "batch", "v1", "CronJob", "cronjobs", short_names=("cj",), subresources=_STATUS
)
PRIORITYCLASSES = Resource("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", False, ("pc",))
LEASES = Resource("coordination.k8s.io", "v1", "Lease", "leases")
STORAGECLASSES = Resource("storage.k8s.io", "v1", "StorageClass", "storageclasses", False, ("sc",))
RUNTIMECLASSES = Resource("node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", False)
CSINODES = Resource("storage.k8s.io", "v1", "CSINode", "csinodes", False)
CSIDRIVERS = Resource("storage.k8s.io", "v1", "CSIDriver", "csidrivers", False)
CSISTORAGECAPACITIES = Resource("storage.k8s.io", "v1", "CSIStorageCapacity", "csistoragecapacities")
RESOURCECLAIMS = Resource("resource.k8s.io", "v1", "ResourceClaim", "resourceclaims", subresources=_STATUS)
RESOURCECLAIMTEMPLATES = Resource("resource.k8s.io", "v1", "ResourceClaimTemplate", "resourceclaimtemplates")
RESOURCESLICES = Resource("resource.k8s.io", "v1", "ResourceSlice", "resourceslices", False)
DEVICECLASSES = Resource("resource.k8s.io", "v1", "DeviceClass", "deviceclasses", False)
NETWORKPOLICIES = Resource(
    "networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", short_names=("netpol",)
)
PODDISRUPTIONBUDGETS = Resource(
    "policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", short_names=("pdb",), subresources=_STATUS
)
CUSTOMRESOURCEDEFINITIONS = Resource(
    "apiextensions.k8s.io",
    "v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
    False,
    ("crd", "crds"),
    _STATUS,
)
EVENTS_V1 = Resource("events.k8s.io", "v1", "Event", "events", short_names=("ev",))

JOBS = Resource("batch.volcano.sh", "v1alpha1", "Job", "jobs", True, ("vcjob", "vj"), _STATUS)
CRONJOBS = Resource(
    "batch.volcano.sh", "v1alpha1", "CronJob", "cronjobs", True, ("cronvcjob", "cronvj"), _STATUS
)
PODGROUPS = Resource(
    "scheduling.volcano.sh", "v1beta1", "PodGroup", "podgroups", True, ("pg", "podgroup-v1beta1")
)
QUEUES = Resource(
    "scheduling.volcano.sh", "v1beta1", "Queue", "queues", False, ("q", "queue-v1beta1"), _STATUS
)
COMMANDS = Resource("bus.volcano.sh", "v1alpha1", "Command", "commands")
NUMATOPOLOGIES = Resource(
    "nodeinfo.volcano.sh", "v1alpha1", "Numatopology", "numatopologies", False, ("numatopo",)
)
HYPERNODES = Resource("topology.volcano.sh", "v1alpha1", "HyperNode", "hypernodes", False, ("hn",), _STATUS)
JOBFLOWS = Resource("flow.volcano.sh", "v1alpha1", "JobFlow", "jobflows", True, ("jf",), _STATUS)
JOBTEMPLATES = Resource("flow.volcano.sh", "v1alpha1", "JobTemplate", "jobtemplates", True, ("jt",), _STATUS)
NODESHARDS = Resource("shard.volcano.sh", "v1alpha1", "NodeShard", "nodeshards", False, ("nsh",), _STATUS)
COLOCATIONCONFIGURATIONS = Resource(
    "config.volcano.sh",
    "v1alpha1",
    "ColocationConfiguration",
    "colocationconfigurations",
    subresources=_STATUS,
)

RAYCLUSTERS = Resource("ray.io", "v1", "RayCluster", "rayclusters", subresources=_STATUS)
RAYJOBS = Resource("ray.io", "v1", "RayJob", "rayjobs", subresources=_STATUS)
RAYSERVICES = Resource("ray.io", "v1", "RayService", "rayservices", subresources=_STATUS)
RAYCRONJOBS = Resource("ray.io", "v1", "RayCronJob", "raycronjobs", subresources=_STATUS)
PYTORCHJOBS = Resource("kubeflow.org", "v1", "PyTorchJob", "pytorchjobs", subresources=_SCALED)
TFJOBS = Resource("kubeflow.org", "v1", "TFJob", "tfjobs", subresources=_SCALED)
XGBOOSTJOBS = Resource("kubeflow.org", "v1", "XGBoostJob", "xgboostjobs", subresources=_SCALED)
PADDLEJOBS = Resource("kubeflow.org", "v1", "PaddleJob", "paddlejobs", subresources=_SCALED)
JAXJOBS = Resource("kubeflow.org", "v1", "JAXJob", "jaxjobs", subresources=_SCALED)
MPIJOBS_V1 = Resource("kubeflow.org", "v1", "MPIJob", "mpijobs", subresources=_SCALED)
MPIJOBS = Resource("kubeflow.org", "v2beta1", "MPIJob", "mpijobs", subresources=_STATUS)
TRAINJOBS = Resource("trainer.kubeflow.org", "v1alpha1", "TrainJob", "trainjobs", subresources=_STATUS)
TRAININGRUNTIMES = Resource("trainer.kubeflow.org", "v1alpha1", "TrainingRuntime", "trainingruntimes")
CLUSTERTRAININGRUNTIMES = Resource(
    "trainer.kubeflow.org", "v1alpha1", "ClusterTrainingRuntime", "clustertrainingruntimes", False
)
SPARKAPPLICATIONS = Resource(
    "sparkoperator.k8s.io",
    "v1beta2",
    "SparkApplication",
    "sparkapplications",
    short_names=("sparkapp",),
    subresources=_STATUS,
)
JOBSETS = Resource("jobset.x-k8s.io", "v1alpha2", "JobSet", "jobsets", subresources=_STATUS)
LEADERWORKERSETS = Resource(
    "leaderworkerset.x-k8s.io",
    "v1",
    "LeaderWorkerSet",
    "leaderworkersets",
    short_names=("lws",),
    subresources=_SCALED,
)
DASKCLUSTERS = Resource("kubernetes.dask.org", "v1", "DaskCluster", "daskclusters", subresources=_STATUS)
DASKJOBS = Resource("kubernetes.dask.org", "v1", "DaskJob", "daskjobs", subresources=_STATUS)
DASKWORKERGROUPS = Resource(
    "kubernetes.dask.org", "v1", "DaskWorkerGroup", "daskworkergroups", subresources=_SCALED
)
DASKAUTOSCALERS = Resource("kubernetes.dask.org", "v1", "DaskAutoscaler", "daskautoscalers")
FLINKDEPLOYMENTS = Resource(
    "flink.apache.org",
    "v1beta1",
    "FlinkDeployment",
    "flinkdeployments",
    short_names=("flinkdep",),
    subresources=_SCALED,
)
NATIVE_WORKLOADS = Resource("scheduling.k8s.io", "v1alpha2", "Workload", "workloads")
NATIVE_PODGROUPS = Resource("scheduling.k8s.io", "v1alpha2", "PodGroup", "podgroups", subresources=_STATUS)

KUBERNETES_RESOURCES: tuple[Resource, ...] = (
    PODS,
    NODES,
    NAMESPACES,
    SERVICES,
    CONFIGMAPS,
    SECRETS,
    EVENTS,
    PERSISTENTVOLUMECLAIMS,
    PERSISTENTVOLUMES,
    SERVICEACCOUNTS,
    RESOURCEQUOTAS,
    REPLICATIONCONTROLLERS,
    ENDPOINTS,
    REPLICASETS,
    DEPLOYMENTS,
    STATEFULSETS,
    DAEMONSETS,
    CONTROLLERREVISIONS,
    KUBERNETES_JOBS,
    KUBERNETES_CRONJOBS,
    PRIORITYCLASSES,
    LEASES,
    STORAGECLASSES,
    RUNTIMECLASSES,
    CSINODES,
    CSIDRIVERS,
    CSISTORAGECAPACITIES,
    RESOURCECLAIMS,
    RESOURCECLAIMTEMPLATES,
    RESOURCESLICES,
    DEVICECLASSES,
    NETWORKPOLICIES,
    PODDISRUPTIONBUDGETS,
    CUSTOMRESOURCEDEFINITIONS,
    EVENTS_V1,
)
"""Resources that a Kubernetes API server serves by itself."""

VOLCANO_RESOURCES: tuple[Resource, ...] = (
    JOBS,
    CRONJOBS,
    PODGROUPS,
    QUEUES,
    COMMANDS,
    NUMATOPOLOGIES,
    HYPERNODES,
    JOBFLOWS,
    JOBTEMPLATES,
    NODESHARDS,
    COLOCATIONCONFIGURATIONS,
)
"""Resources that our CRDs add."""

OPERATORS_RESOURCES: tuple[Resource, ...] = (
    RAYCLUSTERS,
    RAYJOBS,
    RAYSERVICES,
    RAYCRONJOBS,
    PYTORCHJOBS,
    TFJOBS,
    XGBOOSTJOBS,
    PADDLEJOBS,
    JAXJOBS,
    MPIJOBS_V1,
    MPIJOBS,
    TRAINJOBS,
    TRAININGRUNTIMES,
    CLUSTERTRAININGRUNTIMES,
    SPARKAPPLICATIONS,
    JOBSETS,
    LEADERWORKERSETS,
    DASKCLUSTERS,
    DASKJOBS,
    DASKWORKERGROUPS,
    DASKAUTOSCALERS,
    FLINKDEPLOYMENTS,
)
"""Resources that other operators' CRDs add; a cluster serves those whose operators it has."""

NATIVE_GANG_RESOURCES: tuple[Resource, ...] = (NATIVE_WORKLOADS, NATIVE_PODGROUPS)
"""Kubernetes' own gangs: an API server serves them only where it is told to."""

ALL_RESOURCES: tuple[Resource, ...] = (
    KUBERNETES_RESOURCES + VOLCANO_RESOURCES + OPERATORS_RESOURCES + NATIVE_GANG_RESOURCES
)

_BY_KIND = {(r.api_version, r.kind): r for r in ALL_RESOURCES}
_BY_PLURAL = {(r.group, r.version, r.plural): r for r in ALL_RESOURCES}


def resource_for(api_version: str, kind: str) -> Resource:
    """The resource of an object by its `apiVersion` and `kind`. Raises KeyError if the table lacks it."""
    return _BY_KIND[api_version, kind]


def resource_at(group: str, version: str, plural: str) -> Resource:
    """The resource served under a path. Raises KeyError if the table lacks it."""
    return _BY_PLURAL[group, version, plural]


def resolve(word: str, resources: Iterable[Resource] = ALL_RESOURCES) -> Resource | None:
    """The first resource that a user may call by this word: plural, singular, kind, short name, `plural.group` or
    `plural.version.group`."""
    folded = word.lower()
    for resource in resources:
        versioned = f"{resource.plural}.{resource.version}.{resource.group}"
        names = (resource.plural, resource.singular, resource.full_name, versioned, *resource.short_names)
        if folded in names:
            return resource
    return None
