"""Checks of the kinds whose rules are few: configuration, access, amounts, budgets, priorities, leases, nodes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from vcray.api.formats import (
    dns_label,
    forbidden,
    invalid,
    qualified_name,
    required,
    unsupported,
)
from vcray.api.jsonview import dig_int, dig_list, dig_object, dig_objects, dig_str
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.podresources import COUNTED_OBJECTS
from vcray.api.quantity import parse_quantity
from vcray.cluster.kinds.checks.labels import selector_faults
from vcray.cluster.kinds.checks.placement import taint_faults
from vcray.cluster.kinds.checks.podspecs import template_faults
from vcray.cluster.kinds.checks.words import (
    NOT_NEGATIVE,
    at_most_whole,
    count_or_percent,
    named,
    not_negative,
    one_of,
)

_KEY_RULE = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or "
    "'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
_RBAC = "rbac.authorization.k8s.io"
_MOST = 1024 * 1024


def _key_faults(key: str, path: str) -> Iterator[str]:
    here = f"{path}[{key}]"
    if len(key) > 253:
        yield invalid(here, key, "must be no more than 253 characters")
    if not re.fullmatch(r"[-._a-zA-Z0-9]+", key):
        yield invalid(here, key, _KEY_RULE)
    elif key in (".", ".."):
        yield invalid(here, key, f"must not be '{key}'")
    elif key.startswith(".."):
        yield invalid(here, key, "must not start with '..'")


def config_map_faults(obj: JsonObject) -> Iterator[str]:
    """A ConfigMap."""
    data, raw = dig_object(obj, "data"), dig_object(obj, "binaryData")
    for key in data:
        yield from _key_faults(key, "data")
        if key in raw:
            yield invalid(f"data[{key}]", key, "duplicate of key present in binaryData")
    for key in raw:
        yield from _key_faults(key, "binaryData")
    size = sum(len(str(value)) for value in data.values()) + sum(len(str(v)) * 3 // 4 for v in raw.values())
    if size > _MOST:
        yield f": Too long: may not be more than {_MOST} bytes"


_SECRET_KEYS = {
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
}


def secret_faults(obj: JsonObject) -> Iterator[str]:
    """A Secret."""
    data, kind = dig_object(obj, "data"), dig_str(obj, "type")
    for key in data:
        yield from _key_faults(key, "data")
    if sum(len(str(value)) * 3 // 4 for value in data.values()) > _MOST:
        yield f"data: Too long: may not be more than {_MOST} bytes"
    if kind == "kubernetes.io/service-account-token":
        name = "kubernetes.io/service-account.name"
        if not dig_object(obj, "metadata", "annotations").get(name):
            yield required(f"metadata.annotations[{name}]")
    if kind == "kubernetes.io/basic-auth" and not {"username", "password"} & set(data):
        yield required("data[username]")
        yield required("data[password]")
    for key in _SECRET_KEYS.get(kind, ()):
        if key not in data:
            yield required(f"data[{key}]")


# -- access ----------------------------------------------------------------------------------------------------


def role_faults(obj: JsonObject) -> Iterator[str]:
    """A Role."""
    yield from _rules_faults(obj, namespaced=True)


def cluster_role_faults(obj: JsonObject) -> Iterator[str]:
    """A ClusterRole."""
    yield from _rules_faults(obj, namespaced=False)


def _rules_faults(obj: JsonObject, namespaced: bool) -> Iterator[str]:
    for index, rule in enumerate(dig_objects(obj, "rules")):
        here, urls = f"rules[{index}]", dig_list(rule, "nonResourceURLs")
        if not rule.get("verbs"):
            yield required(f"{here}.verbs", "verbs must contain at least one value")
        if urls:
            if namespaced:
                why = "namespaced rules cannot apply to non-resource URLs"
                yield invalid(f"{here}.nonResourceURLs", urls, why)
            if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
                why = "rules cannot apply to both regular resources and non-resource URLs"
                yield invalid(f"{here}.nonResourceURLs", urls, why)
            continue
        if not rule.get("apiGroups"):
            yield required(f"{here}.apiGroups", "resource rules must supply at least one api group")
        if not rule.get("resources"):
            yield required(f"{here}.resources", "resource rules must supply at least one resource")


def role_binding_faults(obj: JsonObject) -> Iterator[str]:
    """A RoleBinding."""
    yield from _binding_faults(obj, ("Role", "ClusterRole"))


def cluster_role_binding_faults(obj: JsonObject) -> Iterator[str]:
    """A ClusterRoleBinding."""
    yield from _binding_faults(obj, ("ClusterRole",))


def _binding_faults(obj: JsonObject, roles: tuple[str, ...]) -> Iterator[str]:
    role = dig_object(obj, "roleRef")
    if dig_str(role, "apiGroup") != _RBAC:
        yield unsupported("roleRef.apiGroup", dig_str(role, "apiGroup"), (_RBAC,))
    if dig_str(role, "kind") not in roles:
        yield unsupported("roleRef.kind", dig_str(role, "kind"), roles)
    if not dig_str(role, "name"):
        yield required("roleRef.name")
    for index, subject in enumerate(dig_objects(obj, "subjects")):
        yield from _subject_faults(subject, f"subjects[{index}]", obj)


def _subject_faults(subject: JsonObject, path: str, obj: JsonObject) -> Iterator[str]:
    kind, group = dig_str(subject, "kind"), dig_str(subject, "apiGroup")
    if not dig_str(subject, "name"):
        yield required(f"{path}.name")
    if kind == "ServiceAccount":
        if group:
            yield unsupported(f"{path}.apiGroup", group, ("",))
        if not subject.get("namespace") and "namespace" not in dig_object(obj, "metadata"):
            yield required(f"{path}.namespace")
    elif kind in ("User", "Group"):
        if group != _RBAC:
            yield unsupported(f"{path}.apiGroup", group, (_RBAC,))
    else:
        yield unsupported(f"{path}.kind", kind, ("ServiceAccount", "User", "Group"))


# -- amounts ---------------------------------------------------------------------------------------------------

_QUOTA_NAMES = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.storage",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    *COUNTED_OBJECTS,
]
_SCOPES = (
    "Terminating",
    "NotTerminating",
    "BestEffort",
    "NotBestEffort",
    "PriorityClass",
    "CrossNamespacePodAffinity",
    "VolumeAttributesClass",
)


def resource_quota_faults(obj: JsonObject) -> Iterator[str]:
    """A ResourceQuota."""
    for name, amount in dig_object(obj, "spec", "hard").items():
        here = f"spec.hard[{name}]"
        wrong = list(named(name, here, qualified_name))
        yield from wrong
        if "/" not in name and name not in _QUOTA_NAMES:
            if not wrong:
                yield invalid(here, name, "must be a standard resource type or fully qualified")
            yield invalid(here, name, "must be a standard resource for quota")
        nanos = parse_quantity(str(amount))
        if nanos < 0:
            yield invalid(here, amount, NOT_NEGATIVE)
        elif name in COUNTED_OBJECTS and nanos % 10**9:
            yield invalid(here, amount, "must be an integer")
    scopes = dig_list(obj, "spec", "scopes")
    if any(scope not in _SCOPES for scope in scopes):
        yield invalid("spec.scopes", scopes, "unsupported scope")


_ORDER = (
    # the smaller, its words, the larger, its words, whose value is shown
    ("min", "min", "max", "max", "min"),
    ("min", "min", "defaultRequest", "default request", "defaultRequest"),
    ("defaultRequest", "default request", "max", "max", "defaultRequest"),
    ("defaultRequest", "default request", "default", "default", "defaultRequest"),
    ("min", "min", "default", "default", "default"),
    ("default", "default", "max", "max", "default"),
)


def limit_range_faults(obj: JsonObject) -> Iterator[str]:
    """A LimitRange."""
    for index, limit in enumerate(dig_objects(obj, "spec", "limits")):
        here = f"spec.limits[{index}]"
        if dig_str(limit, "type") == "Pod":
            for field in ("default", "defaultRequest"):
                if limit.get(field):
                    yield forbidden(f"{here}.{field}", "may not be specified when `type` is 'Pod'")
            continue
        fields = ("min", "max", "default", "defaultRequest")
        names = dict.fromkeys(name for field in fields for name in dig_object(limit, field))
        for name in names:
            yield from _limit_order(limit, name, here)


def _limit_order(limit: JsonObject, name: str, path: str) -> Iterator[str]:
    amounts = {
        field: dig_object(limit, field).get(name) for field in ("min", "max", "default", "defaultRequest")
    }
    for small, small_words, large, large_words, shown in _ORDER:
        low, high = amounts[small], amounts[large]
        if low is None or high is None or parse_quantity(str(low)) <= parse_quantity(str(high)):
            continue
        why = f"{small_words} value {low} is greater than {large_words} value {high}"
        value: JsonValue = low if small == "min" and large == "max" else high if small == "min" else low
        if (small, large) == ("default", "max"):
            value = high
        if (small, large) in (("min", "default"),):
            value = low
        yield invalid(f"{path}.{shown}[{name}]", value, why)


# -- the rest --------------------------------------------------------------------------------------------------


def disruption_budget_faults(obj: JsonObject) -> Iterator[str]:
    """A PodDisruptionBudget."""
    spec = dig_object(obj, "spec")
    fewest, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    if fewest is not None and most is not None:
        shown: JsonObject = {
            "MinAvailable": fewest,
            "Selector": spec.get("selector"),
            "MaxUnavailable": most,
            "UnhealthyPodEvictionPolicy": spec.get("unhealthyPodEvictionPolicy"),
        }
        yield invalid("spec", shown, "minAvailable and maxUnavailable cannot be both set")
    for field, value in (("minAvailable", fewest), ("maxUnavailable", most)):
        yield from count_or_percent(value, f"spec.{field}")
        yield from at_most_whole(value, f"spec.{field}")
    yield from selector_faults(spec.get("selector"), "spec.selector")
    policies = ("AlwaysAllow", "IfHealthyBudget")
    yield from one_of(spec, "spec", "unhealthyPodEvictionPolicy", policies)


SYSTEM_CLASSES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


def priority_class_faults(obj: JsonObject) -> Iterator[str]:
    """A PriorityClass."""
    name, value = dig_str(obj, "metadata", "name"), dig_int(obj, "value")
    if name.startswith("system-"):
        if SYSTEM_CLASSES.get(name) != value:
            why = (
                "priority class names with 'system-' prefix are reserved for system use only. error: "
                f"{name} is not a known system priority class"
            )
            yield forbidden("metadata.name", why)
    elif value > 1_000_000_000:
        yield forbidden("value", "maximum allowed value of a user defined priority is 1000000000")
    policy, known = obj.get("preemptionPolicy"), ("PreemptLowerPriority", "Never")
    if policy is not None and policy not in known:
        yield unsupported("preemptionPolicy", policy, known)


def lease_faults(obj: JsonObject) -> Iterator[str]:
    """A Lease."""
    spec = dig_object(obj, "spec")
    if spec.get("leaseDurationSeconds") is not None and dig_int(spec, "leaseDurationSeconds") <= 0:
        yield invalid("spec.leaseDurationSeconds", spec["leaseDurationSeconds"], "must be greater than 0")
    yield from not_negative(spec, "spec", "leaseTransitions")


def node_faults(obj: JsonObject) -> Iterator[str]:
    """A Node."""
    if dig_list(obj, "spec", "taints"):
        yield from taint_faults(dig_objects(obj, "spec", "taints"), "metadata.taints")


def autoscaler_faults(obj: JsonObject) -> Iterator[str]:
    """A HorizontalPodAutoscaler."""
    spec = dig_object(obj, "spec")
    fewest, most = dig_int(spec, "minReplicas", default=1), dig_int(spec, "maxReplicas")
    if fewest < 1:
        yield invalid("spec.minReplicas", fewest, "must be greater than or equal to 1")
    if most < 1:
        yield required("spec.maxReplicas", "must be set and greater than 0")
    if most < fewest:
        yield invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`")
    target = dig_object(spec, "scaleTargetRef")
    for field in ("kind", "name"):
        if not target.get(field):
            yield required(f"spec.scaleTargetRef.{field}")
    if not target.get("apiVersion"):
        yield invalid("spec.scaleTargetRef.apiVersion", "", "apiVersion must specify API group")


def runtime_class_faults(obj: JsonObject) -> Iterator[str]:
    """A RuntimeClass."""
    yield from named(dig_str(obj, "handler"), "handler", dns_label)


def revision_faults(obj: JsonObject) -> Iterator[str]:
    """A ControllerRevision."""
    if dig_int(obj, "revision") < 0:
        yield invalid("revision", obj.get("revision"), NOT_NEGATIVE)


def pod_template_faults(obj: JsonObject) -> Iterator[str]:
    """A PodTemplate."""
    yield from template_faults(dig_object(obj, "template"), "template")


def event_faults(obj: JsonObject) -> Iterator[str]:
    """An Event of core/v1."""
    about, own = dig_str(obj, "involvedObject", "namespace"), dig_str(obj, "metadata", "namespace")
    if (about and about != own) or (not about and own not in ("", "default", "kube-system")):
        yield invalid("involvedObject.namespace", about, "does not match event.namespace")
