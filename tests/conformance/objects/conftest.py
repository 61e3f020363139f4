"""Both servers at once."""

import pytest

from tests.conformance.objects.pair import Pair


@pytest.fixture(scope="module")
def pair(embedded_apiserver, real_apiserver):
    """The embedded server and the real one, with a namespace of one name for the tests of one file: what they leave stays in it."""
    return Pair((embedded_apiserver, real_apiserver))
