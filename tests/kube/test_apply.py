"""The smallest patch between two objects, and the document of an apply."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from vcray.api.meta import JsonObject, JsonValue
from vcray.cluster.patches import merge
from vcray.kube.apply import apply_document, merge_patch

_scalars = st.one_of(st.integers(0, 3), st.sampled_from(["x", "y"]), st.booleans())
_values: st.SearchStrategy[JsonValue] = st.recursive(
    _scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(["a", "b", "c"]), inner, max_size=3)
    ),
    max_leaves=8,
)
_objects = st.dictionaries(st.sampled_from(["a", "b", "c"]), _values, max_size=3)


@settings(max_examples=150, deadline=None)
@given(_objects, _objects)
def test_the_patch_leads_from_one_object_to_the_other(old: JsonObject, new: JsonObject) -> None:
    assert merge(old, merge_patch(old, new)) == new


@given(_objects)
def test_equal_objects_need_no_patch(obj: JsonObject) -> None:
    assert merge_patch(obj, obj) == {}


def test_only_what_differs_is_sent() -> None:
    old: JsonObject = {"spec": {"a": 1, "b": [1]}, "status": {"phase": "x"}}
    new: JsonObject = {"spec": {"a": 1, "b": [2]}, "status": {"phase": "x"}}

    assert merge_patch(old, new) == {"spec": {"b": [2]}}


def test_a_document_to_apply_leaves_out_what_only_the_server_writes() -> None:
    obj: JsonObject = {
        "apiVersion": "v1",
        "kind": "K",
        "metadata": {
            "name": "n",
            "uid": "u",
            "resourceVersion": "1",
            "managedFields": [],
            "labels": {"l": "v"},
        },
        "spec": {"a": 1},
        "status": {"s": 1},
    }

    assert apply_document(obj, "status") == {
        "apiVersion": "v1",
        "kind": "K",
        "metadata": {"name": "n", "labels": {"l": "v"}},
        "status": {"s": 1},
    }
    assert set(apply_document(obj)) == {"apiVersion", "kind", "metadata", "spec", "status"}
