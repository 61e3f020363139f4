"""Checks of containers: names, images, ports, environment, probes, resources, mounts."""

from __future__ import annotations

from collections.abc import Iterator

from vcray.api.containerchecks import resource_problems
from vcray.api.formats import (
    dns_label,
    duplicate,
    forbidden,
    invalid,
    required,
    unknown,
    unsupported,
)
from vcray.api.jsonview import dig, dig_int, dig_list, dig_object, dig_objects, dig_str
from vcray.api.meta import JsonObject
from vcray.cluster.kinds.checks.words import named, not_negative, one_of, port, port_name, port_or_name

_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_FIELDS = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
    "metadata.labels",
    "metadata.annotations",
)
_LIFETIME = frozenset({"lifecycle", "livenessProbe", "readinessProbe", "startupProbe"})
_USER_RANGE = "must be between 0 and 2147483647, inclusive"


def container_faults(
    container: JsonObject, path: str, volumes: set[str], host_network: bool, is_init: bool
) -> Iterator[str]:
    """One container; its name's uniqueness is checked with the others'."""
    name, image = dig_str(container, "name"), dig_str(container, "image")
    if not name:
        yield required(f"{path}.name")
    else:
        yield from named(name, f"{path}.name", dns_label)
    if not image:
        yield required(f"{path}.image")
    elif image != image.strip():
        yield invalid(f"{path}.image", image, "must not have leading or trailing whitespace")
    stays = not is_init or container.get("restartPolicy") == "Always"
    if not _LIFETIME.isdisjoint(container):
        yield from _lifetime_faults(container, path, is_init, stays)
    yield from one_of(container, path, "terminationMessagePolicy", ("File", "FallbackToLogsOnError"))
    yield from _port_faults(dig_objects(container, "ports"), f"{path}.ports", host_network)
    for index, variable in enumerate(dig_objects(container, "env")):
        yield from _variable_faults(variable, f"{path}.env[{index}]")
    for source in dig_objects(container, "envFrom"):
        if not source.get("configMapRef") and not source.get("secretRef"):
            yield invalid(f"{path}.envFrom", "", "must specify one of: `configMapRef` or `secretRef`")
    yield from _mount_faults(dig_objects(container, "volumeMounts"), f"{path}.volumeMounts", volumes)
    yield from one_of(container, path, "imagePullPolicy", ("Always", "IfNotPresent", "Never"))
    yield from resource_problems(dig_object(container, "resources"), f"{path}.resources")
    if "securityContext" in container:
        yield from _security_faults(dig_object(container, "securityContext"), f"{path}.securityContext")


def _lifetime_faults(container: JsonObject, path: str, is_init: bool, stays: bool) -> Iterator[str]:
    """Hooks and probes, which only containers that go on running have."""
    for hook in ("postStart", "preStop"):
        handler = dig(container, "lifecycle", hook)
        if isinstance(handler, dict):
            yield from _handler_faults(handler, f"{path}.lifecycle.{hook}")
    for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
        told = container.get(probe)
        if isinstance(told, dict):
            if stays:
                yield from _probe_faults(told, f"{path}.{probe}", probe)
            else:
                why = "may not be set for init containers without restartPolicy=Always"
                yield forbidden(f"{path}.{probe}", why)


def _port_faults(ports: list[JsonObject], path: str, host_network: bool) -> Iterator[str]:
    names: set[str] = set()
    for index, told in enumerate(ports):
        here = f"{path}[{index}]"
        name = dig_str(told, "name")
        if name:
            wrong = port_name(name)
            for why in wrong:
                yield invalid(f"{here}.name", name, why)
            if not wrong and name in names:
                yield duplicate(f"{here}.name", name)
            names.add(name)
        if not told.get("containerPort"):
            yield required(f"{here}.containerPort")
        else:
            yield from port(told.get("containerPort"), f"{here}.containerPort")
        if told.get("hostPort"):
            yield from port(told.get("hostPort"), f"{here}.hostPort")
            if host_network and told.get("hostPort") != told.get("containerPort"):
                why = "must match `containerPort` when `hostNetwork` is true"
                yield invalid(f"{here}.hostPort", told["hostPort"], why)
        yield from one_of(told, here, "protocol", ("SCTP", "TCP", "UDP"), needed=True)


def host_port_faults(containers: list[JsonObject], path: str) -> Iterator[str]:
    """Ports of the node that two containers ask for."""
    taken: set[str] = set()
    for index, container in enumerate(containers):
        for place, told in enumerate(dig_objects(container, "ports")):
            if not told.get("hostPort"):
                continue
            mark = f"{dig_str(told, 'protocol')}/{dig_str(told, 'hostIP')}/{told['hostPort']}"
            if mark in taken:
                yield duplicate(f"{path}[{index}].ports[{place}].hostPort", mark)
            taken.add(mark)


def _variable_faults(variable: JsonObject, path: str) -> Iterator[str]:
    name = dig_str(variable, "name")
    if not name:
        yield required(f"{path}.name")
    elif "=" in name or not all(" " <= letter <= "~" for letter in name):
        why = (
            "a valid environment variable name must consist only of printable ASCII characters other than '='"
        )
        yield invalid(f"{path}.name", name, why)
    source = variable.get("valueFrom")
    if not isinstance(source, dict):
        return
    where = f"{path}.valueFrom"
    given = [part for part in _SOURCES if isinstance(source.get(part), dict)]
    for part in given:
        yield from _source_faults(part, dig_object(source, part), f"{where}.{part}")
    if not given:
        options = ", ".join(f"`{part}`" for part in _SOURCES[:-1])
        yield invalid(where, "", f"must specify one of: {options} or `{_SOURCES[-1]}`")
    elif variable.get("value"):
        yield invalid(where, "", "may not be specified when `value` is not empty")
    elif len(given) > 1:
        yield invalid(where, "", "may not have more than one field specified at a time")


