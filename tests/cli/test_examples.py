"""Examples of other operators' objects: what their READMEs say to type, typed, prints what they say it prints.

A command is an indented line that begins with `kubectl` or `python`; the indented lines after it, up to the next command, are what it prints once all has
come to rest. Ages, and the letters that servers put behind names, may differ.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.cli.up_process import Up, eventually

EXAMPLES = Path(__file__).parents[2] / "examples"
FOLDERS = sorted(file.parent for file in EXAMPLES.glob("*/README.md"))

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc"),
    pytest.mark.embedded,
    pytest.mark.apiserver,  # kubectl
    pytest.mark.timeout(400),
]

_AGE = re.compile(r"(?<![\w-])\d+(s|m\d*s?|h\d*m?)(?![\w-])")
_LETTERS = re.compile(r"-[a-z0-9]{5}(?=[-\s,/\"]|$)")


def steps(text: str) -> list[tuple[str, list[str]]]:
    """Commands of a README, each with the lines that it prints; blank ones count for nothing."""
    found: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if line.startswith(("    kubectl ", "    python ")):
            found.append((line.strip(), []))
        elif line.startswith("    ") and found and line.strip():
            found[-1][1].append(line.strip())
        elif line.strip() and not line.startswith("    ") and found:
            found.append(("", []))  # prose ends what a command prints
    return [(command, lines) for command, lines in found if command]


def alike(line: str) -> str:
    """A line with its blanks as one, without ages and letters that differ from run to run."""
    return _LETTERS.sub("-?", _AGE.sub("?", " ".join(line.split())))


class Shell:
    """Types commands for one cluster."""

    def __init__(self, kubectl: Path, kubeconfig: Path) -> None:
        path = f"{kubectl.parent}:{os.environ['PATH']}"
        self._environment = {**os.environ, "PATH": path, "KUBECONFIG": str(kubeconfig)}

    def run(self, command: str) -> list[str]:
        """The lines that a command prints; it must succeed."""
        done = subprocess.run(
            [sys.executable if word == "python" else word for word in shlex.split(command)],
            env=self._environment,
            cwd=EXAMPLES.parent,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, f"{command}: {done.stdout}"
        return [line.strip() for line in done.stdout.splitlines() if line.strip()]


@pytest.fixture
def shell(kubectl: Path, tmp_path: Path, folder: Path) -> Iterator[Shell]:
    """A laptop's cluster with the stand-ins that the README names, and somebody who types."""
    named = re.search(r"vcray up (--operators [\w,=-]+)", (folder / "README.md").read_text())
    operators = named[1].split() if named else []
    with Up(tmp_path, "--runtime", "local", *operators) as up:
        yield Shell(kubectl, up.runtime / "kubeconfig")


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_what_an_example_says_is_printed_is_printed(shell: Shell, folder: Path) -> None:
    typed = steps((folder / "README.md").read_text())
    assert typed, "the README has no command"
    for command, printed in typed:
        if not printed:
            shell.run(command)
            continue
        wanted = sorted(map(alike, printed))
        if command.startswith("python "):
            assert sorted(map(alike, shell.run(command))) == wanted  # it waits by itself, and works once
            continue
        last: list[str] = []

        def says(command: str = command, wanted: list[str] = wanted, last: list[str] = last) -> bool:
            last[:] = sorted(map(alike, shell.run(command)))
            return last == wanted

        try:
            eventually(says, command)
        except AssertionError:
            assert last == wanted, command


def test_every_example_has_a_manifest_and_a_row() -> None:
    rows = (EXAMPLES / "README.md").read_text()

    for folder in FOLDERS:
        assert (folder / "manifest.yaml").exists(), folder
        assert f"]({folder.name}/README.md)" in rows, folder


@pytest.mark.parametrize(("folder", "script"), [("ray-data", "prepare"), ("ray-train", "train")])
def test_a_ray_job_runs_the_script_beside_it(folder: str, script: str) -> None:
    objects = list(yaml.safe_load_all((EXAMPLES / folder / "manifest.yaml").read_text()))
    job = next(each for each in objects if each["kind"] == "RayJob")

    cluster = job["spec"]["rayClusterSpec"]
    head = cluster["headGroupSpec"]["template"]["spec"]
    (workers,) = cluster["workerGroupSpecs"]
    python, path, *arguments = job["spec"]["entrypoint"].split()
    assert (python, path) == ("python", f"/scripts/{script}.py")
    assert {"name": "scripts", "configMap": {"name": script}} in head["volumes"]
    typed = steps((EXAMPLES / folder / "README.md").read_text())[0][0]
    assert typed == f"kubectl create configmap {script} --from-file=examples/{folder}/{script}.py"
    assert (EXAMPLES / folder / f"{script}.py").exists()
    if script == "train":
        assert arguments[2:] == [str(workers["minReplicas"]), str(workers["maxReplicas"])]


def test_workflow_of_the_pipeline_makes_the_objects_of_its_script() -> None:
    folder = EXAMPLES / "pipeline"
    templates = yaml.safe_load((folder / "workflow.yaml").read_text())["spec"]["templates"][1:]

    for template in templates:
        made = yaml.safe_load(template["resource"]["manifest"])
        alone = yaml.safe_load((folder / f"{template['name']}.yaml").read_text())
        assert made["spec"] == alone["spec"]
        assert made["metadata"]["annotations"]["scheduling.volcano.sh/queue-name"] == "pipeline"
