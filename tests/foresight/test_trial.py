"""A user's file is tried on samples before a cluster meets it."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter

import pytest

from vcray.actors.watchdog import Watchdog
from vcray.cli.main import execute
from vcray.core.fence import Fence
from vcray.errors import InputError
from vcray.foresight.trial import breaches
from vcray.plugins import binpack

GOOD = """\
from vcray.core.arrays import ratio
from vcray.core.plugin import Args, Plugin

class FreeCpu(Plugin[Args]):
    def node_score(self, view, rows, shape):
        return ratio(rows.idle[0], rows.allocatable[0]) * 100
"""
MEAN = GOOD.replace("ratio(rows.idle[0], rows.allocatable[0]) * 100", "rows.idle[0] - rows.idle[0].mean()")
ACTION = """\
from vcray.core.action import Action

class Nothing(Action):
    def run(self, session):
        CODE
"""


def written(tmp_path: Path, text: str, name: str = "mine.py") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def test_a_good_plugin_has_no_breaches(tmp_path: Path) -> None:
    assert breaches(written(tmp_path, GOOD)) == []


@pytest.mark.parametrize(("name", "module"), [("binpack", "plugins.binpack"), ("preempt", "actions.preempt")])
def test_a_name_that_is_taken_is_told_beside_all_else(tmp_path: Path, name: str, module: str) -> None:
    path = written(tmp_path, MEAN, f"{name}.py")

    found = breaches(path)

    assert str(found[0]) == f"VC0110 {path}: '{name}' is the name of vcray.{module} already; rename the file"
    assert [each.code for each in found[1:]] == ["VC0119", "VC0119"]


def test_a_plugin_is_not_in_its_own_way() -> None:
    assert breaches(Path(binpack.__file__)) == []


def test_each_law_that_a_plugin_breaks_is_told_once(tmp_path: Path) -> None:
    path = written(tmp_path, GOOD.replace("rows.idle[0], rows", "rows.index, rows"))

    found = [str(each) for each in breaches(path)]

    assert [each.split(": ")[1] for each in found] == ["law 7, node_score"]
    assert found[0].startswith(
        f"VC0119 {path}: law 7, node_score: shape 0: reversed node rows give other answers"
    )


def test_a_hook_that_raises_breaks_law_0(tmp_path: Path) -> None:
    found = breaches(written(tmp_path, MEAN))

    assert [each.what.split(":")[0] for each in found] == ["law 1, node_score", "law 0, node_score"]
    assert "AttributeError: 'int' object has no attribute 'mean'" in found[1].what


def test_what_does_not_come_back_is_told(tmp_path: Path) -> None:
    fence = Fence(perf_counter, 0.2, Watchdog())
    endless = GOOD.replace("return", "while True: pass\n        return")

    (hangs,) = breaches(written(tmp_path, endless), fence)
    (loops,) = breaches(written(tmp_path, "while True: pass", "loops.py"), fence)

    assert (hangs.code, loops.code) == ("VC0119", "VC0110")
    assert "law 0, node_score: took more than the 200 ms" in hangs.what
    assert loops.what == "was not imported within 0.2 s; look for a loop at its top level"


def test_an_action_must_run(tmp_path: Path) -> None:
    assert breaches(written(tmp_path, ACTION.replace("CODE", "pass"))) == []
    (found,) = breaches(written(tmp_path, ACTION.replace("CODE", "raise KeyError('x')")))
    assert found.what == "law 0, run: KeyError: 'x'"


def test_what_is_not_well_formed_is_told_as_such(tmp_path: Path) -> None:
    (found,) = breaches(written(tmp_path, "x = 1"))

    assert (found.code, found.what) == ("VC0110", "must hold exactly one public Plugin class, holds 0")


@pytest.mark.parametrize("name", ["none.py", "_private.py", "notes.txt"])
def test_what_is_no_plugin_file_is_an_error(tmp_path: Path, name: str) -> None:
    if name != "none.py":
        written(tmp_path, "", name)

    with pytest.raises(InputError, match="VC0503"):
        breaches(tmp_path / name)


def test_the_command_tells_breaches_beside_the_configuration(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, MEAN)
    conf = tmp_path / "conf"
    conf.write_text("actions: allocate\ntiers: [{plugins: [{name: predicates}, {name: mine}]}]")

    alone = execute(["check", "--plugin", str(path)])
    told = capsys.readouterr().out
    both = execute(["check", str(conf), "--plugins-dir", str(tmp_path)])
    fine = capsys.readouterr().out
    unknown = execute(["check", str(conf)])

    assert (alone, both, unknown) == (1, 0, 1)
    assert told.startswith(f"VC0119 {path}: law 1, node_score: ")
    assert fine == f"{conf}: no problems found\n"
    assert "VC0107 tiers[0].plugins[1]: unknown plugin 'mine'" in capsys.readouterr().out
