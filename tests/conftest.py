"""Fixtures for tests that need an API server: the embedded one and a real Kubernetes control plane, same tests for both.

A test that uses the real one gets the marker ``apiserver`` by itself, one that starts the embedded one ``embedded``.
Where the Kubernetes programs have not been built the former are skipped, and the end of the run says so; with
VCRAY_REQUIRE_APISERVER=1 they fail instead.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest
from xdist.scheduler import LoadScopeScheduling

from tests.conformance.harness.base import Server
from tests.conformance.harness.definitions import install
from tests.conformance.harness.embedded import EmbeddedServer
from tests.conformance.harness.server import ControlPlane
from tools.kubernetes.build import PROGRAMS, SUITE, programs_folder, why_unavailable
from vcray.api.crds import all_crds
from vcray.memory import collect_rarely

REQUIRE_VARIABLE = "VCRAY_REQUIRE_APISERVER"
PROGRAM_FIXTURES = {"kubernetes_programs", "kubernetes_suite", "real_apiserver", "real_cluster"}
EMBEDDED_FIXTURES = {"embedded_apiserver", "embedded_cluster"}
END_TO_END = "tests/e2e/"
"""Tests that have clusters of their own; these are started by one worker alone."""
EMBEDDED, REAL = "embedded", "real"
BOTH = [
    pytest.param(EMBEDDED, marks=pytest.mark.embedded),
    pytest.param(REAL, marks=pytest.mark.apiserver),
]

collect_rarely()

_skipped_because = pytest.StashKey[str]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of tests/oracle; they stand here since only a conftest of the folder named on the command line may add any."""
    parser.addoption("--count", type=int, default=None, help="random clusters to compare (default 2000)")
    parser.addoption("--first", type=int, default=None, help="number of the first random cluster")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test that uses the Kubernetes programs or the embedded server; begin the long ones first, so that no
    worker is left alone with one."""
    for item in items:
        names = set(getattr(item, "fixturenames", ()))
        if PROGRAM_FIXTURES & names:
            item.add_marker(pytest.mark.apiserver)
        if EMBEDDED_FIXTURES & names:
            item.add_marker(pytest.mark.embedded)
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


class ByFile(LoadScopeScheduling):
    """Tests of a file stay with one worker, and so do all end-to-end tests: few servers are started."""

    def _split_scope(self, nodeid: str) -> str:
        return END_TO_END if nodeid.startswith(END_TO_END) else nodeid.partition("::")[0]


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> LoadScopeScheduling | None:
    """The scheduler of `--dist loadfile`."""
    return ByFile(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_collection_finish() -> None:
    """What is there by now stays: no collection need look through it."""
    gc.collect()
    gc.freeze()


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
def real_apiserver(kubernetes_programs: Path) -> Iterator[ControlPlane]:
    """kube-apiserver alone: no controller acts, service accounts are not asked for."""
    with ControlPlane(kubernetes_programs) as server:
        yield server


@pytest.fixture(scope="session")
def real_cluster(kubernetes_programs: Path) -> Iterator[ControlPlane]:
    """kube-apiserver with kube-controller-manager (workload controllers, garbage collector, namespaces)."""
    with ControlPlane(kubernetes_programs, controller_manager=True) as server:
        yield server


@pytest.fixture(scope="session")
def embedded_apiserver() -> Iterator[EmbeddedServer]:
    """The embedded API server alone, as a process."""
    with EmbeddedServer(programs_folder()) as server:
        yield server


@pytest.fixture(scope="session")
def embedded_cluster() -> Iterator[EmbeddedServer]:
    """The embedded API server with its controllers, as a process."""
    with EmbeddedServer(programs_folder(), controller_manager=True) as server:
        yield server


@pytest.fixture(scope="session", params=BOTH)
def apiserver(request: pytest.FixtureRequest) -> Server:
    """`embedded_apiserver` and `real_apiserver` in turn."""
    server: Server = request.getfixturevalue(f"{request.param}_apiserver")
    return server


@pytest.fixture(scope="session", params=BOTH)
def cluster(request: pytest.FixtureRequest) -> Server:
    """`embedded_cluster` and `real_cluster` in turn."""
    server: Server = request.getfixturevalue(f"{request.param}_cluster")
    return server


@pytest.fixture(scope="session")
def volcano_apiserver(apiserver: Server) -> Server:
    """`apiserver` with all of vcray's definitions served."""
    install(apiserver.client, all_crds())
    return apiserver


@pytest.fixture(scope="session")
def volcano_cluster(cluster: Server) -> Server:
    """`cluster` with all of vcray's definitions served."""
    install(cluster.client, all_crds())
    return cluster


@pytest.fixture
def namespace(apiserver: Server) -> str:
    """A fresh namespace of `apiserver`; it goes away with the server."""
    return apiserver.create_namespace()


@pytest.fixture
def cluster_namespace(cluster: Server) -> Iterator[str]:
    """A fresh namespace of `cluster`, deleted after the test without waiting for its end."""
    name = cluster.create_namespace()
    yield name
    if cluster.client.exists(f"/api/v1/namespaces/{name}"):
        cluster.client.delete(f"/api/v1/namespaces/{name}")
