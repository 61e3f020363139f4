"""Sequences of applies, patches and updates give the same objects, owners, refusals and warnings on both servers."""

import pytest

from tests.conformance.objects.sequences import SEQUENCES


@pytest.mark.parametrize("name", SEQUENCES)
def test_a_sequence_of_changes_goes_alike(pair, name):
    for number, step in enumerate(SEQUENCES[name](pair.namespace)):
        ours, theirs = pair.answers(step.method, step.path, step.body, step.media)
        if step.serves:
            pair.await_served(step.serves)

        assert ours == theirs, f"step {number}: {step.method} {step.path} {step.body}"
