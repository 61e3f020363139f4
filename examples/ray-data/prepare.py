"""Prepare rows with Ray Data: make raw measurements, throw out broken ones, scale the rest, write Parquet files in a folder.

`python prepare.py FOLDER [ROWS]` in any Ray cluster; every node must see the folder. Columns: `size`, `age` and `price`, numbers of order one.
"""

from __future__ import annotations

import sys

import numpy as np
import ray
from ray.data import SaveMode

Batch = dict[str, np.ndarray]


def measure(ids: Batch) -> Batch:
    """What would be read from files: square metres, years, and a price, which is missing now and then."""
    number = ids["id"].astype(np.uint64)
    size = 40.0 + (number * 7919 % 1000) / 10.0
    age = (number * 104_729 % 500) / 10.0
    noise = np.sin(number * 1.7) * 5.0
    price = 3.0 * size - 2.0 * age + 50.0 + noise
    return {"size": size, "age": age, "price": np.where(number % 97 == 0, np.nan, price)}


def scale(rows: Batch) -> Batch:
    """Rows with a price, as numbers of order one."""
    whole = ~np.isnan(rows["price"])
    return {
        "size": (rows["size"][whole] - 90.0) / 30.0,
        "age": (rows["age"][whole] - 25.0) / 15.0,
        "price": rows["price"][whole] / 100.0,
    }


def main(folder: str, rows: int = 10_000) -> None:
    """Each block of rows goes through both steps on its own, wherever there is a core."""
    prepared = ray.data.range(rows, override_num_blocks=4).map_batches(measure).map_batches(scale)
    prepared.write_parquet(folder, mode=SaveMode.OVERWRITE)
    print(f"{ray.data.read_parquet(folder).count()} of {rows} rows written to {folder}")


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
