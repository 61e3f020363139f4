"""What must hold in the containers of a pod, as field errors in Kubernetes' words.

Fields that Kubernetes fills in when they are absent (pull policy, protocol) count as filled in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from vcray.api import names
from vcray.api.formats import (
    dns_label,
    duplicate,
    forbidden,
    invalid,
    qualified_name,
    required,
    unknown,
    unsupported,
)
from vcray.api.jsonview import dig, dig_int, dig_object, dig_objects, dig_str
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.podresources import MILLI, thousandths_per_unit
from vcray.api.quantity import Quantity, QuantityError, canonical, milli, parse_quantity

_PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")
_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_PLAIN_RESOURCES: Final = (names.CPU, names.MEMORY, names.EPHEMERAL_STORAGE)
_HANDLERS: Final = ("exec", "httpGet", "tcpSocket", "grpc")
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_ENV_SOURCES: Final = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_NEGATIVE: Final = "must be greater than or equal to 0"
_PORT: Final = "must be between 1 and 65535, inclusive"
_SIDECAR_ONLY: Final = "may not be set for init containers without restartPolicy=Always"


def container_problems(spec: JsonObject, path: str, volumes: Iterable[str]) -> Iterator[str]:
    """Errors of `containers` and `initContainers` of a pod spec that is found at `path`; `volumes` are its volumes' names."""
    known = frozenset(volumes)
    containers = dig_objects(spec, "containers")
    where = f"{path}.containers"
    if not containers:
        yield required(where)
    taken: set[str] = set()
    for index, container in enumerate(containers):
        yield from _each(container, f"{where}[{index}]", known, taken)
        yield from _probes(container, f"{where}[{index}]")
    yield from _host_ports(containers, where)
    where = f"{path}.initContainers"
    for index, container in enumerate(dig_objects(spec, "initContainers")):
        at = f"{where}[{index}]"
        yield from _each(container, at, known, taken)
        yield from _host_ports([container], where)
        if container.get("restartPolicy") == "Always":
            yield from _probes(container, at)
        else:
            fields = ("lifecycle", *_PROBES)
            yield from (
                forbidden(f"{at}.{each}", _SIDECAR_ONLY) for each in fields if container.get(each) is not None
            )


def resource_problems(resources: JsonObject, path: str) -> Iterator[str]:
    """Errors of a container's `resources`."""
    limits = _quantities(dig_object(resources, "limits"))
    requests = _quantities(dig_object(resources, "requests"))
    for name, limit in limits.items():
        yield from _amount(name, limit, f"{path}.limits[{name}]")
    for name, request in requests.items():
        yield from _amount(name, request, f"{path}.requests[{name}]")
        most = limits.get(name)
        fixed = name.startswith(names.HUGEPAGES_PREFIX) or ("/" in name and "kubernetes.io/" not in name)
        if most is None:
            if fixed:
                yield required(f"{path}.limits", "Limit must be set for non overcommitable resources")
        elif fixed and parse_quantity(request) != parse_quantity(most):
            detail = f"must be equal to {name} limit of {canonical(most)}"
            yield invalid(f"{path}.requests", canonical(request), detail)
        elif parse_quantity(request) > parse_quantity(most):
            detail = f"must be less than or equal to {name} limit of {canonical(most)}"
            yield invalid(f"{path}.requests", canonical(request), detail)
    named = limits.keys() | requests.keys()
    pages = any(name.startswith(names.HUGEPAGES_PREFIX) for name in named)
    if pages and not named & {names.CPU, names.MEMORY}:
        yield forbidden(path, "HugePages require cpu or memory")


def _each(container: JsonObject, at: str, volumes: frozenset[str], taken: set[str]) -> Iterator[str]:
    name = dig_str(container, "name")
    if not name:
        yield required(f"{at}.name")
    else:
        yield from (invalid(f"{at}.name", name, wrong) for wrong in dns_label(name))
    if not dig_str(container, "image"):
        yield required(f"{at}.image")
    yield from _ports(dig_objects(container, "ports"), f"{at}.ports")
    yield from _environment(dig_objects(container, "env"), f"{at}.env")
    yield from _mounts(dig_objects(container, "volumeMounts"), f"{at}.volumeMounts", volumes)
    policy = dig_str(container, "imagePullPolicy")
    if policy and policy not in _PULL_POLICIES:
        yield unsupported(f"{at}.imagePullPolicy", policy, _PULL_POLICIES)
    yield from resource_problems(dig_object(container, "resources"), f"{at}.resources")
    if name in taken:
        yield duplicate(f"{at}.name", name)
    elif name:
        taken.add(name)


