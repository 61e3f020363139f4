"""Checks of Services, Ingresses, NetworkPolicies and what stands for their endpoints."""

from __future__ import annotations

from collections.abc import Iterator

from vcray.api.formats import (
    dns_label,
    dns_subdomain,
    duplicate,
    forbidden,
    invalid,
    required,
    unsupported,
)
from vcray.api.jsonview import dig, dig_int, dig_list, dig_object, dig_objects, dig_str
from vcray.api.meta import JsonObject
from vcray.cluster.kinds.checks.labels import label_faults, selector_faults
from vcray.cluster.kinds.checks.words import address, is_network, named, one_of, port, port_or_name

_PROTOCOLS = ("SCTP", "TCP", "UDP")
_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")


def service_faults(obj: JsonObject) -> Iterator[str]:
    """A Service."""
    spec = dig_object(obj, "spec")
    kind, ports = dig_str(spec, "type"), dig_objects(spec, "ports")
    if kind == "ExternalName":
        name = dig_str(spec, "externalName").rstrip(".")
        if name:
            yield from named(name, "spec.externalName", dns_subdomain)
        else:
            yield required("spec.externalName")
    elif not ports and spec.get("clusterIP") != "None":
        yield required("spec.ports")
    yield from _service_ports(spec, ports, kind)
    yield from label_faults(spec.get("selector"), "spec.selector")
    yield from one_of(spec, "spec", "sessionAffinity", ("ClientIP", "None"), needed=True)
    if kind != "ExternalName":
        for index, told in enumerate(dig_list(spec, "clusterIPs")):
            if told != "None":
                yield from address(str(told), f"spec.clusterIPs[{index}]")
    for index, told in enumerate(dig_list(spec, "externalIPs")):
        yield from address(str(told), f"spec.externalIPs[{index}]")
    yield from one_of(spec, "spec", "type", _TYPES, needed=True)


def _service_ports(spec: JsonObject, ports: list[JsonObject], kind: str) -> Iterator[str]:
    names: set[str] = set()
    for index, told in enumerate(ports):
        here = f"spec.ports[{index}]"
        name = dig_str(told, "name")
        if not name:
            if len(ports) > 1:
                yield required(f"{here}.name")
        else:
            yield from named(name, f"{here}.name", dns_label)
            if name in names:
                yield duplicate(f"{here}.name", name)
            names.add(name)
        yield from port(told.get("port"), f"{here}.port")
        yield from one_of(told, here, "protocol", _PROTOCOLS, needed=True)
        yield from port_or_name(told.get("targetPort"), f"{here}.targetPort")
    if kind == "ClusterIP":
        for index, told in enumerate(ports):
            if told.get("nodePort"):
                why = "may not be used when `type` is 'ClusterIP'"
                yield forbidden(f"spec.ports[{index}].nodePort", why)
    taken: set[tuple[str, int]] = set()
    for index, told in enumerate(ports):
        mark = dig_str(told, "protocol"), dig_int(told, "port")
        if mark in taken:
            shown: JsonObject = {
                "Name": "",
                "Protocol": mark[0],
                "AppProtocol": None,
                "Port": mark[1],
                "TargetPort": 0,
                "NodePort": 0,
            }
            yield duplicate(f"spec.ports[{index}]", shown)
        taken.add(mark)


def endpoints_faults(obj: JsonObject) -> Iterator[str]:
    """Endpoints."""
    for index, subset in enumerate(dig_objects(obj, "subsets")):
        here = f"subsets[{index}]"
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            yield required(here, "must specify `addresses` or `notReadyAddresses`")
        for part in ("addresses", "notReadyAddresses"):
            for place, told in enumerate(dig_objects(subset, part)):
                where = f"{here}.{part}[{place}].ip"
                wrong = list(address(dig_str(told, "ip"), where))
                yield from wrong
                if wrong:
                    yield invalid(where, dig_str(told, "ip"), "must be a valid IP address")
        for place, told in enumerate(dig_objects(subset, "ports")):
            yield from port(told.get("port"), f"{here}.ports[{place}].port")


