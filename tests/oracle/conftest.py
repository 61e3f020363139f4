"""`--count N`: how many random clusters the kernel is compared on (default 2,000, or VCRAY_ORACLE_COUNT).

They are cut into blocks, one test each, so that several processes can share them.
"""

from __future__ import annotations

import os

import pytest

DEFAULT_COUNT, BLOCK = 2000, 250


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Hand `cluster_numbers` to the tests that want it, block by block."""
    if "cluster_numbers" not in metafunc.fixturenames:
        return
    asked = metafunc.config.getoption("--count")
    count = asked or int(os.environ.get("VCRAY_ORACLE_COUNT", DEFAULT_COUNT))
    first = metafunc.config.getoption("--first") or 0
    starts = range(first, first + count, BLOCK)
    blocks = [range(start, min(start + BLOCK, first + count)) for start in starts]
    ids = [f"{block.start}-{block.stop - 1}" for block in blocks]
    metafunc.parametrize("cluster_numbers", blocks, ids=ids)
