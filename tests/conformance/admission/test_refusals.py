"""What may not be stored is refused in the same words by both servers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conformance.harness.base import Server
from tests.conformance.harness.client import ApiError

REFUSALS = yaml.safe_load((Path(__file__).parent / "refusals.yaml").read_text())


@pytest.mark.parametrize(
    "refusal", REFUSALS, ids=lambda one: f"{one['object']['kind']}-{one['object']['metadata']['name']}"
)
def test_a_faulty_registration_is_refused_word_for_word(apiserver: Server, refusal: dict[str, Any]) -> None:
    with pytest.raises(ApiError) as caught:
        apiserver.client.create(refusal["path"] + "?dryRun=All", refusal["object"])

    assert caught.value.message == refusal["message"]
    assert (caught.value.code, caught.value.reason) == (422, "Invalid")
