"""Submit the training from a program: a notebook, a service, or the driver of the Ray cluster that has prepared the rows.

`python submit.py`, with vcray installed. It talks to the Kubernetes API alone. In a pod that takes a service account which may create and watch
RayJobs and read queues.
"""

from __future__ import annotations

import sys
from pathlib import Path

import yaml

import vcray
from vcray.client import State

MANIFEST = Path(__file__).parent / "manifest.yaml"


def main() -> int:
    objects = yaml.safe_load_all(MANIFEST.read_text())
    job = next(each for each in objects if each["kind"] == "RayJob")
    with vcray.connect() as cluster:
        queue = cluster.queue("research")
        print(f"queue {queue.name} is {queue.state} and has {queue.capability['cpu']} cores")
        work = cluster.submit(job, queue=queue.name)
        print(work.name, cluster.wait(work, until=State.RUNNING, timeout_s=3600).state, flush=True)
        outcome = cluster.wait(work, timeout_s=3600)
        print(work.name, outcome.state)
    if outcome.state is State.SUCCEEDED:
        return 0
    print(outcome.message, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
