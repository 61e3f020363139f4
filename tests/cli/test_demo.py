"""The demo holds what it claims, says so, and fails when something is not as it should be."""

import io
import shutil

import pytest

from vcray.api.resources import resource_for
from vcray.cli.demo import EXAMPLES
from vcray.cli.demo_stage import Check, LiveScreen, PlainScreen, Row, screen_for
from vcray.cli.main import execute
from vcray.cli.manifests import read_objects
from vcray.clock import ManualClock
from vcray.cluster import InProcessTransport, Store
from vcray.kube.client import KubeClient


def test_every_check_of_the_demo_passes(capsys):
    code = execute(["demo", "--pace", "0"])

    out, err = capsys.readouterr()
    assert (code, err) == (0, "")
    last = out.splitlines()[-1]
    count = sum(line.startswith("  ok ") for line in out.splitlines())
    assert last == f"demo: all {count} checks passed"
    assert count >= 15


def test_a_check_that_fails_is_named_and_fails_the_demo(tmp_path, capsys):
    folder = tmp_path / "examples"
    shutil.copytree(EXAMPLES, folder)
    spoiled = folder / "raycluster.yaml"
    spoiled.write_text(spoiled.read_text().replace("minMember: 4", "minMember: 5"))

    code = execute(["demo", "--pace", "0", "--examples", str(folder)])

    out, err = capsys.readouterr()
    assert code == 1
    assert "demo: FAILED: head and three workers run" in err
    assert out.splitlines()[-1].endswith("checks failed")


def test_a_folder_without_examples_is_one_sentence(tmp_path, capsys):
    code = execute(["demo", "--examples", str(tmp_path)])

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
        screen.show([row], 1)
        screen.show([row], 2)
        screen.judge(Check("it runs", True, "2"))
        screen.judge(Check("it flies", False))

    assert out.getvalue() == (
        "  round 1   train           Running    3 of 5 pods bound, 2 running, 1 done\n"
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
        screen.show([Row("train", "default", "Running", 2, 3, 1, 5)], 1)
        screen.judge(Check("it runs", True))

    assert "██▒·✓" in out.getvalue()
    assert "✓ it runs" in out.getvalue()
