"""Whatever bytes come in, the answer is a review that says yes or why not."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.drawn import EXAMPLES, ODD, Drawer, seeds
from vcray.actors.admission_reviews import Unreadable, read_question
from vcray.webhooks.services import SERVICES

REVIEW = b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"object":%b}}'


def is_read_or_refused(body: bytes) -> bool:
    """True, unless it fails."""
    try:
        question = read_question(body)
    except Unreadable as error:
        return bool(str(error).encode())
    return all(isinstance(question.refusal(service).encode(), bytes) for service in SERVICES)


@pytest.mark.parametrize(
    "part",
    [
        b"[" * 200_000,
        b'{"a":' * 200_000,
        b"\xff\xfe",
        b'"\\ud800"',
        b'{"spec":{"a\\u0000":1e999}}',
        b"9" * 5000,
        b"-1e-9999",
        b"NaN",
        b"",
    ],
    ids=["deep list", "deep object", "no utf-8", "half a character", "endless number", "long number", "tiny number", "NaN", "nothing"],
)  # fmt: skip
def test_odd_json_is_read_or_refused(part: bytes) -> None:
    assert is_read_or_refused(part)
    assert is_read_or_refused(REVIEW % part)


@given(seed=seeds, text=st.sampled_from(ODD))
@settings(max_examples=EXAMPLES, deadline=None)
def test_any_document_is_read_or_refused(seed: int, text: str) -> None:
    drawer = Drawer(seed)
    assert is_read_or_refused(json.dumps(drawer.anything()).encode())
    assert is_read_or_refused(
        json.dumps({"apiVersion": text, "kind": drawer.anything(), "request": drawer.anything()}).encode()
    )


@given(st.binary(max_size=64))
@settings(max_examples=EXAMPLES, deadline=None)
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    assert is_read_or_refused(body)
