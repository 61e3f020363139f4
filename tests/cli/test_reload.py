"""A running `vcray run` takes a new configuration or plugin within two seconds, and keeps the last good one; on both servers."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conformance.harness.base import Server
from vcray.config.language import CONF_KEY as KEY

ROOT = Path(__file__).parents[2]
WITHIN_S = 2.0
SLACK_S = 1.0
"""For a machine that does other things too."""

GOOD = "actions: allocate\ntiers: [{plugins: [{name: gang}, {name: predicates}]}]\n"
BAD = GOOD.replace("allocate", "alocate")
MINE = GOOD.replace("{name: gang}", "{name: gang}, {name: mine}")
PLUGIN = "from vcray.core.plugin import Args, Plugin\n\nclass Mine(Plugin[Args]):\n    pass\n"


class Running:
    """The process, its metrics and the events about it."""

    def __init__(self, process: subprocess.Popen[str], server: Server, namespace: str) -> None:
        self.process, self.server, self.namespace = process, server, namespace
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r"metrics on port (\d+)", line)
        assert found, line
        self.port = found[1]

    def metric(self, series: str) -> float:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics") as answer:
            lines = answer.read().decode().splitlines()
        return next((float(line.split()[-1]) for line in lines if line.startswith(f"{series} ")), 0.0)

    def events(self) -> list[str]:
        found = self.server.client.get(f"/api/v1/namespaces/{self.namespace}/events")["items"]
        return [each["message"] for each in found if each["involvedObject"]["name"] == "conf"]

    def waits(self, true: Callable[[], bool]) -> float:
        """Until it is true; how long it took."""
        started = time.monotonic()
        while not true():
            assert time.monotonic() - started < 20, self.events()
            time.sleep(0.02)
        return time.monotonic() - started

    def in_force(self) -> bool:
        return self.metric("vcray_config_last_reload_success") == 1.0


@contextmanager
def running(server: Server, namespace: str, *flags: object) -> Iterator[Running]:
    command = [sys.executable, "-m", "vcray.cli.main", "run", "--kubeconfig", server.kubeconfig, *flags]
    process = subprocess.Popen(
        [str(word) for word in command],
        cwd=ROOT,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield Running(process, server, namespace)
    finally:
        process.kill()
        process.communicate()


def configmap(text: str) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "conf"}, "data": {KEY: text}}


def test_a_configmap_and_a_plugin_are_followed(
    volcano_apiserver: Server, namespace: str, tmp_path: Path
) -> None:
    server, where = volcano_apiserver, f"/api/v1/namespaces/{namespace}/configmaps"
    server.client.create(where, configmap(GOOD))
    plugin = tmp_path / "mine.py"
    plugin.write_text(PLUGIN)
    source = ("--scheduler-conf-configmap", f"{namespace}/conf", "--plugins-dir", tmp_path)
    ports = (
        "--metrics-port",
        "0",
        "--logtostderr=true",
        "--enable-healthz",
        "--healthz-address",
        "127.0.0.1:0",
    )

    with running(server, namespace, *source, *ports) as vcray:
        assert vcray.in_force()

        server.client.replace(f"{where}/conf", configmap(BAD))
        refused = vcray.waits(lambda: not vcray.in_force())
        server.client.replace(f"{where}/conf", configmap(MINE))
        taken = vcray.waits(vcray.in_force)
        plugin.write_text(PLUGIN + "    def node_scor(self): pass\n")
        broken = vcray.waits(lambda: not vcray.in_force())
        plugin.write_text(PLUGIN)
        mended = vcray.waits(vcray.in_force)
        vcray.waits(lambda: len(vcray.events()) == 2)

        told = sorted(vcray.events())
        codes = [
            vcray.metric(f'vcray_config_problems_total{{code="{code}"}}') for code in ("VC0105", "VC0110")
        ]

    stays = f"configmap {namespace}/conf is refused whole, and the last good configuration stays in force"
    assert max(refused, taken, broken, mended) < WITHIN_S + SLACK_S
    assert told == [
        f"VC0105 actions[0]: unknown action 'alocate'; did you mean 'allocate'?; {stays}",
        f"VC0110 {plugin}:3: cannot be imported: 'node_scor' is not a hook; did you mean 'node_score'? "
        f"(private helpers start with an underscore); {stays}",
    ]
    assert codes == [1.0, 1.0]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (BAD, "VC0105 actions[0]: unknown action 'alocate'; did you mean 'allocate'?\n"),
        (None, "VC0503 configmap {namespace}/conf: cannot be read: there is none of that name\n"),
    ],
    ids=["bad", "missing"],
)
def test_a_start_with_a_bad_one_is_one_error(
    volcano_apiserver: Server, namespace: str, text: str | None, sentence: str
) -> None:
    if text is not None:
        volcano_apiserver.client.create(f"/api/v1/namespaces/{namespace}/configmaps", configmap(text))
    flags = [
        "--kubeconfig",
        str(volcano_apiserver.kubeconfig),
        "--scheduler-conf-configmap",
        f"{namespace}/conf",
    ]

    said = subprocess.run(
        [sys.executable, "-m", "vcray.cli.main", "run", "--metrics-port=-1", *flags],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert (said.returncode, said.stdout) == (2, "")
    assert said.stderr == sentence.format(namespace=namespace)
