"""Whether a CustomResourceDefinition may be created or changed: names, versions, schemas, columns, subresources.

Faults are worded as kube-apiserver words them. Like there, what all versions have in common is spoken of as if it stood
in `spec` itself: the schema of a definition with one version is `spec.validation.openAPIV3Schema`.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from vcray.api.jsonview import dig, dig_list, dig_object, dig_objects, dig_str, holds
from vcray.api.meta import JsonObject, JsonValue
from vcray.cluster.definitions.faults import Faults, not_a_label, not_a_subdomain
from vcray.cluster.definitions.schemas import default_faults, schema_faults
from vcray.cluster.definitions.selectable import selectable_faults
from vcray.cluster.definitions.structural import structural_faults
from vcray.cluster.schema.rules import has_rules

APPROVAL = "api-approved.kubernetes.io"
_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_PROTECTED = ("k8s.io", "kubernetes.io")
_ROOT_FIELDS = {
    "description", "type", "format", "title", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum",
    "maxLength", "minLength", "pattern", "maxItems", "minItems", "uniqueItems", "multipleOf", "required", "items",
    "properties", "externalDocs", "example", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-validations",
}  # fmt: skip
_ROOT_FIELDS_TOLD = (
    "[Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern "
    "MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields "
    "XValidations]"
)


def definition_faults(obj: JsonObject, old: JsonObject | None = None) -> list[str]:
    """What is wrong with a new definition, or with the change of `old` to it. Its defaults are filled in before."""
    faults = Faults()
    spec = dig_object(obj, "spec")
    _name(obj, spec, faults)
    if old is None or old.get("spec") != spec:  # a large schema takes a while, and what was accepted stays so
        _spec(spec, faults)
    if old is not None:
        _immutable(spec, dig_object(old, "spec"), holds(old, "Established"), faults)
    _stored_versions(obj, faults)
    _approval(obj, old, faults)
    if spec.get("preserveUnknownFields") and not dig(old, "spec", "preserveUnknownFields"):
        why = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        faults.invalid("spec.preserveUnknownFields", True, why)
    return list(dict.fromkeys(faults.found))


def _name(obj: JsonObject, spec: JsonObject, faults: Faults) -> None:
    name = dig_str(obj, "metadata", "name")
    reason = not_a_subdomain(name)
    if reason:
        faults.invalid("metadata.name", name, reason)
    if name != f"{dig_str(spec, 'names', 'plural')}.{dig_str(spec, 'group')}":
        faults.invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group')


def _spec(spec: JsonObject, faults: Faults) -> None:
    group = dig_str(spec, "group")
    if not group:
        faults.required("spec.group")
    elif reason := not_a_subdomain(group):
        faults.invalid("spec.group", group, reason)
    elif "." not in group:
        faults.invalid("spec.group", group, "should be a domain with at least one dot")
    faults.one_of("spec.scope", dig_str(spec, "scope"), ("Cluster", "Namespaced"))
    versions = dig_objects(spec, "versions")
    _versions(versions, faults)
    _names(dig_object(spec, "names"), faults)
    _conversion(dig_object(spec, "conversion"), faults)


def _versions(versions: list[JsonObject], faults: Faults) -> None:
    names = [dig_str(version, "name") for version in versions]
    same_schema = all(version.get("schema") == versions[0].get("schema") for version in versions)
    for index, version in enumerate(versions):
        path = f"spec.versions[{index}]"
        schema = dig(version, "schema", "openAPIV3Schema")
        if not isinstance(schema, dict):
            faults.required(f"{path}.schema.openAPIV3Schema")
        faults.label(f"{path}.name", names[index])
        _deprecation(version, path, faults)
        one = len(versions) == 1
        if isinstance(schema, dict) and not (same_schema and index):
            place = "spec.validation" if same_schema else f"{path}.schema"
            _schema(schema, version, f"{place}.openAPIV3Schema", faults)
        _rest_of_version(version, "spec" if one else path, faults)
    if names and (reason := not_a_label(names[0])):
        faults.invalid("spec.version", names[0], reason)
    told: list[JsonValue] = [_told(version, same_schema) for version in versions]
    if len(set(names)) != len(names):
        faults.invalid("spec.versions", told, "must contain unique version names")
    if sum(1 for version in versions if version.get("storage")) != 1:
        faults.invalid("spec.versions", told, "must have exactly one version marked as storage version")


def _told(version: JsonObject, same_schema: bool) -> JsonObject:
    """A version as messages show it: the server's own form, without what all versions have in common."""
    return {
        "Name": version.get("name"),
        "Served": bool(version.get("served")),
        "Storage": bool(version.get("storage")),
        "Deprecated": bool(version.get("deprecated")),
        "DeprecationWarning": version.get("deprecationWarning"),
        "Schema": None if same_schema else version.get("schema"),
        "Subresources": None,
        "AdditionalPrinterColumns": None,
        "SelectableFields": None,
    }


