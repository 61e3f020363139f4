"""The demo holds what it claims, says so, and fails when something is not as it should be."""

import io
import os
import shutil
import subprocess
import sys

import pytest

from vcray.api.resources import resource_for
from vcray.cli.demo import EXAMPLES
from vcray.cli.demo_scenes import ray_cluster
from vcray.cli.demo_screens import Check, LiveScreen, PlainScreen, Row, screen_for
from vcray.cli.demo_stage import Stage
from vcray.cli.main import execute
from vcray.cli.manifests import read_objects
from vcray.clock import ManualClock
from vcray.cluster import InProcessTransport, Store
from vcray.kube.client import KubeClient


def demo(folder, *flags):
    """`vcray demo` as a process, its runtime folder below `folder`."""
    return subprocess.run(
        [sys.executable, "-m", "vcray.cli.main", "demo", *flags],
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
        env={**os.environ, "XDG_RUNTIME_DIR": str(folder)},
    )


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "runtime",
    [pytest.param("local", marks=pytest.mark.embedded), pytest.param("ray", marks=pytest.mark.ray)],
)
def test_every_check_of_the_demo_passes_and_nothing_is_left(tmp_path, runtime):
    done = demo(tmp_path, "--runtime", runtime, "--speed", "8")

    assert (done.returncode, done.stderr) == (0, "")
    last = done.stdout.splitlines()[-1]
    count = sum(line.startswith("  ok ") for line in done.stdout.splitlines())
    assert last == f"demo: all {count} checks passed"
    assert count >= 15
    assert list(tmp_path.iterdir()) == []


async def test_a_check_that_fails_is_named(tmp_path):
    folder = tmp_path / "examples"
    shutil.copytree(EXAMPLES, folder)
    spoiled = folder / "raycluster.yaml"
    spoiled.write_text(spoiled.read_text().replace("minMember: 4", "minMember: 5"))
    client = KubeClient(InProcessTransport(Store(clock=ManualClock())))
    out = io.StringIO()

    with PlainScreen(out) as screen:
        async with Stage(client, screen, folder, patience_s=0.2) as stage:
            await ray_cluster(stage)

    assert [check.claim for check in stage.checks if not check.ok] == [
        "head and three workers run",
        "their PodGroup is Running",
    ]
    assert "FAILED head and three workers run" in out.getvalue()


def test_a_folder_without_examples_is_one_sentence(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    code = execute(["demo", "--runtime", "local", "--examples", str(tmp_path)])

    assert code == 2
    assert capsys.readouterr().err == (
        f"VC0503 {tmp_path}/tensorflow.yaml: cannot be read: No such file or directory\n"
    )


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.yaml")), ids=lambda file: file.name)
async def test_an_api_server_accepts_every_example(file):
    client = KubeClient(InProcessTransport(Store(clock=ManualClock())))

    for obj in read_objects(file):
        resource = resource_for(obj["apiVersion"], obj["kind"])
        made = await client.create(resource, "default" if resource.namespaced else None, obj)

        assert made["metadata"]["uid"]


def test_a_pipe_hears_of_changes_only():
    out = io.StringIO()
    row = Row("train", "default", "Running", 2, 3, 1, 5)

    with PlainScreen(out) as screen:
        screen.show([row], 1.0)
        screen.show([row], 2.0)
        screen.judge(Check("it runs", True, "2"))
        screen.judge(Check("it flies", False))

    assert out.getvalue() == (
        "    1.0 s  train           Running    3 of 5 pods bound, 2 running, 1 done\n"
        "  ok     it runs (2)\n"
        "  FAILED it flies\n"
    )


def test_a_terminal_gets_a_live_table():
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    out = Terminal()

    with screen_for(out) as screen:
        assert isinstance(screen, LiveScreen)
        screen.say("submitting")
        screen.show([Row("train", "default", "Running", 2, 3, 1, 5)], 1.0)
        screen.judge(Check("it runs", True))

    assert "██▒·✓" in out.getvalue()
    assert "✓ it runs" in out.getvalue()
