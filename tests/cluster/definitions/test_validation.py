"""Faulty definitions are refused with the words of a kube-apiserver."""

from copy import deepcopy
from typing import Any

import pytest

from vcray.api.crds import all_crds
from vcray.cluster.definitions.status import first_status, set_defaults
from vcray.cluster.definitions.validation import definition_faults

PATH = "spec.validation.openAPIV3Schema"


def faults(schema: Any = None, old: Any = None, version: Any = None, spec: Any = None) -> list[str]:
    """The faults of an otherwise good definition."""
    found: dict[str, Any] = {
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema or {"type": "object"}},
                    **(version or {}),
                }
            ],
            **(spec or {}),
        },
    }
    set_defaults(found)
    found["status"] = first_status(found)
    return definition_faults(found, old)


def of_field(field: dict[str, Any]) -> list[str]:
    return faults({"type": "object", "properties": {"f": field}})


def test_volcanos_definitions_have_none() -> None:
    for crd in all_crds():
        definition = deepcopy(crd)
        set_defaults(definition)
        definition["status"] = first_status(definition)

        assert definition_faults(definition) == []


def test_the_name_is_plural_and_group() -> None:
    assert faults(spec={"names": {"plural": "gadgets", "kind": "Widget"}}) == [
        'metadata.name: Invalid value: "widgets.example.com": must be spec.names.plural+"."+spec.group'
    ]


@pytest.mark.parametrize(
    ("field", "fault"),
    [
        ({}, "properties[f].type: Required value: must not be empty for specified object fields"),
        ({"type": "array"}, "properties[f].items: Required value: must be specified"),
        (
            {"type": "array", "items": {}},
            "properties[f].items.type: Required value: must not be empty for specified array items",
        ),
        (
            {"type": "object", "anyOf": [{"type": "object"}]},
            "properties[f].anyOf[0].type: Forbidden: must be empty to be structural",
        ),
        (
            {"type": "string", "default": 1},
            'properties[f].default: Invalid value: "integer":  in body must be of type string: "integer"',
        ),
        (
            {"type": "wish"},
            'properties[f].type: Unsupported value: "wish": supported values: "array", "boolean", "integer", '
            '"number", "object", "string"',
        ),
        (
            {"type": "string", "x-kubernetes-list-type": "atomic"},
            'properties[f].type: Invalid value: "string": must be array if x-kubernetes-list-type is specified',
        ),
        (
            {"type": "array", "x-kubernetes-list-type": "map", "items": {"type": "object"}},
            "properties[f].x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map",
        ),
        (
            {"type": "object", "properties": {"g": {"type": "string"}}, "additionalProperties": False},
            "properties[f].additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive",
        ),
        (
            {"type": "array", "uniqueItems": True, "items": {"type": "string"}},
            "properties[f].uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity "
            "becomes quadratic",
        ),
        (
            {"type": "integer", "x-kubernetes-validations": [{"rule": " "}]},
            "properties[f].x-kubernetes-validations[0].rule: Required value: rule is not specified",
        ),
    ],
)
def test_a_schema_is_structural(field: dict[str, Any], fault: str) -> None:
    assert f"{PATH}.{fault}" in of_field(field)


def test_what_a_junctor_restricts_is_defined_outside() -> None:
    assert faults({"type": "object", "anyOf": [{"properties": {"g": {"minimum": 1}}}]}) == [
        f"{PATH}.properties[g]: Required value: because it is defined in {PATH}.anyOf[0].properties[g]"
    ]


def test_int_or_string_may_say_its_types() -> None:
    either = {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]}

    assert of_field(either) == []


def test_metadata_restricts_names_only() -> None:
    labels = {"type": "object", "properties": {"labels": {"type": "object"}}}

    assert faults({"type": "object", "properties": {"metadata": labels}})[0] == (
        f"{PATH}.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but "
        "metadata is implicitly specified"
    )


@pytest.mark.parametrize(
    ("version", "fault"),
    [
        (
            {"additionalPrinterColumns": [{"name": "A", "type": "time", "jsonPath": ".a"}]},
            'spec.additionalPrinterColumns[0].type: Invalid value: "time": must be one of '
            "boolean,date,integer,number,string",
        ),
        (
            {"additionalPrinterColumns": [{"name": "A", "type": "string", "jsonPath": "a"}]},
            'spec.additionalPrinterColumns[0].JSONPath: Invalid value: "a": must be a simple json path starting with .',
        ),
        (
            {"subresources": {"scale": {"specReplicasPath": ".spec.n", "statusReplicasPath": ".spec.n"}}},
            'spec.subresources.scale.statusReplicasPath: Invalid value: ".spec.n": should be a json path under .status',
        ),
        (
            {"selectableFields": [{"jsonPath": ".spec.nothing"}]},
            'spec.selectableFields[0].jsonPath: Invalid value: ".spec.nothing": is an invalid path: does not refer to a '
            "valid field",
        ),
        (
            {"deprecationWarning": "old"},
            'spec.versions[0].deprecationWarning: Invalid value: "old": can only be set for deprecated versions',
        ),
        (
            {"name": "V1"},
            'spec.versions[0].name: Invalid value: "V1": a DNS-1035 label must consist of lower case alphanumeric '
            "characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. "
            "'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
        ),
    ],
)
def test_a_versions_parts_are_checked(version: dict[str, Any], fault: str) -> None:
    assert fault in faults(version=version)


@pytest.mark.parametrize(
    ("spec", "fault"),
    [
        ({"scope": ""}, "spec.scope: Required value"),
        (
            {"scope": "World"},
            'spec.scope: Unsupported value: "World": supported values: "Cluster", "Namespaced"',
        ),
        (
            {"preserveUnknownFields": True},
            "spec.preserveUnknownFields: Invalid value: true: cannot set to true, set "
            "x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead",
        ),
        (
            {"conversion": {"strategy": "Webhook"}},
            "spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook",
        ),
    ],
)
def test_the_rest_of_the_spec_is_checked(spec: dict[str, Any], fault: str) -> None:
    assert fault in faults(spec=spec)


def test_a_stored_version_may_not_vanish() -> None:
    old = {"status": {"storedVersions": ["v0"]}}
    changed: dict[str, Any] = {
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"plural": "widgets"},
            "versions": [{"name": "v1", "storage": True}],
        },
        "status": {"storedVersions": ["v0", "v1"]},
    }

    assert any(
        "missing from spec.versions; v0 was previously a storage" in each
        for each in definition_faults(changed, old)
    )  # type: ignore[arg-type]
