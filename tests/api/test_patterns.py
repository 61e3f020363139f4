"""Patterns are RE2's, as on a real server."""

import pytest

from vcray.api.patterns import compiled


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("^a$", "a", True),
        ("^a$", "a\n", False),
        (r"^\p{L}+$", "über", True),
        ("b", "abc", True),
        (r"^a\z", "ab", False),
    ],
)
def test_a_pattern_matches_as_in_go(pattern: str, text: str, matches: bool) -> None:
    assert (compiled(pattern).search(text) is not None) == matches


@pytest.mark.parametrize(
    ("pattern", "told"),
    [
        ("[", "error parsing regexp: missing closing ]: `[`"),
        ("(?=a)", "error parsing regexp: invalid or unsupported Perl syntax: `(?=`"),
    ],
)
def test_a_wrong_pattern_is_told_in_gos_words(pattern: str, told: str) -> None:
    with pytest.raises(ValueError) as refused:
        compiled(pattern)

    assert str(refused.value) == told
