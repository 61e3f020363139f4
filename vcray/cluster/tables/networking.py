"""The cells of services, endpoints, ingresses and addresses."""

from __future__ import annotations

from vcray.api.ages import UNKNOWN
from vcray.api.jsonview import dig, dig_int, dig_list, dig_object, dig_objects, dig_str
from vcray.api.meta import JsonObject
from vcray.cluster.tables.cells import (
    NONE,
    UNSET,
    Cells,
    Printer,
    age,
    columns,
    labels,
    name,
    printer,
    selector,
    shortened,
)

_MOST = 3
_WIDTH = 16
_DEFAULT_CLASS = "ingressclass.kubernetes.io/is-default-class"


def _balancers(obj: JsonObject) -> list[str]:
    found = {
        dig_str(each, "ip") or dig_str(each, "hostname")
        for each in dig_objects(obj, "status", "loadBalancer", "ingress")
    }
    return sorted(found - {""})


def _external(service: JsonObject) -> str:
    own = [str(item) for item in dig_list(service, "spec", "externalIPs")]
    match dig_str(service, "spec", "type"):
        case "ClusterIP" | "NodePort":
            return ",".join(own) or NONE
        case "LoadBalancer":
            return ",".join([*_balancers(service), *own]) or "<pending>"
        case "ExternalName":
            return dig_str(service, "spec", "externalName")
    return UNKNOWN


def _port(port: JsonObject) -> str:
    outside = dig_int(port, "nodePort")
    opened = f"{dig_int(port, 'port')}:{outside}" if outside else str(dig_int(port, "port"))
    return f"{opened}/{dig_str(port, 'protocol')}"


def _service(obj: JsonObject, now: float) -> Cells:
    addresses = dig_list(obj, "spec", "clusterIPs")
    return [
        dig_str(obj, "spec", "type"),
        addresses[0] if addresses else NONE,
        _external(obj),
        ",".join(_port(port) for port in dig_objects(obj, "spec", "ports")) or NONE,
        age(obj, now),
        labels(dig(obj, "spec", "selector")),
    ]


def _endpoints(obj: JsonObject, now: float) -> Cells:
    found: list[str] = []
    subsets = dig_objects(obj, "subsets")
    for subset in subsets:
        addresses = [dig_str(each, "ip") for each in dig_objects(subset, "addresses")]
        ports = dig_objects(subset, "ports")
        found += (
            [f"{_host(each)}:{dig_int(port, 'port')}" for port in ports for each in addresses]
            if ports
            else addresses
        )
    return [shortened(found, len(found), _MOST) if subsets else NONE, age(obj, now)]


def _host(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def _slice(obj: JsonObject, now: float) -> Cells:
    ports = [
        str(port["port"]) if port.get("port") is not None else str(port.get("name") or "*")
        for port in dig_objects(obj, "ports")
    ]
    addresses = [str(item) for each in dig_objects(obj, "endpoints") for item in dig_list(each, "addresses")]
    return [
        dig_str(obj, "addressType"),
        shortened(ports, len(ports), _MOST) or UNSET,
        shortened(addresses, len(addresses), _MOST) or UNSET,
        age(obj, now),
    ]


def _hosts(obj: JsonObject) -> str:
    rules = dig_objects(obj, "spec", "rules")
    hosts: list[str] = []
    more = False
    for rule in rules:
        more = more or len(hosts) == _MOST
        host = dig_str(rule, "host")
        if host and not more:
            hosts.append(host)
    if not hosts:
        return "*"
    return f"{','.join(hosts)} + {len(rules) - _MOST} more..." if more else ",".join(hosts)


def _ingress(obj: JsonObject, now: float) -> Cells:
    address = ",".join(_balancers(obj))
    return [
        dig_str(obj, "spec", "ingressClassName") or NONE,
        _hosts(obj),
        address,
        "80, 443" if dig_list(obj, "spec", "tls") else "80",
        age(obj, now),
    ]


def _ingress_class(obj: JsonObject, now: float) -> Cells:
    called = name(obj)
    if dig(obj, "metadata", "annotations", _DEFAULT_CLASS) == "true":
        called += " (default)"
    parameters, about = dig_object(obj, "spec", "parameters"), NONE
    if parameters:
        group = dig_str(parameters, "apiGroup")
        kind = dig_str(parameters, "kind") + (f".{group}" if group else "")
        about = f"{kind}/{dig_str(parameters, 'name')}"
    return [called, dig_str(obj, "spec", "controller"), about, age(obj, now)]


def _policy(obj: JsonObject, now: float) -> Cells:
    return [selector(dig(obj, "spec", "podSelector")), age(obj, now)]


def _cidr(obj: JsonObject, now: float) -> Cells:
    return [",".join(str(item) for item in dig_list(obj, "spec", "cidrs")), age(obj, now)]


def _ip_address(obj: JsonObject, now: float) -> Cells:
    parent, about = dig_object(obj, "spec", "parentRef"), NONE
    if parent:
        group = dig_str(parent, "group")
        parts = [dig_str(parent, "resource") + (f".{group}" if group else "")]
        parts += filter(None, [dig_str(parent, "namespace"), dig_str(parent, "name")])
        about = "/".join(parts)
    return [about, age(obj, now)]  # a real server sends the age without a column for it


PRINTERS: dict[str, Printer] = {
    "services": printer("Type|Cluster-IP|External-IP|Port(s)|Age|Selector+", _service),
    "endpoints": printer("Endpoints|Age", _endpoints),
    "endpointslices.discovery.k8s.io": printer("AddressType|Ports|Endpoints|Age", _slice),
    "ingresses.networking.k8s.io": printer("Class|Hosts|Address|Ports|Age", _ingress),
    "ingressclasses.networking.k8s.io": Printer(columns("Name|Controller|Parameters|Age"), _ingress_class),
    "networkpolicies.networking.k8s.io": printer("Pod-Selector|Age", _policy),
    "servicecidrs.networking.k8s.io": printer("CIDRs|Age", _cidr),
    "ipaddresses.networking.k8s.io": printer("ParentRef", _ip_address),
}
