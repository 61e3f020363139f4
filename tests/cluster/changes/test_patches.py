"""JSON and merge patches."""

import pytest

from vcray.cluster.changes.patches import json_patch, merge
from vcray.kube.errors import BadRequest, Invalid


def test_a_merge_removes_what_is_null_and_replaces_lists():
    assert merge({"a": 1, "b": {"c": [1], "d": 2}}, {"a": None, "b": {"c": [2]}}) == {"b": {"c": [2], "d": 2}}


def test_an_operation_without_a_value_takes_null():
    assert json_patch({"a": 1}, [{"op": "add", "path": "/a"}]) == {"a": None}


def test_an_operation_that_cannot_be_done_is_refused_in_the_words_of_the_server():
    with pytest.raises(Invalid, match="the server rejected our request due to an error in our request"):
        json_patch({}, [{"op": "remove", "path": "/a"}])
    with pytest.raises(BadRequest, match="cannot unmarshal object into Go value"):
        json_patch({}, {"op": "remove"})
