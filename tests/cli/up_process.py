"""`vcray up` as a process of its own, with a runtime folder of its own, and what is left when it is gone."""

import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request

START_S = 240
READY = re.compile(r"^vcray: cluster '(\S+)' is ready: https://127\.0\.0\.1:(\d+), ")


class Up:
    """One `vcray up`; `folder` holds all that it writes. Ended, by force if need be, when the block ends."""

    def __init__(self, folder, *flags, ready=True):
        self.folder = folder
        self.environment = {**os.environ, "XDG_RUNTIME_DIR": str(folder), "PYTHONUNBUFFERED": "1"}
        self.errors = folder / "errors"
        command = [sys.executable, "-m", "vcray.cli.main", "up", "--port", "0", *map(str, flags)]
        with self.errors.open("w") as errors:
            self.process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=errors, text=True, env=self.environment
            )
        if ready:
            found = READY.match(self.process.stdout.readline())
            assert found, self.errors.read_text()
            self.name, self.port = found[1], int(found[2])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.communicate()

    @property
    def runtime(self):
        return self.folder / "vcray" / self.name

    def kubeconfig(self):
        return json.loads((self.runtime / "kubeconfig").read_text())

    def ask(self, path, body=None, method=None, content_type="application/json"):
        """One request to its server, decoded."""
        config = self.kubeconfig()
        authority = config["clusters"][0]["cluster"]["certificate-authority-data"]
        context = ssl.create_default_context(cadata=pem(authority))
        token = config["users"][0]["user"]["token"]
        request = urllib.request.Request(
            f"https://127.0.0.1:{self.port}{path}",
            json.dumps(body).encode() if body is not None else None,
            {"Authorization": f"Bearer {token}", "Content-Type": content_type},
            method=method,
        )
        with urllib.request.urlopen(request, timeout=30, context=context) as answer:
            return json.loads(answer.read())

    def children(self):
        """The pids of its children."""
        tasks = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        with open(tasks) as file:
            return [int(pid) for pid in file.read().split()]

    def stop(self, number=signal.SIGTERM):
        """Send a signal; the exit code."""
        self.process.send_signal(number)
        return self.process.wait(60)

    def command(self, *arguments):
        """Another command of the program beside it."""
        return subprocess.run(
            [sys.executable, "-m", "vcray.cli.main", *map(str, arguments)],
            capture_output=True,
            text=True,
            check=False,
            timeout=START_S,
            env=self.environment,
        )


def pem(data):
    import base64

    return base64.b64decode(data).decode()


def refused(folder, *flags):
    """Run `vcray up` with flags that cannot work; its exit code and its sentences, one a line."""
    with Up(folder, *flags, ready=False) as up:
        out, _ = up.process.communicate(timeout=START_S)
        assert out == ""
    assert not (folder / "vcray").exists()
    return up.process.returncode, up.errors.read_text().removesuffix("\n")


def listening(port):
    """Does anything listen there?"""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def descendants(pid):
    """A process and all below it."""
    found = [pid]
    for thread in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{thread}/children") as file:
                children = [int(each) for each in file.read().split()]
        except OSError:
            continue
        found += [each for child in children for each in descendants(child)]
    return found


def eventually(true, what, seconds=60):
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, f"not in time: {what}"
        time.sleep(0.05)
