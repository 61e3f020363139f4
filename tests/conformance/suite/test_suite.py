"""Kubernetes' own end-to-end suite judges the embedded server: its sig-api-machinery specs that need no container."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.conformance.harness.embedded import EmbeddedServer
from tests.conformance.suite.running import PASSED, read_report, run_suite

GROUP = "sig-api-machinery"
AT_LEAST = 75
EXCEPTIONS: dict[str, str] = yaml.safe_load((Path(__file__).parent / "exceptions.yaml").read_text())
"""Specs that do not pass on the embedded server, or not always, each with the reason; they are left out of the run."""


@pytest.fixture(scope="module")
def server(kubernetes_suite: Path) -> Iterator[EmbeddedServer]:
    with EmbeddedServer(kubernetes_suite, controller_manager=True, flags=["--nodes", "4"]) as server:
        yield server


@pytest.mark.suite
@pytest.mark.timeout(1200)
def test_the_specs_of_the_api_machinery_pass(
    server: EmbeddedServer, kubernetes_suite: Path, tmp_path: Path
) -> None:
    specs = run_suite(kubernetes_suite, server.kubeconfig, GROUP, EXCEPTIONS, tmp_path, timeout_s=1100)

    assert {spec.name: spec.failure for spec in specs if spec.state != PASSED} == {}
    assert len(specs) >= AT_LEAST


def test_every_exception_has_its_reason() -> None:
    assert all(reason.strip().endswith(".") for reason in EXCEPTIONS.values())


def test_a_report_tells_what_ran_and_what_failed(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    report.write_text(
        """[{"SpecReports": [
          {"LeafNodeType": "It", "LeafNodeText": "b", "ContainerHierarchyTexts": ["x"], "State": "passed"},
          {"LeafNodeType": "It", "LeafNodeText": "a", "ContainerHierarchyTexts": ["x"], "State": "failed",
           "Failure": {"Message": "no\\nmore"}},
          {"LeafNodeType": "It", "LeafNodeText": "c", "ContainerHierarchyTexts": null, "State": "skipped"},
          {"LeafNodeType": "BeforeSuite", "LeafNodeText": "", "State": "passed"}]}]"""
    )

    specs = read_report(report)

    assert [(spec.name, spec.state, spec.failure) for spec in specs] == [
        ("x a", "failed", "no"),
        ("x b", "passed", ""),
    ]
