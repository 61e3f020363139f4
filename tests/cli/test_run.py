"""`vcray run` as a process of its own, against the in-memory store behind a port."""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import yaml

from tests.cli.cluster_server import ClusterServer
from vcray.api.resources import JOBS, NODES, PODS, QUEUES
from vcray.clock import WallClock

ROOT = Path(__file__).parents[2]


@contextmanager
def control_plane(kubeconfig, *flags):
    """A running `vcray run`, told to stop at the end unless it has."""
    command = [sys.executable, "-m", "vcray.cli.main", "run", "--kubeconfig", kubeconfig, *flags]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def wait_until(true, seconds=40):
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.1)


def test_a_gang_is_bound_over_http_and_sigterm_ends_the_process_cleanly(tmp_path):
    with ClusterServer(WallClock()) as server:
        size = {"cpu": "4", "memory": "8Gi", "pods": "110"}
        ready = [{"type": "Ready", "status": "True"}]
        node = {
            "metadata": {"name": "n1"},
            "status": {"allocatable": size, "capacity": size, "conditions": ready},
        }
        server.ask("create", NODES, None, node)
        server.ask("patch", NODES, None, "n1", {"status": node["status"]}, subresource="status")
        with control_plane(server.kubeconfig(tmp_path), "--metrics-port", "0") as process:
            line = process.stdout.readline()
            job = yaml.safe_load((ROOT / "examples/gang.yaml").read_text())
            server.ask("create", JOBS, "default", job)
            wait_until(lambda: len(nodes_of_pods(server)) == 3)
            process.send_signal(signal.SIGTERM)
            out, err = process.communicate(timeout=20)

        assert line.startswith(f"vcray: running against http://127.0.0.1:{server.port} (")
        assert line.endswith("\n")
        assert out == ""
        assert "Traceback" not in err
        assert process.returncode == 0
        assert nodes_of_pods(server) == ["n1", "n1", "n1"]
        assert {queue["metadata"]["name"] for queue in server.ask("list", QUEUES).items} == {
            "default",
            "root",
        }


def nodes_of_pods(server):
    pods = server.ask("list", PODS, "default").items
    return [pod["spec"]["nodeName"] for pod in pods if pod["spec"].get("nodeName")]
