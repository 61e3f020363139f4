"""Fixtures for tests that need a real Kubernetes control plane.

A test that uses one of the control planes gets the marker ``apiserver`` by itself. Where the programs have not been
built such tests are skipped, and the end of the run says so; with VCRAY_REQUIRE_APISERVER=1 they fail instead.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

from tests.conformance.harness.definitions import install
from tests.conformance.harness.server import ControlPlane
from tools.kubernetes.build import PROGRAMS, SUITE, programs_folder, why_unavailable
from vcray.api.crds import all_crds

REQUIRE_VARIABLE = "VCRAY_REQUIRE_APISERVER"
CONTROL_PLANE_FIXTURES = {"kubernetes_programs", "kubernetes_suite", "apiserver", "cluster"}

_skipped_because = pytest.StashKey[str]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of tests/oracle; they stand here since only a conftest of the folder named on the command line may add any."""
    parser.addoption("--count", type=int, default=None, help="random clusters to compare (default 2000)")
    parser.addoption("--first", type=int, default=None, help="number of the first random cluster")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test that uses a control plane."""
    for item in items:
        if CONTROL_PLANE_FIXTURES & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.apiserver)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say aloud that the tests against a real server did not run."""
    reason = config.stash.get(_skipped_because, None)
    if reason is not None:
        terminalreporter.section("real kube-apiserver: SKIPPED", yellow=True)
        terminalreporter.line(reason)


@pytest.fixture(scope="session")
def kubernetes_programs(pytestconfig: pytest.Config) -> Path:
    """The folder with etcd, kube-apiserver, kube-controller-manager and kubectl; skips or fails without."""
    return _folder_with(pytestconfig, [name for name in PROGRAMS if name not in SUITE])


@pytest.fixture(scope="session")
def kubernetes_suite(pytestconfig: pytest.Config) -> Path:
    """The folder with Kubernetes' end-to-end suite and its runner; skips or fails without."""
    return _folder_with(pytestconfig, SUITE)


def _folder_with(pytestconfig: pytest.Config, programs: Collection[str]) -> Path:
    folder = programs_folder()
    reason = why_unavailable(folder, programs)
    if reason is not None:
        if os.environ.get(REQUIRE_VARIABLE) == "1":
            pytest.fail(f"{REQUIRE_VARIABLE}=1, but {reason}", pytrace=False)
        pytestconfig.stash[_skipped_because] = reason
        pytest.skip(reason)
    return folder


@pytest.fixture(scope="session")
def kubectl(kubernetes_programs: Path) -> Path:
    """The kubectl of the server's own version."""
    return kubernetes_programs / "kubectl"


@pytest.fixture(scope="session")
def apiserver(kubernetes_programs: Path) -> Iterator[ControlPlane]:
    """kube-apiserver alone: no controller acts, service accounts are not asked for."""
    with ControlPlane(kubernetes_programs) as server:
        yield server


@pytest.fixture(scope="session")
def cluster(kubernetes_programs: Path) -> Iterator[ControlPlane]:
    """kube-apiserver with kube-controller-manager (workload controllers, garbage collector, namespaces)."""
    with ControlPlane(kubernetes_programs, controller_manager=True) as server:
        yield server


@pytest.fixture(scope="session")
def volcano_apiserver(apiserver: ControlPlane) -> ControlPlane:
    """`apiserver` with all of vcray's definitions served."""
    install(apiserver.client, all_crds())
    return apiserver


@pytest.fixture(scope="session")
def volcano_cluster(cluster: ControlPlane) -> ControlPlane:
    """`cluster` with all of vcray's definitions served."""
    install(cluster.client, all_crds())
    return cluster


@pytest.fixture
def namespace(apiserver: ControlPlane) -> str:
    """A fresh namespace of `apiserver`; it goes away with the server."""
    return apiserver.create_namespace()


@pytest.fixture
def cluster_namespace(cluster: ControlPlane) -> Iterator[str]:
    """A fresh namespace of `cluster`, deleted after the test without waiting for its end."""
    name = cluster.create_namespace()
    yield name
    if cluster.client.exists(f"/api/v1/namespaces/{name}"):
        cluster.client.delete(f"/api/v1/namespaces/{name}")
