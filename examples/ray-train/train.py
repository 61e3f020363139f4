"""Train with Ray Train: data-parallel gradient descent in NumPy over the rows of `prepare.py`, with as many workers as there is room for.

`python train.py DATA RESULTS [LEAST [MOST]]` in any Ray cluster; every node must see both folders. Training starts with LEAST workers, takes
up to MOST, and goes on from its last checkpoint when their number changes.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import ray
from ray import train
from ray.train.collective import broadcast_from_rank_zero
from ray.train.v2.api.data_parallel_trainer import DataParallelTrainer

MODEL = "model.json"


@ray.remote(num_cpus=0)
class Sum:
    """Where workers add up what each has found; it goes with the worker that made it."""

    def __init__(self, workers: int) -> None:
        self._meeting = asyncio.Barrier(workers)
        self._parts: dict[int, list[np.ndarray]] = {}

    async def of(self, epoch: int, part: np.ndarray) -> np.ndarray:
        """The sum of all workers' parts of an epoch, once all are there."""
        parts = self._parts.setdefault(epoch, [])
        parts.append(part)
        await self._meeting.wait()
        self._parts.pop(epoch - 1, None)
        return np.sum(parts, axis=0)


def loop(config: dict[str, Any]) -> None:
    """What each worker does: its share of the gradient, the sum of all shares, a step."""
    context = train.get_context()
    first = context.get_world_rank() == 0
    total = broadcast_from_rank_zero(Sum.remote(context.get_world_size()) if first else None)
    shard = train.get_dataset_shard("train")
    weights, begin = resumed()
    for epoch in range(begin, config["epochs"]):
        part = np.zeros(5)
        for batch in shard.iter_batches(batch_size=1024, batch_format="numpy"):
            part += share(weights, batch)
        found = ray.get(total.of.remote(epoch, part))
        weights = weights - config["rate"] * found[:3] / found[4]
        metrics = {"epoch": epoch, "loss": float(found[3] / found[4]), "workers": context.get_world_size()}
        report(weights, metrics, saves=first)


def share(weights: np.ndarray, batch: dict[str, np.ndarray]) -> np.ndarray:
    """Of a linear model and some rows, as sums over the rows: the gradient (3), the squared error, how many rows."""
    inputs = np.stack([batch["size"], batch["age"], np.ones(len(batch["size"]))])
    error = weights @ inputs - batch["price"]
    return np.array([*(2 * inputs @ error), error @ error, len(error)])


def resumed() -> tuple[np.ndarray, int]:
    """Weights and epoch to go on with: those of the last checkpoint."""
    last = train.get_checkpoint()
    if last is None:
        return np.zeros(3), 0
    with last.as_directory() as folder:
        saved = json.loads((Path(folder) / MODEL).read_text())
    return np.array(saved["weights"]), saved["epoch"] + 1


def report(weights: np.ndarray, metrics: dict[str, float], saves: bool) -> None:
    """Metrics from everybody, a checkpoint from the first worker."""
    with tempfile.TemporaryDirectory() as folder:
        model = {"weights": weights.tolist(), "epoch": metrics["epoch"]}
        (Path(folder) / MODEL).write_text(json.dumps(model))
        train.report(metrics, checkpoint=train.Checkpoint.from_directory(folder) if saves else None)


def main(data: str, results: str, least: int = 1, most: int | None = None) -> None:
    """Read, train, tell of the last epochs. The rows are read before the workers take all cores."""
    rows = ray.data.read_parquet(data).materialize()
    trainer = DataParallelTrainer(
        loop,
        train_loop_config={"epochs": 8, "rate": 0.3},
        scaling_config=train.ScalingConfig(num_workers=(least, most) if most else least),
        run_config=train.RunConfig(
            name="train",
            storage_path=results,
            failure_config=train.FailureConfig(max_failures=3),
            checkpoint_config=train.CheckpointConfig(num_to_keep=3),
        ),
        datasets={"train": rows},
    )
    result = trainer.fit()
    for checkpoint, metrics in result.best_checkpoints:
        told = "epoch {epoch}: loss {loss:.4f} with {workers} workers".format(**metrics)
        print(f"{told}, saved in {checkpoint.path}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
