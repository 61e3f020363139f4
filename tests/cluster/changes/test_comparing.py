"""What differs between two versions of an object."""

from vcray.cluster.changes.comparing import compare, field_set
from vcray.cluster.changes.shapes import kind_shape

PODS = kind_shape("v1", "Pod", None)
MAPS = kind_shape("v1", "ConfigMap", None)


def pod(*containers, **spec):
    return {"spec": {"containers": list(containers), **spec}}


def test_an_entry_that_comes_counts_with_all_that_is_in_it():
    found = compare(pod({"name": "a"}), pod({"name": "a"}, {"name": "b", "image": "i"}), PODS)

    entry = {".": {}, "f:name": {}, "f:image": {}}
    assert found.added == {"f:spec": {"f:containers": {'k:{"name":"b"}': entry}}}
    assert (found.modified, found.removed) == (None, None)


def test_a_list_that_does_not_merge_is_one_field():
    found = compare(pod(hostAliases=[], nodeSelector={"a": "b"}), pod(nodeSelector={"a": "c"}), PODS)

    assert found.modified == {"f:spec": {"f:nodeSelector": {}}}
    assert found.removed == {"f:spec": {"f:hostAliases": {}}}


def test_the_fields_of_a_document_are_its_leaves_and_the_entries_of_its_maps():
    document = {"metadata": {"labels": {"a": "b"}}, "data": {}}

    assert field_set(document, MAPS) == {"f:metadata": {"f:labels": {"f:a": {}}}, "f:data": {}}
