"""What must hold in a pod template, as field errors in Kubernetes' words and order.

The rules that users meet: names, labels, volumes, containers, policies, tolerations. What is rarer (the inner fields of
each kind of volume, probes' actions, security contexts) the API server refuses when the pod is created.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from vcray.api.containerchecks import container_problems, host_network_problems
from vcray.api.formats import (
    dns_label,
    dns_subdomain,
    duplicate,
    forbidden,
    invalid,
    label_value,
    qualified_name,
    required,
    unsupported,
)
from vcray.api.jsonview import dig_int, dig_object, dig_objects, dig_str, dig_strings
from vcray.api.meta import JsonObject

_RESTART_POLICIES: Final = ("Always", "OnFailure", "Never")
_DNS_POLICIES: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_MOST_SECONDS: Final = 2**31 - 1


def template_problems(name: str, template: JsonObject) -> Iterator[str]:
    """Errors of a pod template, found at `template`, whose object is called `name`, at `metadata.name`."""
    if not name:
        yield required("metadata.name", "name or generateName is required")
    else:
        yield from (invalid("metadata.name", name, wrong) for wrong in dns_subdomain(name))
    yield from _labels(dig_strings(template, "metadata", "labels"), "template.labels")
    for key in dig_strings(template, "metadata", "annotations"):
        yield from (invalid("template.annotations", key, wrong) for wrong in qualified_name(key.lower()))
    yield from spec_problems(dig_object(template, "spec"), "template.spec")
    if dig_objects(template, "spec", "ephemeralContainers"):
        path = "template.spec.ephemeralContainers"
        yield forbidden(path, "ephemeral containers not allowed in pod template")


def spec_problems(spec: JsonObject, path: str) -> Iterator[str]:
    """Errors of a pod spec that is found at `path`."""
    volumes, errors = _volumes(dig_objects(spec, "volumes"), f"{path}.volumes")
    yield from errors
    yield from container_problems(spec, path, volumes)
    yield from host_network_problems(spec, path)
    for field, default, supported in (
        ("restartPolicy", "Always", _RESTART_POLICIES),
        ("dnsPolicy", "ClusterFirst", _DNS_POLICIES),
    ):
        value = dig_str(spec, field) or default
        if value not in supported:
            yield unsupported(f"{path}.{field}", value, supported)
    yield from _labels(dig_strings(spec, "nodeSelector"), f"{path}.nodeSelector")
    yield from _gates(spec, f"{path}.schedulingGates")
    yield from _names(spec, path, ("serviceAccountName", "nodeName"))
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= dig_int(spec, "activeDeadlineSeconds") <= _MOST_SECONDS:
        detail = f"must be between 1 and {_MOST_SECONDS}, inclusive"
        yield invalid(f"{path}.activeDeadlineSeconds", deadline, detail)
    for field in ("hostname", "subdomain"):
        value = dig_str(spec, field)
        yield from (invalid(f"{path}.{field}", value, wrong) for wrong in (dns_label(value) if value else ()))
    yield from toleration_problems(dig_objects(spec, "tolerations"), f"{path}.tolerations")
    yield from _names(spec, path, ("priorityClassName",))


def _labels(labels: dict[str, str], path: str) -> Iterator[str]:
    for key, value in labels.items():
        yield from (invalid(path, key, wrong) for wrong in qualified_name(key))
        yield from (invalid(path, value, wrong) for wrong in label_value(value))


def _names(spec: JsonObject, path: str, fields: tuple[str, ...]) -> Iterator[str]:
    for field in fields:
        value = dig_str(spec, field)
        if value:
            yield from (invalid(f"{path}.{field}", value, wrong) for wrong in dns_subdomain(value))


def _volumes(volumes: list[JsonObject], path: str) -> tuple[list[str], list[str]]:
    """Names of the volumes that are well formed, and the errors of the others."""
    taken: list[str] = []
    errors: list[str] = []
    for index, volume in enumerate(volumes):
        at, name = f"{path}[{index}]", dig_str(volume, "name")
        sources = [field for field, value in volume.items() if field != "name" and value is not None]
        wrong = [
            forbidden(f"{at}.{field}", "may not specify more than 1 volume type") for field in sources[1:]
        ]
        if not name:
            wrong.append(required(f"{at}.name"))
        else:
            wrong += [invalid(f"{at}.name", name, each) for each in dns_label(name)]
        if name in taken:
            wrong.append(duplicate(f"{at}.name", name))
        if not wrong:
            taken.append(name)
        errors += wrong
    return taken, errors


def _gates(spec: JsonObject, path: str) -> Iterator[str]:
    taken: set[str] = set()
    for index, gate in enumerate(dig_objects(spec, "schedulingGates")):
        name = dig_str(gate, "name")
        yield from (invalid(f"{path}[{index}]", name, wrong) for wrong in qualified_name(name))
        if name in taken:
            yield duplicate(f"{path}[{index}]", name)
        taken.add(name)


def toleration_problems(tolerations: list[JsonObject], path: str) -> Iterator[str]:
    """Errors of tolerations that are found at `path`."""
    for index, toleration in enumerate(tolerations):
        at = f"{path}[{index}]"
        key, operator = dig_str(toleration, "key"), dig_str(toleration, "operator")
        value, effect = dig_str(toleration, "value"), dig_str(toleration, "effect")
        if key:
            yield from (invalid(f"{at}.key", key, wrong) for wrong in qualified_name(key))
        elif operator != "Exists":
            detail = (
                'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            )
            yield invalid(f"{at}.operator", operator, detail)
        if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
            yield invalid(
                f"{at}.effect", effect, "effect must be 'NoExecute' when `tolerationSeconds` is set"
            )
        if operator in ("", "Equal"):
            wrong = label_value(value)
            if wrong:
                yield invalid(f"{at}.operator", value, ";".join(wrong))
        elif operator != "Exists":
            yield unsupported(f"{at}.operator", operator, ("Equal", "Exists"))
        elif value:
            yield invalid(f"{at}.operator", value, "value must be empty when `operator` is 'Exists'")
        if effect and effect not in _EFFECTS:
            yield unsupported(f"{at}.effect", effect, _EFFECTS)
