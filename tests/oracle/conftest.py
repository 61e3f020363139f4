"""`--count N`: how many random clusters the kernel is compared on (default 2,000, or VCRAY_ORACLE_COUNT)."""

from __future__ import annotations

import os

import pytest

DEFAULT_COUNT = 2000


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of this folder; known only when the folder is named on the command line, hence the variable too."""
    try:
        parser.addoption("--count", type=int, default=None, help="random clusters to compare (default 2000)")
        parser.addoption("--first", type=int, default=0, help="number of the first random cluster")
    except ValueError:
        pass


@pytest.fixture
def cluster_numbers(request: pytest.FixtureRequest) -> range:
    """Which random clusters to try."""
    asked = request.config.getoption("--count", default=None)
    count = asked or int(os.environ.get("VCRAY_ORACLE_COUNT", DEFAULT_COUNT))
    first = request.config.getoption("--first", default=0) or 0
    return range(first, first + count)