def _source_faults(part: str, source: JsonObject, path: str) -> Iterator[str]:
    match part:
        case "fieldRef":
            yield from field_path_faults(source, path)
        case "resourceFieldRef":
            if not source.get("resource"):
                yield required(f"{path}.resource")
        case "configMapKeyRef" | "secretKeyRef":
            if not source.get("name"):
                yield required(f"{path}.name")
            if not source.get("key"):
                yield required(f"{path}.key")


def field_path_faults(source: JsonObject, path: str) -> Iterator[str]:
    """A reference to a field of the pod itself."""
    told = dig_str(source, "fieldPath")
    if not told:
        yield required(f"{path}.fieldPath")
    elif told.partition("[")[0] not in _FIELDS:
        yield invalid(
            f"{path}.fieldPath", told, f"error converting fieldPath: field label not supported: {told}"
        )


def _mount_faults(mounts: list[JsonObject], path: str, volumes: set[str]) -> Iterator[str]:
    taken: set[str] = set()
    for index, mount in enumerate(mounts):
        here = f"{path}[{index}]"
        name, place = dig_str(mount, "name"), dig_str(mount, "mountPath")
        if not name:
            yield required(f"{here}.name")
        if name not in volumes:
            yield unknown(f"{here}.name", name)
        if not place:
            yield required(f"{here}.mountPath")
        if place in taken:
            yield invalid(f"{here}.mountPath", place, "must be unique")
        taken.add(place)
        for field in ("subPath", "subPathExpr"):
            part = dig_str(mount, field)
            if part.startswith("/"):
                yield invalid(f"{path}.{field}", part, "must be a relative path")
            if ".." in part.split("/"):
                yield invalid(f"{path}.{field}", part, "must not contain '..'")


def _handler_faults(handler: JsonObject, path: str) -> Iterator[str]:
    given = [part for part in _HANDLERS if isinstance(handler.get(part), dict)]
    for place, part in enumerate(given):
        if place:
            yield forbidden(f"{path}.{part}", "may not specify more than 1 handler type")
        else:
            yield from _one_handler(part, dig_object(handler, part), f"{path}.{part}")
    if not given:
        yield required(path, "must specify a handler type")


def _one_handler(part: str, told: JsonObject, path: str) -> Iterator[str]:
    match part:
        case "exec":
            if not told.get("command"):
                yield required(f"{path}.command")
        case "httpGet":
            if not told.get("path"):
                yield required(f"{path}.path")
            yield from port_or_name(told.get("port"), f"{path}.port")
            yield from one_of(told, path, "scheme", ("HTTP", "HTTPS"))
        case "tcpSocket":
            yield from port_or_name(told.get("port"), f"{path}.port")
        case "grpc":
            yield from port(told.get("port"), f"{path}.port")


_PROBE_NUMBERS = (
    "initialDelaySeconds",
    "timeoutSeconds",
    "periodSeconds",
    "successThreshold",
    "failureThreshold",
)


def _probe_faults(probe: JsonObject, path: str, kind: str) -> Iterator[str]:
    yield from _handler_faults(probe, path)
    yield from not_negative(probe, path, *_PROBE_NUMBERS)
    if kind != "readinessProbe" and dig_int(probe, "successThreshold") not in (0, 1):
        yield invalid(f"{path}.successThreshold", probe["successThreshold"], "must be 1")
    if probe.get("terminationGracePeriodSeconds") is not None and kind == "readinessProbe":
        why = "must not be set for readinessProbes"
        yield invalid(f"{path}.terminationGracePeriodSeconds", probe["terminationGracePeriodSeconds"], why)


def _security_faults(context: JsonObject, path: str) -> Iterator[str]:
    for field in ("runAsUser", "runAsGroup"):
        value = context.get(field)
        if value is not None and not 0 <= dig_int(context, field) <= 2**31 - 1:
            yield invalid(f"{path}.{field}", value, _USER_RANGE)
    if context.get("allowPrivilegeEscalation") is False:
        capabilities = dig_list(context, "capabilities", "add")
        for cause, holds in (
            ("`privileged` to true", bool(context.get("privileged"))),
            ("`capabilities.Add` CAP_SYS_ADMIN", "CAP_SYS_ADMIN" in capabilities),
        ):
            if holds:
                why = f"cannot set `allowPrivilegeEscalation` to false and {cause}"
                yield invalid(path, _go_security(context), why)


def _go_security(context: JsonObject) -> JsonObject:
    names = (
        "Capabilities Privileged SELinuxOptions WindowsOptions RunAsUser RunAsGroup RunAsNonRoot ReadOnlyRootFilesystem "
        "AllowPrivilegeEscalation ProcMount SeccompProfile AppArmorProfile"
    )
    return {name: context.get(name[0].lower() + name[1:]) for name in names.split()}


def restart_faults(container: JsonObject, path: str, is_init: bool) -> Iterator[str]:
    """The restart policy of one container, as far as it is checked by itself."""
    policy = container.get("restartPolicy")
    if policy is not None and policy not in ("Always", "Never", "OnFailure"):
        yield unsupported(f"{path}.restartPolicy", policy, ("Always", "Never", "OnFailure"))
