"""Endings of generated names: stable, of the right letters, and told apart."""

from __future__ import annotations

import pytest

from vcray.api.suffixes import LETTERS, of_content, of_number


def test_endings_are_what_they_have_been() -> None:
    """Names that exist bear them: another rule would make every revision and HyperNode anew."""
    assert of_content(b"", 10) == "pskqwmc2zl"
    assert of_number(0, 5) == "bbbbb"
    assert of_number(27 + 2, 3) == "dcb"


@pytest.mark.parametrize("length", [1, 5, 10, 32])
def test_an_ending_has_its_length_and_no_vowels(length: int) -> None:
    for ending in (of_content(b"x", length), of_number(2**128 - 1, length)):
        assert len(ending) == length
        assert set(ending) <= set(LETTERS)
    assert not set("aeiouy013") & set(LETTERS)


def test_what_differs_ends_otherwise() -> None:
    assert len({of_content(str(n).encode(), 5) for n in range(100)}) == 100
    assert len({of_number(n, 2) for n in range(27**2)}) == 27**2
    assert of_number(27**2, 2) == of_number(0, 2)
