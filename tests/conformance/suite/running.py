"""Running Kubernetes' own end-to-end suite against a server, and reading its report."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

SKIPPED = (
    r"\[Serial\]|\[Disruptive\]|\[Slow\]|\[Feature:|\[FeatureGate|AdmissionWebhook|CustomResourceConversion"
    r"|Aggregator|StorageVersionAPI|etcd|Servers with support"
)
"""Specs that need containers, an aggregated server, a feature that is off by default, or the cluster for themselves."""
PROCESSES = 4
PASSED, FAILED = "passed", "failed"


@dataclass(frozen=True)
class Spec:
    """One spec that ran: its full name, its state, and the first line of what went wrong."""

    name: str
    state: str
    failure: str = ""


def run_suite(
    programs: Path, kubeconfig: Path, group: str, without: Iterable[str], folder: Path, timeout_s: float
) -> list[Spec]:
    """All specs of `group` ("sig-api-machinery") that need no container, in order of their names; `without` names
    those to leave out."""
    report = folder / "report.json"
    skipped = "|".join([SKIPPED, *map(re.escape, without)])
    command = [
        str(programs / "ginkgo"),
        f"--procs={PROCESSES}",
        f"--timeout={int(timeout_s)}s",
        f"--focus=\\[{group}\\]",
        f"--skip={skipped}",
        "--no-color",
        "--keep-going",
        f"--output-dir={folder}",
        f"--json-report={report.name}",
        str(programs / "e2e.test"),
        "--",
        "--provider=skeleton",
        f"--kubectl-path={programs / 'kubectl'}",
        f"--kubeconfig={kubeconfig}",
        "--num-nodes=4",
        "--allowed-not-ready-nodes=20",
        "--minStartupPods=0",
        "--system-pods-startup-timeout=5s",
        f"--report-dir={folder}",
    ]
    with (folder / "suite.log").open("w") as log:
        subprocess.run(
            command,
            stdout=log,
            stderr=subprocess.STDOUT,
            check=False,
            timeout=timeout_s + 60,
            env={**os.environ, "HOME": str(folder), "TMPDIR": str(folder)},
        )
    return read_report(report)


def read_report(report: Path) -> list[Spec]:
    """The specs that ran, by name."""
    specs = []
    for suite in json.loads(report.read_text()):
        for entry in suite["SpecReports"]:
            if entry["LeafNodeType"] != "It" or entry["State"] in ("skipped", "pending"):
                continue
            name = " ".join([*(entry["ContainerHierarchyTexts"] or []), entry["LeafNodeText"]])
            failure = entry.get("Failure", {}).get("Message", "").strip().partition("\n")[0]
            specs.append(Spec(name, PASSED if entry["State"] == "passed" else FAILED, failure))
    return sorted(specs, key=lambda spec: spec.name)
