"""Users' plugins in a running coordinator: an edit takes effect, a bad one is refused, a hook that hangs is interrupted."""

from __future__ import annotations

import contextlib
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.core.world import Job, Node, Queue, equal_pods, snapshot
from vcray.actors.policies import Policies, policy_at_restart
from vcray.actors.watchdog import DELIVERY_S, Watchdog
from vcray.core.decisions import LeftOut
from vcray.core.fence import Overrun
from vcray.core.session import decide
from vcray.errors import ConfigError
from vcray.metrics import Metrics
from vcray.registry import discover

CONF = "actions: allocate\ntiers: [{plugins: [{name: gang}, {name: mine}]}]"
PLUGIN = """\
from vcray.core.plugin import Args, Plugin

class Mine(Plugin[Args]):
    def node_score(self, view, rows, shape):
        CODE
"""
WORLD = snapshot(
    [Node("n1"), Node("n2")], [Job("j", equal_pods("p", 2, cpu=1))], [Queue("default"), Queue("root")]
)


class Folder:
    """A folder with one plugin, and the policies that are read with it."""

    def __init__(self, path: Path, code: str, budget_s: float = 0.0) -> None:
        self.path = path
        self.write(code)
        self.metrics = Metrics()
        self.policies = Policies(discover([], path), self.metrics, budget_s)

    def write(self, code: str) -> None:
        (self.path / "mine.py").write_text(PLUGIN.replace("CODE", code))

    def count(self, hook: str) -> float:
        labels = {"plugin": "mine", "hook": hook}
        return self.metrics.registry.get_sample_value("vcray_plugin_failures_total", labels) or 0


def test_an_edit_is_in_the_next_policy_and_a_bad_one_refuses_it(tmp_path: Path) -> None:
    folder = Folder(tmp_path, "return 1 / 0")

    first, first_text = folder.policies.read(CONF)
    folder.write("return 1.0")
    second, second_text = folder.policies.read(CONF)
    folder.write("return (")
    with pytest.raises(ConfigError, match=r"VC0110 .*mine.py:5: cannot be imported: not Python"):
        folder.policies.read(CONF)

    assert [len(decide(WORLD, each).left_out) for each in (first, second)] == [1, 0]
    assert first_text != second_text
    assert first_text.startswith(CONF)
    assert decide(WORLD, second).left_out == ()


def test_what_is_left_out_is_counted_each_round_and_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = Folder(tmp_path, "return 1 / 0")
    policy, _ = folder.policies.read(CONF)

    with caplog.at_level("WARNING", "vcray"):
        for _ in range(3):
            folder.policies.note(decide(WORLD, policy).left_out)
        folder.policies.note(())
        folder.policies.note((LeftOut("mine", "node_score", "again"),))

    assert folder.count("node_score") == 4
    assert len([each for each in caplog.records if "left out" in each.getMessage()]) == 2


def test_a_file_whose_import_hangs_is_refused_and_the_last_good_one_stays(tmp_path: Path) -> None:
    folder = Folder(tmp_path, "return 1.0")
    policies = Policies(discover([], tmp_path), folder.metrics, import_s=0.2)
    policies.read(CONF)
    good = (tmp_path / "mine.py").read_text()
    (tmp_path / "mine.py").write_text(f"{good}\nwhile True: pass")

    with pytest.raises(
        ConfigError, match=rf"VC0110 {tmp_path}/mine.py:\d+: was not imported within 0.2 s; look"
    ):
        policies.read(CONF)

    (tmp_path / "mine.py").write_text(good)
    assert len(decide(WORLD, policies.read(CONF)[0]).commits) == 1


def test_a_hook_that_hangs_is_interrupted_and_left_out(tmp_path: Path) -> None:
    folder = Folder(tmp_path, "while True: pass", budget_s=0.05)
    policy, _ = folder.policies.read(CONF)

    started = time.monotonic()
    decisions = decide(WORLD, policy)

    assert time.monotonic() - started < 0.05 + DELIVERY_S
    assert decisions.left_out == (
        LeftOut("mine", "node_score", "took more than the 50 ms that a plugin has in a round"),
    )
    assert len(decisions.commits) == 1
    assert decisions.commits == decide(WORLD, replace(policy, tiers=(policy.tiers[0][:1],))).commits


def test_a_hook_that_swallows_the_interruption_is_left_out_all_the_same(tmp_path: Path) -> None:
    code = """n = 0
        while n < 2:
            try:
                while True: pass
            except BaseException:
                n = 2
        return 1.0"""
    folder = Folder(tmp_path, code, budget_s=0.05)

    decisions = decide(WORLD, folder.policies.read(CONF)[0])

    assert [each.hook for each in decisions.left_out] == ["node_score"]


def test_a_restart_with_a_broken_file_schedules_without_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "mine.py").write_text("def (")
    registry = discover([], tmp_path)

    with caplog.at_level("ERROR", "vcray"):
        policy = policy_at_restart(CONF, registry)

    assert [recipe.plugin.name for tier in policy.tiers for recipe in tier] == ["gang"]
    assert "not Python" in caplog.text
    with pytest.raises(ConfigError, match="VC0105"):
        policy_at_restart("actions: alocate", registry)


def test_a_policy_without_plugins_of_users_has_no_fence(tmp_path: Path) -> None:
    policies = Policies(discover([]), Metrics(), 1.0)

    policy, text = policies.read("actions: allocate")

    assert policy.fence.clock is None
    assert text == "actions: allocate"


def test_a_watchdog_leaves_quick_hooks_alone() -> None:
    watchdog = Watchdog()
    for _ in range(1000):
        watchdog.begin(5.0)
        watchdog.end()

    watchdog.begin(0.01)
    with pytest.raises(Overrun):
        hang(watchdog)
    watchdog.begin(5.0)
    watchdog.end()


def hang(watchdog: Watchdog, seconds: float = 60.0) -> None:
    """The exception arrives in the hook, or, where the hook ends just then, in `end`."""
    interrupted, started = False, time.perf_counter()
    try:
        while time.perf_counter() - started < seconds:
            pass
    except Overrun:
        interrupted = True
        raise
    finally:
        watchdog.end(interrupted)


def test_an_interruption_never_arrives_after_the_hook() -> None:
    for step in range(20):
        watchdog = Watchdog()
        watchdog.begin(0.0)
        with contextlib.suppress(Overrun):
            hang(watchdog, step / 10_000)
        for _ in range(20_000):  # a late one would arrive here
            pass

        assert not watchdog.pending
