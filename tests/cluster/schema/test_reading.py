"""Unknown and repeated fields by the will of the client."""

import json

import pytest

from vcray.api.resources import CONFIGMAPS, Resource
from vcray.cluster.objects.catalog import custom_kind, default_catalog
from vcray.cluster.schema.duplicates import repeated_fields
from vcray.cluster.schema.reading import read
from vcray.kube.errors import BadRequest, Invalid

CONFIG = default_catalog(volcano=False).of(CONFIGMAPS)
SPEC = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string", "default": "x"}}}
THING = custom_kind(
    Resource("example.com", "v1", "Thing", "things"), {"type": "object", "properties": {"spec": SPEC}}
)


def test_strict_refuses_what_the_type_does_not_know():
    with pytest.raises(BadRequest) as caught:
        read(CONFIG, {"metadata": {"foo": 1}, "bar": 2}, "Strict")

    assert caught.value.message == (
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: '
        'unknown field "metadata.foo", unknown field "bar"'
    )


def test_warn_tells_and_drops_it():
    warnings = []

    obj = read(CONFIG, {"metadata": {}, "bar": 2}, "Warn", warnings)

    assert "bar" not in obj
    assert warnings == ['unknown field "bar"']


def test_a_custom_object_is_pruned_and_defaulted_by_its_schema():
    warnings = []

    obj = read(
        THING, {"metadata": {"name": "t", "no": 1}, "spec": {"a": 1, "c": 2}, "d": 3}, "Warn", warnings
    )

    assert obj == {"metadata": {"name": "t"}, "spec": {"a": 1, "b": "x"}}
    assert warnings == [f'unknown field "{name}"' for name in ("metadata.no", "d", "spec.c")]


def test_the_outcome_of_a_patch_is_laid_at_the_patchs_door():
    with pytest.raises(Invalid, match="patch: Invalid value: "):
        read(CONFIG, {"bar": 1}, "Strict", patch=lambda: "{}")


def test_repeated_fields_are_found_in_json_and_in_yaml():
    body = b'{"metadata": {"name": "a", "name": "b"}, "data": {"x": "1"}}'
    text = b"metadata:\n  name: a\n  name: b\n"

    assert repeated_fields(body, json.loads(body), is_yaml=False) == ['duplicate field "metadata.name"']
    assert repeated_fields(text, {}, is_yaml=True) == ['line 3: key "name" already set in map']
    assert repeated_fields(b'{"a": "\\u0022"}', {"a": '"'}, is_yaml=False) == []
