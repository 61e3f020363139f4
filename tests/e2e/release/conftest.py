"""The release that all tests of this folder share, one for each worker, and a context for each test.

Tests with the mark `full` run in `make conformance-full` alone, which sets VCRAY_FULL=1; CI runs the others.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.harness.definitions import install
from tests.conformance.harness.server import ControlPlane
from tests.e2e.release.cluster import Release
from tests.e2e.release.context import Context
from vcray.api.crds import all_crds


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what is for the full run alone."""
    left_out = [item for item in items if item.get_closest_marker("full")]
    if left_out and os.environ.get("VCRAY_FULL") != "1":
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=left_out)


@pytest.fixture(scope="session")
def release(kubernetes_programs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Release]:
    """A real control plane of its own with workers and a Volcano release; its log must hold no traceback."""
    with ControlPlane(kubernetes_programs, controller_manager=True) as server:
        install(server.client, all_crds())
        made = Release(server, tmp_path_factory.mktemp("release")).start()
        yield made
        still = made.program.running
        output = made.stop()
        assert still, output
        assert "Traceback" not in output, output


@pytest.fixture
def context(release: Release) -> Iterator[Context]:
    """This test's namespace and queues on the whole cluster."""
    made = Context(release)
    yield made
    made.clean()
