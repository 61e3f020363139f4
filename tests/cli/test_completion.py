"""Completion by the shell's own script, and by kubectl for its plugin."""

import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from vcray.cli.completion import SHELLS, _completer, complete_for_kubectl, kubectl_lines
from vcray.cli.main import COMMANDS, execute

REPOSITORY = Path(__file__).parents[2]


def complete(shell, monkeypatch, **variables):
    """What the program answers to a shell's script."""
    monkeypatch.setenv("_VCRAY_COMPLETE", f"{shell}_complete")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit) as ended:
        execute([])
    assert ended.value.code == 0


@pytest.mark.parametrize("shell", SHELLS)
def test_each_shell_has_a_script_that_asks_the_program(shell, capsys):
    assert execute(["completion", shell]) == 0

    out = capsys.readouterr().out
    assert "_VCRAY_COMPLETE" in out
    assert f"{shell}_complete" in out


def test_the_scripts_question_is_answered_with_commands(monkeypatch, capsys):
    complete("bash", monkeypatch, COMP_WORDS="vcray podgroup l", COMP_CWORD="2")

    assert capsys.readouterr().out == "plain,list\n"


def test_bash_takes_the_script():
    told = subprocess.run(
        ["bash", "-c", 'eval "$1"; complete -p vcray', "_", _completer("bash").source()],
        capture_output=True,
        text=True,
    )

    assert told.returncode == 0
    assert "vcray" in told.stdout


def test_another_shell_is_refused(capsys):
    assert execute(["completion", "tcsh"]) == 2
    assert "'tcsh' is not one of 'bash', 'fish', 'zsh'." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["podg"], ["podgroup"]),
        (["podgroup", ""], ["describe", "get", "list"]),
        (["podgroup", "list", "--ph"], ["--phase"]),
        (["podgroup", "list", "--phase", "R"], ["Running"]),
        (["podgroup", "list", "-o", ""], ["table", "json", "yaml"]),
        (["completion", "z"], ["zsh"]),
        (["podgroup", "get", ""], []),
    ],
)
def test_kubectl_gets_a_completion_a_line_and_no_names_of_files(words, expected):
    *found, last = kubectl_lines(words)

    assert [line.partition("\t")[0] for line in found] == expected
    assert last == ":4"


def test_commands_come_with_the_first_line_of_their_help():
    assert [*kubectl_lines([""])] == [
        *(f"{name}\t{text}" for name, text in sorted(COMMANDS.items())), ":4",
    ]  # fmt: skip


def test_where_a_file_is_wanted_the_shell_offers_files():
    assert [*kubectl_lines(["podgroup", "list", "--kubeconfig", ""])] == [":0"]


def test_the_package_installs_what_kubectl_runs(monkeypatch, capsys):
    """kubectl looks for this very name: `_complete` before the first hyphen of the plugin's."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module, _, function = project["scripts"]["kubectl_complete-vcray"].partition(":")
    monkeypatch.setattr(sys, "argv", ["kubectl_complete-vcray", "podgroup", "g"])

    getattr(import_module(module), function)()

    assert module == complete_for_kubectl.__module__
    assert capsys.readouterr().out.splitlines()[-1] == ":4"


@pytest.mark.parametrize(
    ("file", "called"), [("kubectl-vcray", "kubectl vcray"), ("vcray", "vcray"), ("main.py", "vcray")]
)
def test_usage_lines_name_the_program_as_it_was_called(file, called, monkeypatch, capsys):
    from vcray.cli.main import main

    monkeypatch.setattr(sys, "argv", [f"/usr/bin/{file}", "podgroup", "list", "--help"])

    with pytest.raises(SystemExit) as ended:
        main()

    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith(f"Usage: {called} podgroup list [OPTIONS]\n")


def test_kubectl_itself_completes_its_plugin(kubectl, tmp_path):
    """Both programs stand on the PATH, as the package installs them."""
    for name, function in (
        ("kubectl-vcray", "main.main"),
        ("kubectl_complete-vcray", "completion.complete_for_kubectl"),
    ):
        module, _, called = f"vcray.cli.{function}".rpartition(".")
        file = tmp_path / name
        file.write_text(f"#!{sys.executable}\nfrom {module} import {called}\n{called}()\n")
        file.chmod(0o755)
    environment = {"PATH": str(tmp_path), "HOME": str(tmp_path), "PYTHONPATH": str(REPOSITORY)}

    def asked(*words):
        done = subprocess.run(
            [kubectl, "__complete", *words], env=environment, capture_output=True, text=True
        )
        return [line.partition("\t")[0] for line in done.stdout.splitlines()]

    assert asked("vcr") == ["vcray", ":4"]
    assert asked("vcray", "podgroup", "") == ["describe", "get", "list", ":4"]
    assert asked("vcray", "podgroup", "list", "--phase", "I") == ["Inqueue", ":4"]