def _ports(ports: list[JsonObject], path: str) -> Iterator[str]:
    taken: set[str] = set()
    for index, port in enumerate(ports):
        at, name, number = f"{path}[{index}]", dig_str(port, "name"), dig_int(port, "containerPort")
        if name in taken:
            yield duplicate(f"{at}.name", name)
        elif name:
            taken.add(name)
        if not number:
            yield required(f"{at}.containerPort")
        elif not 1 <= number <= 65535:
            yield invalid(f"{at}.containerPort", number, _PORT)
        on_host = dig_int(port, "hostPort")
        if on_host and not 1 <= on_host <= 65535:
            yield invalid(f"{at}.hostPort", on_host, _PORT)
        protocol = dig_str(port, "protocol") or "TCP"
        if protocol not in _PROTOCOLS:
            yield unsupported(f"{at}.protocol", protocol, _PROTOCOLS)


def _host_ports(containers: list[JsonObject], path: str) -> Iterator[str]:
    taken: set[str] = set()
    for index, container in enumerate(containers):
        for place, port in enumerate(dig_objects(container, "ports")):
            on_host = dig_int(port, "hostPort")
            key = f"{dig_str(port, 'protocol') or 'TCP'}/{dig_str(port, 'hostIP')}/{on_host}"
            if on_host and key in taken:
                yield duplicate(f"{path}[{index}].ports[{place}].hostPort", key)
            taken.add(key)


def _environment(variables: list[JsonObject], path: str) -> Iterator[str]:
    for index, variable in enumerate(variables):
        at = f"{path}[{index}]"
        if not dig_str(variable, "name"):
            yield required(f"{at}.name")
        source = variable.get("valueFrom")
        if not isinstance(source, dict):
            continue
        given = [each for each in _ENV_SOURCES if source.get(each) is not None]
        if not given:
            choice = (
                "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`"
            )
            yield invalid(f"{at}.valueFrom", "", choice)
        elif dig_str(variable, "value"):
            yield invalid(f"{at}.valueFrom", "", "may not be specified when `value` is not empty")
        elif len(given) > 1:
            yield invalid(f"{at}.valueFrom", "", "may not have more than one field specified at a time")


def _mounts(mounts: list[JsonObject], path: str, volumes: frozenset[str]) -> Iterator[str]:
    taken: set[str] = set()
    for index, mount in enumerate(mounts):
        at, name, point = f"{path}[{index}]", dig_str(mount, "name"), dig_str(mount, "mountPath")
        if not name:
            yield required(f"{at}.name")
        if name not in volumes:
            yield unknown(f"{at}.name", name)
        if not point:
            yield required(f"{at}.mountPath")
        if point in taken:
            yield invalid(f"{at}.mountPath", point, "must be unique")
        taken.add(point)


def _probes(container: JsonObject, at: str) -> Iterator[str]:
    for kind in _PROBES:
        probe = container.get(kind)
        if not isinstance(probe, dict):
            continue
        path = f"{at}.{kind}"
        handlers = [each for each in _HANDLERS if probe.get(each) is not None]
        if not handlers:
            yield required(path, "must specify a handler type")
        yield from (
            forbidden(f"{path}.{each}", "may not specify more than 1 handler type") for each in handlers[1:]
        )
        if kind != "readinessProbe" and dig_int(probe, "successThreshold", default=1) not in (0, 1):
            yield invalid(f"{path}.successThreshold", probe["successThreshold"], "must be 1")


def _quantities(resources: Mapping[str, JsonValue]) -> dict[str, Quantity]:
    """What is a quantity, by name; what is none the schema refuses."""
    found: dict[str, Quantity] = {}
    for name, amount in sorted(resources.items()):
        if isinstance(amount, str | int | float):
            try:
                parse_quantity(amount)
            except QuantityError:
                continue
            found[name] = amount
    return found


def _amount(name: str, amount: Quantity, path: str) -> Iterator[str]:
    problems = list(qualified_name(name))
    if "/" not in name:
        plain = name in _PLAIN_RESOURCES or name.startswith(names.HUGEPAGES_PREFIX)
        standard = plain or bool(problems)
        problems += [] if standard else ["must be a standard resource type or fully qualified"]
        problems += [] if plain else ["must be a standard resource for containers"]
    elif "kubernetes.io/" not in name and not _is_extended(name):
        problems.append("doesn't follow extended resource name standard")
    yield from (invalid(path, name, problem) for problem in problems)
    if parse_quantity(amount) < 0:
        yield invalid(path, canonical(amount), _NEGATIVE)
    if _is_extended(name) and milli(amount) % 1000:
        yield invalid(path, canonical(amount), "must be an integer")


def _is_extended(name: str) -> bool:
    return "/" in name and "kubernetes.io/" not in name and thousandths_per_unit(name) == MILLI


def host_network_problems(spec: JsonObject, path: str) -> Iterator[str]:
    """On the host's network a port of the host is the port of the container."""
    if dig(spec, "hostNetwork") is not True:
        return
    for index, container in enumerate(dig_objects(spec, "containers")):
        for place, port in enumerate(dig_objects(container, "ports")):
            on_host = dig_int(port, "hostPort")
            if on_host and on_host != dig_int(port, "containerPort"):
                at = f"{path}.containers[{index}].ports[{place}].hostPort"
                yield invalid(at, on_host, "must match `containerPort` when `hostNetwork` is true")