def _rest_of_version(version: JsonObject, path: str, faults: Faults) -> None:
    scale = dig(version, "subresources", "scale")
    if isinstance(scale, dict):
        _scale(scale, f"{path}.subresources.scale", faults)
    for position, column in enumerate(dig_objects(version, "additionalPrinterColumns")):
        _column(column, f"{path}.additionalPrinterColumns[{position}]", faults)
    faults.found += selectable_faults(version, f"{path}.selectableFields")


def _deprecation(version: JsonObject, path: str, faults: Faults) -> None:
    warning = version.get("deprecationWarning")
    if not isinstance(warning, str):
        return
    where = f"{path}.deprecationWarning"
    if not version.get("deprecated"):
        faults.invalid(where, warning, "can only be set for deprecated versions")
    elif len(warning) > 256:
        faults.invalid(where, warning, "must be <= 256 characters long")
    elif not warning:
        faults.invalid(where, warning, "must not be an empty string")


def _schema(schema: JsonObject, version: JsonObject, path: str, faults: Faults) -> None:
    if dig(version, "subresources", "status") is not None:
        _root_with_status(schema, path, faults)
    if schema.get("nullable"):
        faults.forbidden(f"{path}.nullable", "nullable cannot be true at the root")
    found = structural_faults(schema, path)
    faults.found += found or default_faults(schema, path)
    beyond = schema_faults(schema, path)
    faults.found += beyond
    if not found and not beyond and has_rules(schema):
        from vcray.cluster.cel.definitions import (
            rule_faults,
        )  # the expression library is loaded when it is needed

        faults.found += rule_faults(schema, path)


def _root_with_status(schema: JsonObject, path: str, faults: Faults) -> None:
    if schema.get("type") != "object":
        why = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
        faults.invalid(f"{path}.type", dig_str(schema, "type"), why)
    elif any(value and name not in _ROOT_FIELDS for name, value in schema.items()):
        why = (
            f"only {_ROOT_FIELDS_TOLD} fields are allowed at the root of the schema if the status subresource "
            "is enabled"
        )
        faults.invalid(path, schema, why)


def _names(names: JsonObject, faults: Faults) -> None:
    for word in ("plural", "singular", "kind", "listKind"):
        if not names.get(word):
            faults.required(f"spec.names.{word}")
    for word in ("plural", "singular"):
        if dig_str(names, word):
            faults.label(f"spec.names.{word}", dig_str(names, word))
    for word in ("kind", "listKind"):
        value = dig_str(names, word)
        if value and (reason := not_a_label(value.lower())):
            opening = "may have mixed case, but should otherwise match: "
            faults.invalid(f"spec.names.{word}", value, opening + reason)
    for word in ("shortNames", "categories"):
        for index, name in enumerate(dig_list(names, word)):
            faults.label(f"spec.names.{word}[{index}]", str(name))
    if names.get("kind") and names.get("kind") == names.get("listKind"):
        faults.invalid("spec.names.listKind", names["kind"], "kind and listKind may not be the same")


def _column(column: JsonObject, path: str, faults: Faults) -> None:
    kinds, formats = ",".join(_COLUMN_TYPES), ",".join(_COLUMN_FORMATS)
    if not column.get("name"):
        faults.required(f"{path}.name")
    kind, form = dig_str(column, "type"), dig_str(column, "format")
    if not kind:
        faults.required(f"{path}.type", f"must be one of {kinds}")
    elif kind not in _COLUMN_TYPES:
        faults.invalid(f"{path}.type", kind, f"must be one of {kinds}")
    if form and form not in _COLUMN_FORMATS:
        faults.invalid(f"{path}.format", form, f"must be one of {formats}")
    _json_path(dig_str(column, "jsonPath"), f"{path}.JSONPath", faults)


def _json_path(value: str, path: str, faults: Faults) -> bool:
    if not value:
        faults.required(path)
    elif not value.startswith("."):
        faults.invalid(path, value, "must be a simple json path starting with .")
    return value.startswith(".")


