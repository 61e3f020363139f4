"""What a start of each program imports, in a process of its own: that is what it costs, on any machine."""

import os
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
LARGE = {
    "aiohttp", "asyncio", "grpc", "kubernetes_asyncio", "msgspec", "numpy", "pydantic", "ray", "rich", "ssl", "yaml",
}  # fmt: skip
"""Libraries that take tens of milliseconds to load, or seconds."""

FOR_ASKING = {"aiohttp", "asyncio", "msgspec", "ssl", "yaml"}
"""What it takes to read a kubeconfig and to ask a server over HTTPS."""

NOBODY = ["-s", "http://127.0.0.1:9"]
VCCTL = "from vcray.cli.vcctl import execute"
VCRAY = "from vcray.cli.main import execute"
SLURM = """\
from vcray.cli import program, slurm
def execute(arguments):
    for root in slurm.PROGRAMS.values():
        program.execute(root, arguments)
"""


def unwanted(execute, commands, allowed=frozenset()):
    """Which large libraries, or parts of a server, are there after each command: a line for each that brought any."""
    code = f"""\
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
{execute}
LARGE = {LARGE - allowed!r}
PARTS = tuple("vcray." + each for each in ("actors", "app", "cache", "cluster", "controllers", "core", "webhooks"))
for arguments in {commands!r}:
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        execute(arguments)
    found = sorted(name for name in sys.modules if name in LARGE or name.startswith(PARTS))
    if found:
        print(*arguments, "->", *found)
        break
print("last:", *(name for name in ("aiohttp", "click") if name in sys.modules))
"""
    environment = {key: value for key, value in os.environ.items() if key != "KUBECONFIG"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=REPOSITORY,
        env={**environment, "HOME": "/nonexistent"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stderr == ""
    return done.stdout


def test_help_and_wrong_flags_of_volcanos_programs_load_none_of_the_large_libraries():
    commands = [["--help"], ["job", "list", "--help"], ["job", "list", "--bogus"], ["fly"], ["version"]]

    assert unwanted(VCCTL, commands) == "last:\n"
    assert unwanted(SLURM, [["--help"], ["--bogus"]]) == "last:\n"


def test_help_and_wrong_flags_of_vcray_load_none_of_the_large_libraries():
    commands = [
        ["--help"],
        ["fly"],
        ["version"],
        ["podgroup", "list", "--help"],
        ["podgroup", "list", "--bogus"],
        ["podgroup", "get"],
        ["completion", "fish"],
        ["up", "--help"],
        ["doctor", "--help"],
    ]

    assert unwanted(VCRAY, commands) == "last: click\n"


def test_completing_a_command_loads_none_of_the_large_libraries():
    kubectl = "from vcray.cli.completion import complete_for_kubectl as execute"

    assert unwanted(kubectl, [[""], ["podgroup", "list", "--"]]) == "last: click\n"


def test_a_command_that_asks_a_server_loads_a_client_and_nothing_of_models_or_schedulers():
    """pydantic alone would add more than a tenth of a second to each."""
    commands = [
        ["job", "list", *NOBODY],
        ["job", "view", "-N", "x", *NOBODY],
        ["queue", "list", *NOBODY],
        ["pod", "list", *NOBODY],
        ["jobflow", "list", *NOBODY],
    ]

    assert unwanted(VCCTL, commands, FOR_ASKING) == "last: aiohttp\n"
    assert unwanted(SLURM, [["-n", "x", *NOBODY]], FOR_ASKING) == "last: aiohttp\n"


def test_vcray_podgroup_asks_with_the_same_client(tmp_path):
    kubeconfig = tmp_path / "config"
    kubeconfig.write_text(
        "current-context: c\ncontexts: [{name: c, context: {cluster: c}}]\n"
        "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:9'}}]\n"
    )
    server = ["--kubeconfig", str(kubeconfig)]

    commands = [["podgroup", "list", *server], ["podgroup", "describe", "x", *server]]

    assert unwanted(VCRAY, commands, FOR_ASKING) == "last: aiohttp click\n"