def endpoint_slice_faults(obj: JsonObject) -> Iterator[str]:
    """An EndpointSlice."""
    kind, known = dig_str(obj, "addressType"), ("FQDN", "IPv4", "IPv6")
    if not kind:
        yield required("addressType")
    elif kind not in known:
        yield unsupported("addressType", kind, known)
    for index, endpoint in enumerate(dig_objects(obj, "endpoints")):
        here = f"endpoints[{index}].addresses"
        addresses = dig_list(endpoint, "addresses")
        if not addresses:
            yield required(here, "must contain at least 1 address")
        for place, told in enumerate(addresses):
            if kind in ("IPv4", "IPv6"):
                yield from address(str(told), f"{here}[{place}]")


def network_policy_faults(obj: JsonObject) -> Iterator[str]:
    """A NetworkPolicy."""
    spec = dig_object(obj, "spec")
    yield from selector_faults(spec.get("podSelector"), "spec.podSelector")
    for part, peers in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(dig_objects(spec, part)):
            here = f"spec.{part}[{index}]"
            for place, told in enumerate(dig_objects(rule, "ports")):
                yield from _policy_port(told, f"{here}.ports[{place}]")
            for place, peer in enumerate(dig_objects(rule, peers)):
                yield from _peer_faults(peer, f"{here}.{peers}[{place}]")
    for index, word in enumerate(dig_list(spec, "policyTypes")):
        if word not in ("Ingress", "Egress"):
            yield unsupported(f"spec.policyTypes[{index}]", word, ("Ingress", "Egress"))


def _policy_port(told: JsonObject, path: str) -> Iterator[str]:
    yield from one_of(told, path, "protocol", ("TCP", "UDP", "SCTP"))
    if told.get("port") is not None:
        yield from port_or_name(told.get("port"), f"{path}.port")


def _peer_faults(peer: JsonObject, path: str) -> Iterator[str]:
    if not peer:
        yield required(path, "must specify a peer")
    yield from selector_faults(peer.get("podSelector"), f"{path}.podSelector")
    yield from selector_faults(peer.get("namespaceSelector"), f"{path}.namespaceSelector")
    block = peer.get("ipBlock")
    if isinstance(block, dict):
        cidr = dig_str(block, "cidr")
        if not cidr:
            yield required(f"{path}.ipBlock.cidr")
        elif not is_network(cidr):
            why = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
            yield invalid(f"{path}.ipBlock.cidr", cidr, why)


def ingress_faults(obj: JsonObject) -> Iterator[str]:
    """An Ingress."""
    spec = dig_object(obj, "spec")
    rules = dig_objects(spec, "rules")
    if not rules and not spec.get("defaultBackend"):
        yield invalid("spec", None, "either `defaultBackend` or `rules` must be specified")
    if isinstance(spec.get("defaultBackend"), dict):
        yield from _backend_faults(dig_object(spec, "defaultBackend"), "spec.defaultBackend")
    for index, rule in enumerate(rules):
        host = dig_str(rule, "host").removeprefix("*.")
        if host:
            yield from named(host, f"spec.rules[{index}].host", dns_subdomain)
        for place, told in enumerate(dig_objects(rule, "http", "paths")):
            yield from _path_faults(told, f"spec.rules[{index}].http.paths[{place}]")


def _path_faults(told: JsonObject, path: str) -> Iterator[str]:
    kind, place = told.get("pathType"), dig_str(told, "path")
    if kind is None:
        yield required(f"{path}.pathType", "pathType must be specified")
    elif kind in ("Exact", "Prefix"):
        if not place.startswith("/"):
            yield invalid(f"{path}.path", place, "must be an absolute path")
    elif kind != "ImplementationSpecific":
        yield unsupported(f"{path}.pathType", kind, ("Exact", "ImplementationSpecific", "Prefix"))
    yield from _backend_faults(dig_object(told, "backend"), f"{path}.backend")


def _backend_faults(backend: JsonObject, path: str) -> Iterator[str]:
    service = backend.get("service")
    if isinstance(service, dict):
        if not service.get("name"):
            yield required(f"{path}.service.name")
        if not dig(service, "port", "number") and not dig(service, "port", "name"):
            yield required(f"{path}.service.port", "port name or number is required")
    elif not backend.get("resource"):
        yield invalid(path, "", "resource or service backend is required")


def ingress_class_faults(obj: JsonObject) -> Iterator[str]:
    """An IngressClass."""
    controller = dig_str(obj, "spec", "controller")
    domain, slash, path = controller.partition("/")
    if not controller:
        yield required("spec.controller")
    elif not slash or not path or dns_subdomain(domain):
        yield invalid("spec.controller", controller, 'must be a domain-prefixed path (such as "acme.io/foo")')
