"""Defaults of built-in types: a table of plain values, those that OpenAPI tells, and the few that have to be computed.

A default belongs to a type, wherever an object of that type stands: a probe has its period in a pod and in the template
of a deployment alike. An empty value counts as missing where Go cannot tell the two apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import TypeAlias

from vcray.api.jsonview import dig_object, dig_str
from vcray.api.meta import JsonObject, JsonValue
from vcray.cluster.kinds.computed import COMPUTED
from vcray.cluster.kinds.data import kinds_data

Fill: TypeAlias = Callable[[JsonObject], None]
"""Fills in what is missing in an object of one type, in place."""

_RBAC = "rbac.authorization.k8s.io"
_WEBHOOK: Mapping[str, JsonValue] = {
    "failurePolicy": "Fail",
    "matchPolicy": "Equivalent",
    "namespaceSelector": {},
    "objectSelector": {},
    "timeoutSeconds": 10,
}
_FILE_MODE: Mapping[str, JsonValue] = {"defaultMode": 420}

TABLE: Mapping[str, Mapping[str, JsonValue]] = {
    "core.v1.PodSpec": {
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "securityContext": {},
        "schedulerName": "default-scheduler",
    },
    "core.v1.Probe": {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3},
    "core.v1.HTTPGetAction": {"path": "/", "scheme": "HTTP"},
    "core.v1.SecretVolumeSource": _FILE_MODE,
    "core.v1.ConfigMapVolumeSource": _FILE_MODE,
    "core.v1.DownwardAPIVolumeSource": _FILE_MODE,
    "core.v1.ProjectedVolumeSource": _FILE_MODE,
    "core.v1.ServiceAccountTokenProjection": {"expirationSeconds": 3600},
    "core.v1.HostPathVolumeSource": {"type": ""},
    "core.v1.ObjectFieldSelector": {"apiVersion": "v1"},
    "core.v1.EndpointPort": {"protocol": "TCP"},
    "core.v1.Secret": {"type": "Opaque"},
    "core.v1.PersistentVolumeSpec": {
        "persistentVolumeReclaimPolicy": "Retain",
        "volumeMode": "Filesystem",
    },
    "core.v1.PersistentVolumeStatus": {"phase": "Pending"},
    "core.v1.PersistentVolumeClaimSpec": {"volumeMode": "Filesystem"},
    "core.v1.PersistentVolumeClaimStatus": {"phase": "Pending"},
    "core.v1.NamespaceStatus": {"phase": "Active"},
    "core.v1.ReplicationControllerSpec": {"replicas": 1},
    "apps.v1.DeploymentSpec": {"replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600},
    "apps.v1.ReplicaSetSpec": {"replicas": 1},
    "apps.v1.DaemonSetSpec": {"revisionHistoryLimit": 10},
    "apps.v1.StatefulSetSpec": {
        "replicas": 1,
        "podManagementPolicy": "OrderedReady",
        "revisionHistoryLimit": 10,
    },
    "batch.v1.CronJobSpec": {
        "concurrencyPolicy": "Allow",
        "suspend": False,
        "successfulJobsHistoryLimit": 3,
        "failedJobsHistoryLimit": 1,
    },
    "batch.v1.PodFailurePolicyOnPodConditionsPattern": {"status": "True"},
    "autoscaling.v1.HorizontalPodAutoscalerSpec": {"minReplicas": 1},
    "networking.v1.NetworkPolicyPort": {"protocol": "TCP"},
    "networking.v1.IngressClassParametersReference": {"scope": "Cluster"},
    "rbac.v1.RoleRef": {"apiGroup": _RBAC},
    "storage.v1.StorageClass": {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"},
    "storage.v1.CSIDriverSpec": {
        "attachRequired": True,
        "podInfoOnMount": False,
        "storageCapacity": False,
        "fsGroupPolicy": "ReadWriteOnceWithFSType",
        "volumeLifecycleModes": ["Persistent"],
        "requiresRepublish": False,
        "seLinuxMount": False,
    },
    "scheduling.v1.PriorityClass": {"preemptionPolicy": "PreemptLowerPriority"},
    "discovery.v1.EndpointPort": {"name": "", "protocol": "TCP"},
    "flowcontrol.v1.FlowSchemaSpec": {"matchingPrecedence": 1000},
    "flowcontrol.v1.ExemptPriorityLevelConfiguration": {"nominalConcurrencyShares": 0, "lendablePercent": 0},
    "flowcontrol.v1.LimitedPriorityLevelConfiguration": {
        "nominalConcurrencyShares": 30,
        "lendablePercent": 0,
    },
    "flowcontrol.v1.QueuingConfiguration": {"handSize": 8, "queues": 64, "queueLengthLimit": 50},
    "admissionregistration.v1.ValidatingWebhook": _WEBHOOK,
    "admissionregistration.v1.MutatingWebhook": {**_WEBHOOK, "reinvocationPolicy": "Never"},
    "admissionregistration.v1.RuleWithOperations": {"scope": "*"},
    "admissionregistration.v1.NamedRuleWithOperations": {"scope": "*"},
    "admissionregistration.v1.ServiceReference": {"port": 443},
    "admissionregistration.v1.ValidatingAdmissionPolicySpec": {"failurePolicy": "Fail"},
    "admissionregistration.v1.MutatingAdmissionPolicySpec": {"failurePolicy": "Fail"},
    "admissionregistration.v1.MatchResources": {
        "matchPolicy": "Equivalent",
        "namespaceSelector": {},
        "objectSelector": {},
    },
    "resource.v1.ExactDeviceRequest": {"allocationMode": "ExactCount"},
    "resource.v1.DeviceSubRequest": {"allocationMode": "ExactCount"},
    "apiextensions.v1.CustomResourceDefinitionSpec": {"conversion": {"strategy": "None"}},
    "apiextensions.v1.ServiceReference": {"port": 443},
    "apiregistration.v1.ServiceReference": {"port": 443},
}
"""Type without its project's prefix -> field -> default."""


def short_name(type_name: str) -> str:
    """The last three words of a type's name: `core.v1.Pod`."""
    return ".".join(type_name.rsplit(".", 3)[1:])


def _told(schema: JsonObject) -> dict[str, JsonValue]:
    """The defaults that OpenAPI tells and that are not just the empty value of a field that is always written."""
    found: dict[str, JsonValue] = {}
    for name, part in dig_object(schema, "properties").items():
        default = dig_object(part).get("default")
        pointer = dig_str(part, "go").startswith("*")
        if default is not None and default != {} and (default or pointer):
            found[name] = default
    return found


def of(type_name: str) -> Fill | None:
    """What fills in the defaults of a type; None if it has none."""
    schema = kinds_data().types[type_name]
    short = short_name(type_name)
    table = {**_told(schema), **TABLE.get(short, {})}
    compute = COMPUTED.get(short)
    if not table:
        return compute
    properties = dig_object(schema, "properties")
    pointers = {name for name in table if dig_str(properties, name, "go").startswith("*")}
    plain = [(name, value) for name, value in table.items() if not isinstance(value, dict | list)]
    deep = [(name, value) for name, value in table.items() if isinstance(value, dict | list)]

    def fill(obj: JsonObject) -> None:
        for name, value in plain:
            if not obj.get(name) and not (name in pointers and obj.get(name) is not None):
                obj[name] = value
        for name, whole in deep:
            if obj.get(name) is None:
                obj[name] = deepcopy(whole)
        if compute is not None:
            compute(obj)

    return fill
