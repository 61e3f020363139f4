"""A user's file is tried on samples before a cluster meets it."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter

import pytest

from vcray.actors.watchdog import Watchdog
from vcray.cli.check import examined
from vcray.cli.main import execute
from vcray.core.fence import Fence
from vcray.errors import InputError
from vcray.foresight.trial import breaches
from vcray.plugins import binpack
from vcray.registry import discover

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


def test_what_does_not_come_back_is_told_once_and_all_else_is_still_tried(tmp_path: Path) -> None:
    fence = Fence(perf_counter, 0.2, Watchdog())
    endless = GOOD.replace("return", "while True: pass\n        return")
    endless += "\n    def job_order(self, view, job):\n        while True: pass\n"
    started = perf_counter()

    found = [each.what for each in breaches(written(tmp_path, endless), fence)]

    assert perf_counter() - started < 5.0
    assert sorted(found) == [
        f"law 0, {hook}: did not end within 0.2 s of the check" for hook in ("job_order", "node_score")
    ]


def test_the_calls_of_a_slow_hook_have_an_end_together(tmp_path: Path) -> None:
    slow = GOOD.replace("return", "__import__('time').sleep(0.08)\n        return")

    (found,) = breaches(written(tmp_path, slow), Fence(perf_counter, 0.1, Watchdog()))

    assert found.what == "law 0, node_score: took 0.4 s altogether of the check"


def test_an_import_that_does_not_end_is_told_with_its_line(tmp_path: Path) -> None:
    loops = written(tmp_path, "x = 1\nwhile True: pass")

    (found,) = breaches(loops, Fence(perf_counter, 5.0, Watchdog()), import_s=0.2)

    assert str(found) == f"VC0110 {loops}:2: was not imported within 0.2 s; look for a loop at its top level"


RAISES = "        raise ValueError('no')"


@pytest.mark.parametrize(
    ("body", "what"),
    [
        (f"    def __init__(self, args):\n{RAISES}", "FreeCpu.__init__: ValueError: no"),
        (f"    def open(self, view):\n{RAISES}", "open: ValueError: no"),
        (f"    @property\n    def node_filter(self):\n{RAISES}", "node_filter: ValueError: no"),
        (f"    @property\n    def observes(self):\n{RAISES}", "FreeCpu.observes: ValueError: no"),
        ("    args_model = 3", "FreeCpu.args_model: AttributeError: 'int' object has no attribute 'read'"),
        ("    def open(self, view):\n        raise KeyboardInterrupt", "open: KeyboardInterrupt"),
        ("    def open(self, view):\n        raise SystemExit(3)", "open: SystemExit: 3"),
    ],
)
def test_whatever_a_class_raises_is_one_sentence(tmp_path: Path, body: str, what: str) -> None:
    (found,) = breaches(written(tmp_path, f"{GOOD}\n{body}\n"))

    assert (found.code, found.what) == ("VC0119", f"law 0, {what}")


def test_rules_of_arguments_that_raise_are_told(tmp_path: Path) -> None:
    model = "class Mine(Args):\n    def __init__(self, **given):\n        raise RuntimeError('rule')\n\n"
    text = GOOD.replace("class FreeCpu", f"{model}class FreeCpu") + "\n    args_model = Mine\n"

    (found,) = breaches(written(tmp_path, text))
    conf = tmp_path / "conf"
    conf.write_text("actions: allocate\ntiers: [{plugins: [{name: mine}]}]")
    problems = examined(conf.read_text(), discover(folder=tmp_path)).problems

    assert str(found) == "VC0110 Mine: its arguments cannot be made: RuntimeError: rule"
    assert problems == [found]


def test_an_action_that_ends_the_program_does_not_end_the_check(tmp_path: Path) -> None:
    written(tmp_path, ACTION.replace("CODE", "pass\n    def __init__(self, arguments): raise SystemExit(3)"))

    (found,) = examined("actions: mine", discover(folder=tmp_path)).problems

    assert str(found) == "VC0110 configurations[mine]: action 'mine' cannot be made: SystemExit: 3"


def test_an_interrupt_of_the_users_ends_the_check_and_one_of_the_plugins_does_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    raises = GOOD.replace("return", "raise KeyboardInterrupt\n        return")
    pressed = GOOD.replace("return", "__import__('signal').raise_signal(2)\n        return")

    codes = [
        execute(["check", "--plugin", str(written(tmp_path, text, name))])
        for name, text in (
            ("raises.py", raises),
            ("imports.py", "raise KeyboardInterrupt"),
            ("pressed.py", pressed),
        )
    ]
    told = capsys.readouterr()

    assert codes == [1, 1, 130]
    assert told.out.splitlines() == [
        f"VC0119 {tmp_path / 'raises.py'}: law 0, node_score: KeyboardInterrupt",
        f"VC0110 {tmp_path / 'imports.py'}: cannot be imported: KeyboardInterrupt",
    ]
    assert told.err.strip() == "interrupted"


def test_an_action_must_run(tmp_path: Path) -> None:
    assert breaches(written(tmp_path, ACTION.replace("CODE", "pass"))) == []
    (found,) = breaches(written(tmp_path, ACTION.replace("CODE", "raise KeyError('x')")))
    assert found.what == "law 0, run: KeyError: 'x'"


@pytest.mark.parametrize(
    ("code", "what"),
    [
        ("while True: pass", "run: did not end within 0.2 s of the check"),
        ("raise KeyboardInterrupt", "run: KeyboardInterrupt"),
        ("pass\n    def __init__(self, arguments): raise SystemExit(3)", "Nothing.__init__: SystemExit: 3"),
    ],
)
def test_whatever_an_action_does_is_one_sentence(tmp_path: Path, code: str, what: str) -> None:
    path = written(tmp_path, ACTION.replace("CODE", code))

    (found,) = breaches(path, Fence(perf_counter, 0.2, Watchdog()))

    assert (found.code, found.what) == ("VC0119", f"law 0, {what}")


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