def _scale(scale: JsonObject, path: str, faults: Faults) -> None:
    for name, under in (("specReplicasPath", "spec"), ("statusReplicasPath", "status")):
        value = dig_str(scale, name)
        if _json_path(value, f"{path}.{name}", faults) and not value.startswith(f".{under}."):
            faults.invalid(f"{path}.{name}", value, f"should be a json path under .{under}")
    value, where = dig_str(scale, "labelSelectorPath"), f"{path}.labelSelectorPath"
    if value and _json_path(value, where, faults) and not value.startswith((".spec.", ".status.")):
        faults.invalid(where, value, "should be a json path under either .spec or .status")


def _conversion(conversion: JsonObject, faults: Faults) -> None:
    strategy, path = dig_str(conversion, "strategy"), "spec.conversion"
    faults.one_of(f"{path}.strategy", strategy, ("None", "Webhook"))
    webhook = conversion.get("webhook")
    client, reviews = dig(webhook, "clientConfig"), dig_list(webhook, "conversionReviewVersions")
    if strategy != "Webhook":
        if client is not None:
            faults.forbidden(
                f"{path}.webhookClientConfig", "should not be set when strategy is not set to Webhook"
            )
        return
    where = f"{path}.webhookClientConfig"
    if not isinstance(client, dict):
        faults.required(where, "required when strategy is set to Webhook")
    elif (client.get("url") is None) == (client.get("service") is None):
        faults.required(where, "exactly one of url or service is required")
    elif isinstance(client.get("url"), str) and urlsplit(dig_str(client, "url")).scheme != "https":
        url = dig_str(client, "url")
        faults.invalid(
            f"{where}.url",
            urlsplit(url).scheme,
            "'https' is the only allowed URL scheme; desired format: https://host[/path]",
        )
    if not reviews:
        faults.required(f"{path}.conversionReviewVersions")
    elif not {"v1", "v1beta1"} & set(map(str, reviews)):
        faults.invalid(
            f"{path}.conversionReviewVersions", reviews, "must include at least one of v1, v1beta1"
        )


def _immutable(spec: JsonObject, old: JsonObject, established: bool, faults: Faults) -> None:
    fixed = [("group",), ("names", "plural")]
    if established:
        fixed += [("scope",), ("names", "kind")]
    for path in fixed:
        if dig(spec, *path) != dig(old, *path):
            faults.invalid(".".join(("spec", *path)), dig(spec, *path), "field is immutable")


def _stored_versions(obj: JsonObject, faults: Faults) -> None:
    stored, path = dig_list(obj, "status", "storedVersions"), "status.storedVersions"
    versions = dig_objects(obj, "spec", "versions")
    if not stored:
        faults.invalid(path, None, "must have at least one stored version")
        return
    known = {dig_str(version, "name") for version in versions}
    for version in versions:
        if version.get("storage") and version.get("name") not in stored:
            faults.invalid(path, stored, f"must have the storage version {dig_str(version, 'name')}")
    for index, name in enumerate(map(str, stored)):
        if name not in known:
            why = (
                f"missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions "
                f"until a storage migration ensures no data remains persisted in {name} and removes {name} from "
                "status.storedVersions"
            )
            faults.invalid(f"{path}[{index}]", name, why)


def is_protected(group: str) -> bool:
    """Whether a group belongs to the Kubernetes community, so that its definitions need an approval."""
    return any(group == owner or group.endswith(f".{owner}") for owner in _PROTECTED)


def approval(obj: JsonObject) -> tuple[str, str]:
    """Whether a definition was approved: Missing, Unapproved, Approved or Invalid, and the sentence."""
    note = dig_str(obj, "metadata", "annotations", APPROVAL)
    page = "see https://github.com/kubernetes/enhancements/pull/1111"
    if not note:
        return "Missing", f'protected groups must have approval annotation "{APPROVAL}", {page}'
    if note.startswith("unapproved"):
        return "Unapproved", f'not approved: "{note}"'
    address = urlsplit(note)
    if address.scheme and address.netloc:
        return "Approved", f"approved in {note}"
    return (
        "Invalid",
        f'protected groups must have approval annotation "{APPROVAL}" with either a URL or a reason starting with '
        f'"unapproved", {page}',
    )


def _approval(obj: JsonObject, old: JsonObject | None, faults: Faults) -> None:
    if not is_protected(dig_str(obj, "spec", "group")):
        return
    state, reason = approval(obj)
    if old is not None and approval(old)[0] == state:
        return
    path = f"metadata.annotations[{APPROVAL}]"
    if state == "Missing":
        faults.required(path, reason)
    elif state == "Invalid":
        faults.invalid(path, dig_str(obj, "metadata", "annotations", APPROVAL), reason)
