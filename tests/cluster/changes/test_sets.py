"""Sets of fields."""

from vcray.cluster.changes import sets

ONE = {"f:spec": {".": {}, "f:a": {}, "f:b": {"f:c": {}}}}
OTHER = {"f:spec": {"f:a": {}, "f:d": {}}}


def test_union_intersection_and_difference():
    assert sets.union(ONE, OTHER) == {"f:spec": {".": {}, "f:a": {}, "f:b": {"f:c": {}}, "f:d": {}}}
    assert sets.root_common(ONE, OTHER) == {"f:spec": {"f:a": {}}}
    assert sets.root_without(ONE, OTHER) == {"f:spec": {".": {}, "f:b": {"f:c": {}}}}


def test_a_filter_takes_away_everything_below():
    assert sets.root_without(ONE, {"f:spec": {"f:b": {}}}, all_below=True) == {"f:spec": {".": {}, "f:a": {}}}
    assert sets.root_without(ONE, {"f:spec": {}}, all_below=True) is None


def test_paths_end_first_and_go_deeper_then():
    assert list(sets.paths(ONE)) == [("f:spec",), ("f:spec", "f:a"), ("f:spec", "f:b", "f:c")]


def test_a_path_is_spoken_as_messages_show_it():
    path = ("f:spec", 'k:{"name":"main"}', "f:image", 'v:"x"')

    assert sets.spoken(path) == '.spec[name="main"].image[="x"]'
