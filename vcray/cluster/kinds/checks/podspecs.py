"""Checks of a pod's spec and of pod templates."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from vcray.api.formats import (
    dns_label,
    dns_subdomain,
    duplicate,
    forbidden,
    invalid,
    qualified_name,
    required,
    unsupported,
)
from vcray.api.jsonview import dig, dig_int, dig_list, dig_object, dig_objects, dig_str
from vcray.api.meta import JsonObject
from vcray.cluster.kinds.checks.containers import container_faults, host_port_faults, restart_faults
from vcray.cluster.kinds.checks.labels import annotation_faults, label_faults
from vcray.cluster.kinds.checks.placement import affinity_faults, spread_faults, toleration_faults
from vcray.cluster.kinds.checks.volumes import volume_faults
from vcray.cluster.kinds.checks.words import address, named, one_of, positive

_DNS = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_USER_RANGE = "must be between 0 and 2147483647, inclusive"
_SYSCTL = r"^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"


def pod_faults(pod: JsonObject) -> Iterator[str]:
    """A new pod."""
    spec = dig_object(pod, "spec")
    yield from pod_spec_faults(spec, "spec")
    if spec.get("ephemeralContainers"):
        yield forbidden("spec.ephemeralContainers", "cannot be set on create")
    if spec.get("nodeName") and spec.get("schedulingGates"):
        yield forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared")


def template_faults(template: JsonObject, path: str, claims: Iterable[str] = ()) -> Iterator[str]:
    """A pod template: the labels and annotations of its pods, and their spec.

    `claims` names volumes that its pods are given besides those of the template."""
    metadata = dig_object(template, "metadata")
    yield from label_faults(metadata.get("labels"), f"{path}.labels")
    yield from annotation_faults(metadata.get("annotations"), f"{path}.annotations")
    yield from pod_spec_faults(dig_object(template, "spec"), f"{path}.spec", claims)


def pod_spec_faults(spec: JsonObject, path: str, claims: Iterable[str] = ()) -> Iterator[str]:
    """Everything in a pod's spec, in the server's order; containers may mount `claims` besides its volumes."""
    volumes = dig_objects(spec, "volumes")
    if volumes:
        yield from volume_faults(volumes, f"{path}.volumes")
    yield from _containers_faults(spec, path, {*claims, *(dig_str(volume, "name") for volume in volumes)})
    yield from _policy_faults(spec, path)
    if spec.get("securityContext") or spec.get("hostUsers") is False:
        yield from _host_faults(spec, path)
    for index, secret in enumerate(dig_objects(spec, "imagePullSecrets")):
        if "name" in secret and not secret["name"]:
            yield required(f"{path}.imagePullSecrets[{index}].name")
    if "affinity" in spec:
        yield from affinity_faults(dig_object(spec, "affinity"), f"{path}.affinity")
    if "dnsConfig" in spec or spec.get("dnsPolicy") == "None":
        yield from _dns_faults(spec, path)
    if "schedulingGates" in spec or "readinessGates" in spec or "os" in spec:
        yield from _gate_faults(spec, path)
    if "topologySpreadConstraints" in spec:
        constraints = dig_objects(spec, "topologySpreadConstraints")
        yield from spread_faults(constraints, f"{path}.topologySpreadConstraints")
    yield from _claim_faults(dig_objects(spec, "resourceClaims"), f"{path}.resourceClaims")
    yield from _name_faults(spec, path)
    yield from positive(spec, path, "activeDeadlineSeconds")
    if "tolerations" in spec:
        yield from toleration_faults(dig_objects(spec, "tolerations"), f"{path}.tolerations")
    for index, alias in enumerate(dig_objects(spec, "hostAliases")):
        yield from address(dig_str(alias, "ip"), f"{path}.hostAliases[{index}].ip")
        for name in dig_list(alias, "hostnames"):
            yield from named(str(name), f"{path}.hostAliases[{index}].hostnames", dns_subdomain)


def _containers_faults(spec: JsonObject, path: str, volumes: set[str]) -> Iterator[str]:
    containers, first = dig_objects(spec, "containers"), dig_objects(spec, "initContainers")
    host_network = bool(spec.get("hostNetwork"))
    if not containers:
        yield required(f"{path}.containers")
    taken: set[str] = set()
    for list_name, listed, is_init in (("containers", containers, False), ("initContainers", first, True)):
        for index, container in enumerate(listed):
            here = f"{path}.{list_name}[{index}]"
            yield from container_faults(container, here, volumes, host_network, is_init)
            yield from restart_faults(container, here, is_init)
            name = dig_str(container, "name")
            if name and name in taken:
                yield duplicate(f"{here}.name", name)
            taken.add(name)
    yield from host_port_faults(containers, f"{path}.containers")


def _policy_faults(spec: JsonObject, path: str) -> Iterator[str]:
    yield from one_of(spec, path, "restartPolicy", ("Always", "OnFailure", "Never"), needed=True)
    yield from one_of(spec, path, "dnsPolicy", _DNS, needed=True)
    yield from label_faults(spec.get("nodeSelector"), f"{path}.nodeSelector")
    if spec.get("terminationGracePeriodSeconds") is not None:
        seconds = dig_int(spec, "terminationGracePeriodSeconds")
        if seconds < 0:
            yield invalid(
                f"{path}.terminationGracePeriodSeconds", seconds, "must be greater than or equal to 0"
            )


def _host_faults(spec: JsonObject, path: str) -> Iterator[str]:
    context = dig_object(spec, "securityContext")
    if spec.get("hostUsers") is False:
        for field in ("hostNetwork", "hostPID", "hostIPC"):
            if spec.get(field):
                yield forbidden(f"{path}.{field}", "when `hostUsers` is false")
    for field in ("fsGroup", "runAsUser", "runAsGroup"):
        if context.get(field) is not None and not 0 <= dig_int(context, field) <= 2**31 - 1:
            yield invalid(f"{path}.securityContext.{field}", context[field], _USER_RANGE)
    for index, sysctl in enumerate(dig_objects(context, "sysctls")):
        here, name = f"{path}.securityContext.sysctls[{index}].name", dig_str(sysctl, "name")
        if not name:
            yield required(here)
        elif len(name) > 253 or not re.search(_SYSCTL, name):
            yield invalid(here, name, f"must have at most 253 characters and match regex {_SYSCTL}")


def _dns_faults(spec: JsonObject, path: str) -> Iterator[str]:
    config = spec.get("dnsConfig")
    here = f"{path}.dnsConfig"
    if spec.get("dnsPolicy") == "None":
        if not isinstance(config, dict):
            yield required(here, "must provide `dnsConfig` when `dnsPolicy` is None")
        elif not config.get("nameservers"):
            why = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            yield required(f"{here}.nameservers", why)
    for index, server in enumerate(dig_list(config, "nameservers")):
        yield from address(str(server), f"{here}.nameservers[{index}]")


def _gate_faults(spec: JsonObject, path: str) -> Iterator[str]:
    for index, gate in enumerate(dig_objects(spec, "readinessGates")):
        here = f"{path}.readinessGates[{index}].conditionType"
        yield from named(dig_str(gate, "conditionType"), here, qualified_name)
    taken: set[str] = set()
    for index, gate in enumerate(dig_objects(spec, "schedulingGates")):
        name, here = dig_str(gate, "name"), f"{path}.schedulingGates[{index}]"
        yield from named(name, here, qualified_name)
        if name in taken:
            yield duplicate(here, name)
        taken.add(name)
    system = dig(spec, "os", "name")
    if system is not None and system not in ("linux", "windows"):
        yield unsupported(f"{path}.os", system, ("linux", "windows"))


def _claim_faults(claims: list[JsonObject], path: str) -> Iterator[str]:
    for index, claim in enumerate(claims):
        given = [name for name in ("resourceClaimName", "resourceClaimTemplateName") if claim.get(name)]
        if len(given) != 1:
            shown: JsonObject = {
                "Name": claim.get("name"),
                "ResourceClaimName": claim.get("resourceClaimName"),
                "ResourceClaimTemplateName": claim.get("resourceClaimTemplateName"),
            }
            options = "`resourceClaimName`, `resourceClaimTemplateName`"
            why = (
                f"must specify one of: {options}"
                if not given
                else f"at most one of {options} may be specified"
            )
            yield invalid(f"{path}[{index}]", shown, why)


def _name_faults(spec: JsonObject, path: str) -> Iterator[str]:
    rules = (
        ("serviceAccountName", dns_subdomain),
        ("nodeName", dns_subdomain),
        ("hostname", dns_label),
        ("subdomain", dns_label),
        ("priorityClassName", dns_subdomain),
        ("runtimeClassName", dns_subdomain),
    )
    for field, rule in rules:
        value = dig_str(spec, field)
        if value:
            yield from named(value, f"{path}.{field}", rule)
