"""Runs the scripts of examples/ray-data and examples/ray-train on a Ray of two cores on this machine, in a process of its own.

`python -m tests.ray.running_examples FOLDER`: each script is a driver of that Ray, as `ray job submit` would start it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from vcray.actors import ray_environment  # noqa: F401  before ray, which reads its environment when it is imported
from vcray.actors.ray_ground import Ground

EXAMPLES = Path(__file__).parents[2] / "examples"


def main(folder: str) -> int:
    """Prepare, then train with one to three workers: there is room for two."""
    import ray

    os.environ.setdefault("RAY_TRAIN_HEALTH_CHECK_INTERVAL_S", "0.2")  # reports are taken in that often
    ground = Ground()
    try:
        started = ray.init(
            num_cpus=2, object_store_memory=100 * 2**20, include_dashboard=False, _temp_dir=str(ground.folder)
        )
        environment = {**os.environ, "RAY_ADDRESS": str(started.address_info["gcs_address"])}
        for script, *arguments in (
            ("ray-data/prepare.py", f"{folder}/rows"),
            ("ray-train/train.py", f"{folder}/rows", f"{folder}/results", "1", "3"),
        ):
            subprocess.run([sys.executable, str(EXAMPLES / script), *arguments], env=environment, check=True)
    finally:
        ray.shutdown()
        ground.remove()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
