"""Objects that break a rule are refused alike: same status, same sentence, same causes."""

import copy

import pytest
import yaml

from tests.conformance.objects.pair import FOLDER, path_of, samples

CASES = yaml.safe_load((FOLDER / "refusals.yaml").read_text())
MARK = "cl-x1"
SAMPLES = {key.partition(" ")[2]: sample for key, sample in reversed(samples("default", MARK).items())}


def changed(case):
    """The sample of a case with its fields set."""
    obj = copy.deepcopy(SAMPLES[case["of"].replace("CLUSTER", MARK)])
    path = path_of(obj, "default")
    for field, value in case["set"].items():
        *outer, last = field.split(".")
        place = obj
        for step in outer:
            place = place.setdefault(step, {})
        if value is None:
            place.pop(last, None)
        else:
            place[last] = value
    return obj, path


@pytest.mark.parametrize(
    "case", CASES, ids=[f"{c['of']} {next(iter(c['set']))} {n}" for n, c in enumerate(CASES)]
)
def test_an_object_that_breaks_a_rule_is_refused_alike(pair, case):
    obj, path = changed(case)

    ours, theirs = pair.answers("POST", f"{path}?dryRun=All", obj)

    assert ours[:2] == theirs[:2]
