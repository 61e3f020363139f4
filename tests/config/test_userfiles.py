"""Plugins of a user's own are files in a folder; an edit is seen, a bad one leaves the last good one."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from vcray.config import userfiles
from vcray.config.userfiles import digest, found_in, load
from vcray.errors import ConfigError
from vcray.registry import ACTIONS, PLUGINS, discover

PLUGIN = """\
from vcray.core.plugin import Args, Plugin

class Mine(Plugin[Args]):
    number = {number}
"""
ACTION = """\
from vcray.core.action import Action

class Mine(Action):
    def run(self, session):
        pass
"""


def plugin(folder: Path, text: str, name: str = "mine.py") -> Path:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


def test_files_and_packages_are_found_by_their_names(tmp_path: Path) -> None:
    for name in (
        "two_words.py",
        "package/__init__.py",
        "_private.py",
        ".hidden.py",
        "notes.txt",
        "folder/x.py",
    ):
        plugin(tmp_path, "", name)

    assert {name: path.name for name, path in found_in(tmp_path).items()} == {
        "two-words": "two_words.py",
        "package": "package",
    }


def test_a_registry_has_them_beside_the_built_in_ones(tmp_path: Path) -> None:
    plugin(tmp_path, PLUGIN.format(number=1), "my_plugin.py")
    plugin(tmp_path, ACTION, "my_action.py")

    registry = discover([], tmp_path)

    assert {"gang", "my-plugin"} <= set(registry.names(PLUGINS))
    assert registry.load(PLUGINS, "my-plugin").name == "my-plugin"  # type: ignore[attr-defined]
    assert registry.load(ACTIONS, "my-action").name == "my-action"  # type: ignore[attr-defined]


def test_a_package_may_spread_over_modules_and_goes_by_its_own_name(tmp_path: Path) -> None:
    plugin(tmp_path, "from .inner import Mine\n", "mine/__init__.py")
    inner = plugin(tmp_path, PLUGIN.format(number=1), "mine/inner.py")
    registry = discover([], tmp_path)

    first = registry.load(PLUGINS, "mine")
    inner.write_text(PLUGIN.format(number=2))
    second = registry.refreshed().load(PLUGINS, "mine")

    assert (first.name, first.number, second.number) == ("mine", 1, 2)  # type: ignore[attr-defined]
    assert not list(tmp_path.rglob("*.pyc"))


def test_an_edit_is_seen_even_within_a_second_and_of_the_same_length(tmp_path: Path) -> None:
    path = plugin(tmp_path, PLUGIN.format(number=1))
    registry = discover([], tmp_path)

    first = registry.load(PLUGINS, "mine")
    again = registry.load(PLUGINS, "mine")
    path.write_text(PLUGIN.format(number=2))
    refreshed = registry.refreshed()
    second = refreshed.load(PLUGINS, "mine")

    assert first is again
    assert (first.number, second.number) == (1, 2)  # type: ignore[attr-defined]
    assert registry.stamp != refreshed.stamp


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        ("def x(:\n", ":1", "cannot be imported: not Python: invalid syntax"),
        ("a = 1\nb = a / 0\n", ":2", "cannot be imported: ZeroDivisionError: division by zero"),
        (
            "import nowhere_at_all\n",
            ":1",
            "cannot be imported: ModuleNotFoundError: No module named 'nowhere_at_all'",
        ),
        ("raise SystemExit(3)\n", ":1", "cannot be imported: SystemExit: 3"),
        ("x = 1\n", "", "must hold exactly one public Plugin class, holds 0"),
        (
            PLUGIN.format(number=1) + "    def node_scor(self): pass\n",
            ":3",
            "cannot be imported: 'node_scor' is not a hook; did you mean 'node_score'? (private helpers start with an underscore)",
        ),
    ],
)
def test_a_bad_file_is_one_sentence_with_its_line(tmp_path: Path, text: str, where: str, what: str) -> None:
    path = plugin(tmp_path, text)

    with pytest.raises(ConfigError) as caught:
        discover([], tmp_path).load(PLUGINS, "mine")

    assert str(caught.value) == f"VC0110 {path}{where}: {what}"


def test_a_bad_edit_leaves_what_was_imported(tmp_path: Path) -> None:
    path = plugin(tmp_path, PLUGIN.format(number=1))
    module = load(path)

    path.write_text("1 / 0")
    with pytest.raises(ConfigError):
        load(path)

    assert sys.modules["vcray_user.mine"] is module


def test_a_file_cannot_take_a_built_in_name(tmp_path: Path) -> None:
    path = plugin(tmp_path, PLUGIN.format(number=1), "gang.py")

    with pytest.raises(ConfigError) as caught:
        discover([], tmp_path)

    assert (
        str(caught.value)
        == f"VC0110 {path}: 'gang' is the name of vcray.plugins.gang already; rename the file"
    )


def test_all_names_that_are_taken_or_given_twice_are_told_together(tmp_path: Path) -> None:
    for name in ("gang.py", "preempt.py"):
        plugin(tmp_path, "", name)
    with pytest.raises(ConfigError) as taken:
        discover([], tmp_path)
    for name in ("a_b.py", "a-b.py", "c_d.py", "c-d.py"):
        plugin(tmp_path, "", name)
    with pytest.raises(ConfigError) as twice:
        discover([], tmp_path)

    assert [each.where for each in taken.value.problems] == [
        str(tmp_path / "gang.py"),
        str(tmp_path / "preempt.py"),
    ]
    assert [each.what.split()[0] for each in twice.value.problems] == ["'a-b'", "'c-d'"]


def test_a_plugin_compiled_from_go_is_told_as_such(tmp_path: Path) -> None:
    (tmp_path / "magic.so").write_bytes(b"ELF")

    with pytest.raises(
        ConfigError, match=r"VC0107 magic.so is a plugin for Volcano, compiled from Go; write it in"
    ):
        discover([], tmp_path).load(PLUGINS, "magic")


def test_two_files_of_one_name_are_told(tmp_path: Path) -> None:
    plugin(tmp_path, "", "a_b.py")
    plugin(tmp_path, "", "a-b.py")

    with pytest.raises(ConfigError, match=r"'a-b' is offered by a-b.py and by a_b.py; rename one of them"):
        found_in(tmp_path)


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"VC0503 .*nowhere: cannot be read: No such file or directory"):
        discover([], tmp_path / "nowhere")


def test_a_digest_follows_names_and_contents(tmp_path: Path) -> None:
    path = plugin(tmp_path, "a")
    first = digest(tmp_path)
    path.write_text("b")
    second = digest(tmp_path)
    path.rename(tmp_path / "other.py")

    assert len({first, second, digest(tmp_path)}) == 3
    assert digest(tmp_path) == digest(tmp_path)
    assert userfiles.name_of(Path("x/my_own.py")) == "my-own"
