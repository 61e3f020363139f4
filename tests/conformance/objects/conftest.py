"""Both servers at once."""

import pytest

from tests.conformance.objects.pair import Pair


@pytest.fixture(scope="session")
def pair(embedded_apiserver, real_apiserver):
    """The embedded server and the real one, with a namespace of one name."""
    return Pair((embedded_apiserver, real_apiserver))
