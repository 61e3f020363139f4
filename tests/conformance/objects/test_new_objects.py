"""What a server makes of a new object of each built-in kind: defaults, first statuses, addresses, managed fields."""

import pytest

from tests.conformance.objects.pair import path_of, samples

NAMES = list(samples("n", "cluster"))
LAST = [name for name in NAMES if "LimitRange" in name]  # for it changes the pods that come after


@pytest.mark.parametrize("name", [*(name for name in NAMES if name not in LAST), *LAST])
def test_a_new_object_is_completed_alike(pair, name):
    sample = list(samples(pair.namespace, f"{pair.namespace}x").values())[NAMES.index(name)]

    ours, theirs = pair.answers("POST", f"{path_of(sample, pair.namespace)}?fieldManager=tests", sample)

    assert theirs[0] == 201
    assert ours == theirs
