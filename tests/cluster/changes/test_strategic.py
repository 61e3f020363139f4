"""Strategic merge patches."""

import pytest

from vcray.cluster.changes.shapes import kind_shape
from vcray.cluster.changes.strategic import strategic_merge
from vcray.kube.errors import ApiError

PODS = kind_shape("v1", "Pod", None)


def patched(old, spec):
    return strategic_merge({"spec": old}, {"spec": spec}, PODS)["spec"]


def test_entries_merge_by_their_key_and_keep_the_order_of_the_patch():
    old = {"containers": [{"name": "a", "image": "i"}, {"name": "b", "image": "j"}]}

    new = patched(old, {"containers": [{"name": "c", "image": "k"}, {"name": "a", "image": "x"}]})

    assert [each["name"] for each in new["containers"]] == ["c", "a", "b"]
    assert new["containers"][1] == {"name": "a", "image": "x"}


def test_directives_delete_replace_and_retain():
    old = {"containers": [{"name": "a"}, {"name": "b"}], "tolerations": [{"key": "x"}]}

    assert patched(old, {"containers": [{"name": "a", "$patch": "delete"}]})["containers"] == [{"name": "b"}]
    assert patched(old, {"$retainKeys": ["tolerations"]}) == {"tolerations": [{"key": "x"}]}
    assert patched(old, {"$patch": "replace", "hostname": "h"}) == {"hostname": "h"}


def test_an_entry_without_its_key_is_an_error_of_the_server():
    with pytest.raises(ApiError) as caught:
        patched({"containers": [{"name": "a"}]}, {"containers": [{"image": "x"}]})

    assert caught.value.message == "map: map[image:x] does not contain declared merge key: name"
    assert (caught.value.code, caught.value.reason) == (500, "")
