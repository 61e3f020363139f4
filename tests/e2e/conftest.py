"""Fixtures of the end-to-end tests: a cluster of their own, `vcray run` on it, an auditor, an arena a test.

The cluster is not the one of the conformance tests, for `vcray run` acts on every object that it sees.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.harness.definitions import install
from tests.conformance.harness.server import ControlPlane
from tests.e2e.arena import Arena
from tests.e2e.program import Program
from vcray.api.crds import all_crds


@pytest.fixture(scope="session")
def server(kubernetes_programs: Path) -> Iterator[ControlPlane]:
    """A real control plane with kube-controller-manager and vcray's definitions."""
    with ControlPlane(kubernetes_programs, controller_manager=True) as made:
        install(made.client, all_crds())
        yield made


@pytest.fixture(scope="module")
def vcray(server: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """`vcray run` for all tests of a module; its log must not hold a traceback at the end."""
    program = Program(server.kubeconfig, tmp_path_factory.mktemp("vcray") / "vcray.log").ready()
    yield program
    still = program.running
    program.stop()
    output = program.output()
    assert still, output
    assert "Traceback" not in output, output


@pytest.fixture
def arena(server: ControlPlane) -> Iterator[Arena]:
    """This test's namespace and nodes."""
    made = Arena(server)
    yield made
    made.clean()
