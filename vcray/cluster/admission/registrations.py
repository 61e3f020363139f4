"""Whether webhook configurations may be stored: the rules of the `admissionregistration.k8s.io` API, in its words."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import urlsplit

from vcray.api.formats import dns_subdomain
from vcray.api.jsonview import dig, dig_list, dig_object, dig_objects, dig_str
from vcray.api.meta import JsonObject, JsonValue
from vcray.cluster.definitions.faults import Faults

_FAILURE_POLICIES = ("Fail", "Ignore")
_MATCH_POLICIES = ("Equivalent", "Exact")
_SCOPES = ("*", "Cluster", "Namespaced")
_REINVOCATIONS = ("IfNeeded", "Never")
_SIDE_EFFECTS = ("None", "NoneOnDryRun")
_OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_VERSIONS = ("v1", "v1beta1")
_CEL_NAME = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*")

Expressions = Callable[[list[JsonObject], str, Faults], None]
"""Checks matchConditions under a path."""


def webhook_faults(obj: JsonObject, conditions: Expressions) -> list[str]:
    """What is wrong with a mutating or validating webhook configuration; `conditions` checks matchConditions."""
    faults = Faults()
    names: set[str] = set()
    for index, hook in enumerate(dig_objects(obj, "webhooks")):
        path, name = f"webhooks[{index}]", dig_str(hook, "name")
        _name(name, f"{path}.name", faults)
        for position, rule in enumerate(dig_objects(hook, "rules")):
            check_rule(rule, f"{path}.rules[{position}]", faults, _OPERATIONS)
        _choice(hook, "failurePolicy", _FAILURE_POLICIES, path, faults)
        _choice(hook, "matchPolicy", _MATCH_POLICIES, path, faults)
        if hook.get("sideEffects") is None:
            faults.required(f"{path}.sideEffects", f"must specify one of {', '.join(_SIDE_EFFECTS)}")
        else:
            _choice(hook, "sideEffects", _SIDE_EFFECTS, path, faults)
        seconds = hook.get("timeoutSeconds")
        if isinstance(seconds, int) and not 1 <= seconds <= 30:
            why = "the timeout value must be between 1 and 30 seconds"
            faults.invalid(f"{path}.timeoutSeconds", seconds, why)
        if obj.get("kind") == "MutatingWebhookConfiguration":
            _choice(hook, "reinvocationPolicy", _REINVOCATIONS, path, faults)
        _client(dig_object(hook, "clientConfig"), f"{path}.clientConfig", faults)
        conditions(dig_objects(hook, "matchConditions"), f"{path}.matchConditions", faults)
        _review_versions(dig_list(hook, "admissionReviewVersions"), f"{path}.admissionReviewVersions", faults)
        if name and name in names:
            faults.duplicate(f"{path}.name", name)
        names.add(name)
    return faults.found


def _name(name: str, path: str, faults: Faults) -> None:
    if not name:
        faults.required(path)
        return
    for wrong in dns_subdomain(name):
        faults.invalid(path, name, wrong)
    if name.count(".") < 2:
        why = "should be a domain with at least three segments separated by dots"
        faults.invalid(path, name, why)


def _choice(holder: JsonObject, field: str, accepted: tuple[str, ...], path: str, faults: Faults) -> None:
    value = holder.get(field)
    if value is not None and value not in accepted:
        faults.unsupported(f"{path}.{field}", value, accepted)


def check_rule(rule: JsonObject, path: str, faults: Faults, operations: tuple[str, ...]) -> None:
    """The rules of one RuleWithOperations."""
    said = dig_list(rule, "operations")
    if not said:
        faults.required(f"{path}.operations")
    if len(said) > 1 and "*" in said:
        why = "if '*' is present, must not specify other operations"
        faults.invalid(f"{path}.operations", said, why)
    for index, operation in enumerate(said):
        if operation not in operations:
            faults.unsupported(f"{path}.operations[{index}]", operation, operations)
    for field, words in (("apiGroups", "API groups"), ("apiVersions", "API versions")):
        values = dig_list(rule, field)
        if not values:
            faults.required(f"{path}.{field}")
        if len(values) > 1 and "*" in values:
            faults.invalid(f"{path}.{field}", values, f"if '*' is present, must not specify other {words}")
        if field == "apiVersions":
            for index, version in enumerate(values):
                if version == "":
                    faults.required(f"{path}.{field}[{index}]")
    _resources(dig_list(rule, "resources"), f"{path}.resources", faults)
    _choice(rule, "scope", _SCOPES, path, faults)


def _resources(resources: list[JsonValue], path: str, faults: Faults) -> None:
    if not resources:
        faults.required(path)
    all_of: set[str] = set()  # x/*
    in_all: set[str] = set()  # */x
    for index, item in enumerate(resources):
        whole = str(item)
        name, slash, sub = whole.partition("/")
        if not whole:
            faults.required(f"{path}[{index}]")
        if not slash:
            continue
        if name in all_of:
            why = f"if '{name}/*' is present, must not specify {whole}"
            faults.invalid(f"{path}[{index}]", whole, why)
        if sub in in_all:
            faults.invalid(f"{path}[{index}]", whole, f"if '*/{sub}' is present, must not specify {whole}")
        if sub == "*":
            all_of.add(name)
        if name == "*":
            in_all.add(sub)
    if len(resources) > 1 and "*/*" in resources:
        faults.invalid(path, resources, "if '*/*' is present, must not specify other resources")
    if "*" in resources and any("/" not in str(item) and item != "*" for item in resources):
        why = "if '*' is present, must not specify other resources without subresources"
        faults.invalid(path, resources, why)


def _client(client: JsonObject, path: str, faults: Faults) -> None:
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        faults.required(path, "exactly one of url or service is required")
    elif url is not None:
        _url(str(url), f"{path}.url", faults)
    else:
        _service(service, f"{path}.service", faults)


def _url(url: str, path: str, faults: Faults) -> None:
    parts = urlsplit(url)
    form = "; desired format: https://host[/path]"
    if parts.scheme != "https":
        faults.invalid(path, parts.scheme, f"'https' is the only allowed URL scheme{form}")
    if not parts.netloc:
        faults.invalid(path, parts.netloc, f"host must be specified{form}")
    if parts.username is not None:
        faults.invalid(path, parts.netloc.rpartition("@")[0], "user information is not permitted in the URL")
    if parts.fragment:
        faults.invalid(path, parts.fragment, "fragments are not permitted in the URL")
    if parts.query:
        faults.invalid(path, parts.query, "query parameters are not permitted in the URL")


def _service(service: JsonValue, path: str, faults: Faults) -> None:
    for field in ("name", "namespace"):
        if not dig_str(service, field):
            faults.required(f"{path}.{field}")
    port = dig(service, "port")
    if isinstance(port, int) and not 1 <= port <= 65535:
        faults.invalid(f"{path}.port", port, "port is not valid: must be between 1 and 65535, inclusive")
    where = dig(service, "path")
    if not isinstance(where, str) or where == "/":
        return
    if not where.startswith("/"):
        faults.invalid(f"{path}.path", where, "must start with a '/'")
    for index, part in enumerate(where[1:].removesuffix("/").split("/")):
        if not part:
            faults.invalid(f"{path}.path", where, f"segment[{index}] may not be empty")
        for wrong in dns_subdomain(part) if part else ():
            faults.invalid(f"{path}.path", where, f"segment[{index}]: {wrong}")


def _review_versions(versions: list[JsonValue], path: str, faults: Faults) -> None:
    if not versions:
        faults.required(path, f"must specify one of {', '.join(_VERSIONS)}")
        return
    for index, version in enumerate(versions):
        if version in versions[:index]:
            faults.invalid(f"{path}[{index}]", version, "duplicate version")
        else:
            faults.label(f"{path}[{index}]", str(version))
    if not any(version in _VERSIONS for version in versions):
        faults.invalid(path, versions, f"must include at least one of {', '.join(_VERSIONS)}")


def is_cel_name(name: str) -> bool:
    """Whether a variable may be called so."""
    return _CEL_NAME.fullmatch(name) is not None
