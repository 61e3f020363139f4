"""`vc-scheduler` and its kin: Go's command lines, and a cluster that separate processes run together."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import tomllib
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.cli.cluster_server import ClusterServer
from tests.cli.test_run import nodes_of_pods, wait_until
from vcray.api.resources import JOBS, LEASES, NODES, QUEUES
from vcray.cli.daemons import OWN, execute
from vcray.clock import WallClock
from vcray.config.programs import PROGRAMS
from vcray.config.settings import Settings
from vcray.sim import shorthand

ROOT = Path(__file__).parents[2]
NAMESPACE = "kube-system"

# -- command lines -----------------------------------------------------------------------------------------------------


def run(capsys: pytest.CaptureFixture[str], program: str, *arguments: str) -> tuple[int, str, str]:
    code = execute(PROGRAMS[program], arguments)
    out, err = capsys.readouterr()
    return code, out, err


def test_each_program_is_installed() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]

    for name in PROGRAMS:
        module, _, function = scripts[name].partition(":")
        assert getattr(import_module(module), function).__doc__ == f"The program `{name}`."


@pytest.mark.parametrize("program", PROGRAMS)
def test_help_shows_every_flag(capsys: pytest.CaptureFixture[str], program: str) -> None:
    code, out, err = run(capsys, program, "--help")

    assert (code, err) == (0, "")
    assert f"Usage:\n  {program} [flags]\n" in out
    assert all(f"--{flag.name}" in out for flag in PROGRAMS[program].flags)
    assert all(f"--{name} " in out for name in OWN)


def test_flags_of_ours_are_settings_or_where_the_cluster_is() -> None:
    assert {name.replace("-", "_") for name in OWN} - {"context"} <= set(Settings.model_fields)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--leader-elec=true"], "unknown flag: --leader-elec; did you mean 'leader-elect'?"),
        (["--zzz"], "unknown flag: --zzz"),
        (["-x"], "unknown shorthand flag: 'x' in -x"),
        (["--scheduler-name"], "flag needs an argument: --scheduler-name"),
        (
            ["--enable-metrics=maybe"],
            'invalid argument "maybe" for "--enable-metrics" flag: strconv.ParseBool: parsing "maybe": invalid syntax',
        ),
        (
            ["--leader-elect-lease-duration", "15"],
            'invalid argument "15" for "--leader-elect-lease-duration" flag: time: invalid duration "15"',
        ),
    ],
)
def test_a_command_line_that_cannot_be_read_is_told_in_gos_words(
    capsys: pytest.CaptureFixture[str], arguments: Sequence[str], told: str
) -> None:
    code, out, err = run(capsys, "vc-scheduler", *arguments)

    assert (code, out) == (2, "")
    assert err == f"VC0502 {told}\nSee 'vc-scheduler --help' for its flags.\n"


def test_a_value_that_cannot_be_used_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "vc-controller-manager", "--controllers=+gc-controller,-gc-controller")

    assert (code, out) == (2, "")
    told = "controllers option -gc-controller cannot have both '-' and '+' prefixes"
    assert err == f"VC0502 --controllers: {told}\n"


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_version_needs_nothing_else(capsys: pytest.CaptureFixture[str], program: str) -> None:
    code, out, _ = run(capsys, program, "--version")

    assert code == 0
    assert out.startswith("vcray ")


# -- processes ---------------------------------------------------------------------------------------------------------


class Program:
    """One program as a process."""

    def __init__(self, name: str, kubeconfig: str, log: Path, *flags: str) -> None:
        function = name.replace("-", "_")
        code = f"from vcray.cli.daemons import {function}; {function}()"
        arguments = [f"--kubeconfig={kubeconfig}", "--logtostderr", "-v=3", "2>&1", *flags]
        self._log = log
        with log.open("w") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-c", code, *arguments],
                cwd=ROOT,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
                stdout=out,
                stderr=subprocess.STDOUT,
            )

    def output(self) -> str:
        return self._log.read_text()

    def ready(self) -> bool:
        assert self.process.poll() is None, self.output()
        return "vcray: running against" in self.output()

    def terminated(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(20)


@contextmanager
def programs(server: ClusterServer, folder: Path) -> Iterator[Any]:
    """A function that starts programs; all are killed at the end."""
    kubeconfig = server.kubeconfig(folder)
    with ExitStack() as stack:

        def start(name: str, *flags: str) -> Program:
            log = folder / f"{name}-{len(list(folder.iterdir()))}.log"
            made = Program(name, kubeconfig, log, *flags)
            stack.callback(made.process.wait)
            stack.callback(made.process.kill)
            return made

        yield start


def holder(server: ClusterServer, name: str) -> str:
    return str(server.ask("get", LEASES, NAMESPACE, name)["spec"]["holderIdentity"])


def test_programs_run_a_cluster_together_and_a_second_scheduler_takes_over(
    tmp_path: Path, unused_tcp_port: int
) -> None:
    place = f"--leader-elect-resource-namespace={NAMESPACE}"
    quick = "--leader-elect-retry-period=100ms"
    with ClusterServer(WallClock()) as server, programs(server, tmp_path) as start:
        server.ask("create", NODES, None, shorthand.node("n1", "8c", "n1"))
        first = start("vc-scheduler", place, quick)
        manager = start(
            "vc-controller-manager",
            place,
            "--enable-healthz=true",
            f"--healthz-address=127.0.0.1:{unused_tcp_port}",
        )
        wait_until(lambda: first.ready() and manager.ready())
        second = start("vc-scheduler", place, quick)
        server.ask("create", JOBS, "default", shorthand.job("one", "2 x 1c", "one"))
        wait_until(lambda: len(nodes_of_pods(server)) == 2)
        with urllib.request.urlopen(f"http://127.0.0.1:{unused_tcp_port}/healthz") as answer:
            health = answer.read()
        wait_until(lambda: "waiting for the lease" in second.output())
        before = holder(server, "volcano")
        began = time.monotonic()
        code = first.terminated()
        wait_until(second.ready)
        taken_after = time.monotonic() - began
        server.ask("create", JOBS, "default", shorthand.job("two", "2 x 1c", "two"))
        wait_until(lambda: len(nodes_of_pods(server)) == 4)
        names = {holder(server, "volcano"), holder(server, "vc-controller-manager")}
        ends = [second.terminated(), manager.terminated()]

        assert health == b"ok"
        assert code == 0
        assert taken_after < 14  # not the 15 s that the lease would hold
        assert before not in names
        assert len(names) == 2
        assert ends == [0, 0]
        assert [holder(server, name) for name in ("volcano", "vc-controller-manager")] == ["", ""]
        assert {queue["metadata"]["name"] for queue in server.ask("list", QUEUES).items} == {
            "default",
            "root",
        }
        assert "Traceback" not in first.output() + second.output() + manager.output()
