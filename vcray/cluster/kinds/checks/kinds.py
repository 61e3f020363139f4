"""Which rules an object of a built-in kind must keep: those of its metadata, then those of its kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from vcray.api.jsonview import dig
from vcray.api.meta import JsonObject
from vcray.api.resources import KUBERNETES_JOBS, Resource
from vcray.cluster.kinds.checks import network, plain, storage, workloads
from vcray.cluster.kinds.checks.changes import COMPARISONS
from vcray.cluster.kinds.checks.labels import metadata_faults
from vcray.cluster.kinds.checks.podspecs import pod_faults

Check: TypeAlias = Callable[[JsonObject], Iterable[str]]
"""The field errors of an object."""

_CHECKS: Mapping[str, Check] = {
    "pods": pod_faults,
    "podtemplates": plain.pod_template_faults,
    "replicationcontrollers": workloads.replication_controller_faults,
    "services": network.service_faults,
    "endpoints": network.endpoints_faults,
    "configmaps": plain.config_map_faults,
    "secrets": plain.secret_faults,
    "nodes": plain.node_faults,
    "events": plain.event_faults,
    "resourcequotas": plain.resource_quota_faults,
    "limitranges": plain.limit_range_faults,
    "persistentvolumeclaims": storage.claim_faults,
    "persistentvolumes": storage.volume_object_faults,
    "storageclasses.storage.k8s.io": storage.storage_class_faults,
    "deployments.apps": workloads.deployment_faults,
    "replicasets.apps": workloads.replica_set_faults,
    "statefulsets.apps": workloads.stateful_set_faults,
    "daemonsets.apps": workloads.daemon_set_faults,
    "controllerrevisions.apps": plain.revision_faults,
    "jobs.batch": workloads.job_faults,
    "cronjobs.batch": workloads.cron_job_faults,
    "horizontalpodautoscalers.autoscaling": plain.autoscaler_faults,
    "poddisruptionbudgets.policy": plain.disruption_budget_faults,
    "priorityclasses.scheduling.k8s.io": plain.priority_class_faults,
    "leases.coordination.k8s.io": plain.lease_faults,
    "runtimeclasses.node.k8s.io": plain.runtime_class_faults,
    "roles.rbac.authorization.k8s.io": plain.role_faults,
    "clusterroles.rbac.authorization.k8s.io": plain.cluster_role_faults,
    "rolebindings.rbac.authorization.k8s.io": plain.role_binding_faults,
    "clusterrolebindings.rbac.authorization.k8s.io": plain.cluster_role_binding_faults,
    "networkpolicies.networking.k8s.io": network.network_policy_faults,
    "ingresses.networking.k8s.io": network.ingress_faults,
    "ingressclasses.networking.k8s.io": network.ingress_class_faults,
    "endpointslices.discovery.k8s.io": network.endpoint_slice_faults,
}


def validate_new(resource: Resource, obj: JsonObject) -> list[str]:
    """All field errors of a new object."""
    errors = list(metadata_faults(resource, obj))
    if resource == KUBERNETES_JOBS and _shows_labels_of_pods(obj):
        errors = [error for error in errors if not error.startswith("metadata.labels:")]
    check = _CHECKS.get(resource.full_name)
    if check is not None:
        errors += check(obj)
    return errors


def _shows_labels_of_pods(job: JsonObject) -> bool:
    """Whether a job's labels are only those of its template, where they are checked."""
    return dig(job, "metadata", "labels") == dig(job, "spec", "template", "metadata", "labels")


def validate_changed(resource: Resource, old: JsonObject, obj: JsonObject) -> list[str]:
    """All field errors of a changed object, those of the change first; what did not change is not looked at again."""
    compare = COMPARISONS.get(resource.full_name)
    errors: list[str] = [] if compare is None else list(compare(old, obj))
    if old.get("metadata") != obj.get("metadata"):
        errors += metadata_faults(resource, obj)
    check = _CHECKS.get(resource.full_name)
    if check is not None and _content(old) != _content(obj):
        # ephemeral containers come later, through an endpoint of their own, and then stay
        errors += [
            fault for fault in check(obj) if not fault.startswith("spec.ephemeralContainers: Forbidden")
        ]
    return errors


def _content(obj: JsonObject) -> JsonObject:
    return {key: value for key, value in obj.items() if key not in ("metadata", "status")}
