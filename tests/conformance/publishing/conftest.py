"""One object of every built-in kind that can be stored, as a user would write it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conformance.harness.base import Server
from tests.conformance.harness.client import ApiError

EXAMPLES: list[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("examples.yaml").read_text())


@pytest.fixture(scope="session")
def furnished(apiserver: Server) -> Server:
    """`apiserver` with the examples in the namespace `examples`."""
    client = apiserver.client
    if not client.exists("/api/v1/namespaces/examples"):
        client.create("/api/v1/namespaces", {"metadata": {"name": "examples"}})
    for example in EXAMPLES:
        try:
            client.create(example["path"], example["object"])
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise
    return apiserver
