"""What tests of the command line share."""

import pytest

from tests.cli.stored_cluster import Cluster


@pytest.fixture
def cluster(monkeypatch):
    """Volcano's programs on an object store, in UTC."""
    monkeypatch.setenv("TZ", "UTC")
    return Cluster()
