"""Rules that every source file keeps."""

import ast
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
MODULE_LINES = 400
FUNCTION_LINES = 60
LISTS = {"vcray/metrics/__init__.py", "vcray/metrics/volcano.py"}
"""Modules whose long function is a list of declarations."""
CONTRIBUTING_LINES = 60
LONGEST_SLEEP_S = 0.2


def tracked():
    """Files of the repository as git knows them, new ones included; all files where there is no git."""
    asked = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    try:
        answer = subprocess.run(asked, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        hidden = {".venv", ".git", "__pycache__"}
        return [f for f in REPOSITORY.rglob("*") if f.is_file() and not hidden & set(f.parts)]
    return [REPOSITORY / line for line in answer.stdout.splitlines() if (REPOSITORY / line).is_file()]


FILES = tracked()
MODULES = [file for file in FILES if file.suffix == ".py" and file.is_relative_to(REPOSITORY / "vcray")]
TESTS = [file for file in FILES if file.name.startswith("test_") and file.suffix == ".py"]


def name(file):
    return str(file.relative_to(REPOSITORY))


@cache
def parsed(file):
    return ast.parse(file.read_text(encoding="utf-8"))


def functions(tree):
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def test_modules_are_at_most_400_lines():
    sizes = {name(file): len(file.read_text(encoding="utf-8").splitlines()) for file in MODULES}

    assert {file: lines for file, lines in sizes.items() if lines > MODULE_LINES} == {}


def test_functions_are_at_most_60_lines():
    long = [
        f"{name(file)}:{node.lineno} {node.name} has {node.end_lineno - node.lineno + 1} lines"
        for file in MODULES
        if name(file) not in LISTS
        for node in functions(parsed(file))
        if node.end_lineno - node.lineno + 1 > FUNCTION_LINES
    ]

    assert long == []


def test_every_module_opens_with_what_it_is_for():
    silent = [name(file) for file in MODULES if not ast.get_docstring(parsed(file))]

    assert silent == []


def test_public_functions_and_classes_of_the_package_are_documented_or_speak_for_themselves():
    undocumented = [
        f"{name(file)}:{node.lineno} {node.name}"
        for file in MODULES
        for node in parsed(file).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and not node.name.startswith("_")
        and "overload" not in map(ast.unparse, node.decorator_list)
        and not ast.get_docstring(node)
    ]

    assert undocumented == []


@pytest.mark.parametrize("word", ["utils", "helpers", "constants", "common", "misc"])
def test_no_module_is_named_after_nothing(word):
    assert [name(file) for file in MODULES if file.stem == word] == []


def test_contributing_is_one_page():
    assert (
        len((REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8").splitlines()) <= CONTRIBUTING_LINES
    )


MACHINE = re.compile(
    "|".join(
        [
            "/" + "work" + r"/(main|shared|\.library|\.mirror)",
            "/" + r"tmp/team",
            r"pypi\.org/simple",
            r"files\.pythonhosted" + r"\.org",
            r"proxy\.golang" + r"\.org",
            r"index-" + "url",
        ]
    )
)
ALLOWED = {"Makefile"}


def test_no_file_names_a_path_of_one_machine_or_a_registry_host():
    found = []
    for file in FILES:
        if name(file) in ALLOWED or name(file) == "tests/house/test_source.py":
            continue
        try:
            text = file.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        found += [f"{name(file)}: {match[0]}" for match in MACHINE.finditer(text)]

    assert found == []


def test_every_test_asserts_something():
    empty = [
        f"{name(file)}:{node.lineno} {node.name}"
        for file in TESTS
        for node in functions(parsed(file))
        if node.name.startswith("test_") and not asserts(node)
    ]

    assert empty == []


CHECKS = r"_?(assert|check|expect|eventually|wait|same|agree|refuse)"


def asserts(function):
    """Does a test assert, expect an exception, or call something that is named for asserting?"""
    for node in ast.walk(function):
        if isinstance(node, ast.Assert):
            return True
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func).rpartition(".")[2]
            if called in ("raises", "warns", "fail") or re.match(CHECKS, called):
                return True
    return False


def test_no_test_sleeps_longer_than_a_fifth_of_a_second():
    slow = [
        f"{name(file)}:{call.lineno}"
        for file in TESTS
        for call in real_sleeps(parsed(file))
        if isinstance(call.args[0], ast.Constant) and float(call.args[0].value) > LONGEST_SLEEP_S
    ]

    assert slow == []


def real_sleeps(tree):
    """Calls of asyncio.sleep, and of time.sleep where it is not an awaited virtual time."""
    awaited = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Await)}
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args]
    for call in calls:
        called = ast.unparse(call.func)
        if called == "asyncio.sleep" or (called == "time.sleep" and id(call) not in awaited):
            yield call
