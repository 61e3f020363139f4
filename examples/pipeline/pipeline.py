"""Prepare with Spark, train with PyTorch, evaluate with Ray: one after the other, in one queue."""

from __future__ import annotations

import sys
from pathlib import Path

import yaml

import vcray
from vcray.client import State

HERE = Path(__file__).parent


def main() -> int:
    with vcray.connect() as cluster:
        for step in ("prepare", "train", "evaluate"):
            work = yaml.safe_load((HERE / f"{step}.yaml").read_text())
            outcome = cluster.wait(cluster.submit(work, queue="pipeline"), timeout_s=3600)
            print(step, outcome.state, flush=True)
            if outcome.state is not State.SUCCEEDED:
                print(outcome.message, file=sys.stderr)
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
