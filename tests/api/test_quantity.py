"""Quantities against decimal arithmetic written apart from the code under test."""

from __future__ import annotations

from decimal import ROUND_UP, Context, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vcray.api.quantity import (
    MAX_VALUE,
    QuantityError,
    canonical,
    format_bytes,
    format_milli,
    format_value,
    milli,
    parse_quantity,
    thousandths,
    value,
)

WIDE = Context(prec=120)
FACTORS = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "": Decimal(1),
    "k": Decimal("1e3"),
    "M": Decimal("1e6"),
    "G": Decimal("1e9"),
    "T": Decimal("1e12"),
    "P": Decimal("1e15"),
    "E": Decimal("1e18"),
    "Ki": Decimal(2**10),
    "Mi": Decimal(2**20),
    "Gi": Decimal(2**30),
    "Ti": Decimal(2**40),
    "Pi": Decimal(2**50),
    "Ei": Decimal(2**60),
}


def exact(number: Decimal, step: Decimal) -> int:
    """The number in steps, away from zero, after the two bounds of the grammar."""
    nanos = WIDE.divide(number, Decimal("1e-9")).quantize(Decimal(1), ROUND_UP, WIDE)
    bounded = max(min(WIDE.multiply(nanos, Decimal("1e-9")), Decimal(MAX_VALUE)), Decimal(-MAX_VALUE))
    return int(WIDE.divide(bounded, step).quantize(Decimal(1), ROUND_UP, WIDE))


numbers = st.decimals(
    min_value=Decimal("-1e15"), max_value=Decimal("1e15"), allow_nan=False, allow_infinity=False, places=None
).map(lambda number: format(number.normalize(), "f"))
suffixes = st.sampled_from(sorted(FACTORS))


@given(numbers, suffixes)
def test_a_suffixed_number_equals_decimal_arithmetic(number: str, suffix: str) -> None:
    text = number + suffix
    amount = WIDE.multiply(Decimal(number), FACTORS[suffix])
    assert parse_quantity(text) == exact(amount, Decimal("1e-9"))
    assert thousandths(text) == exact(amount, Decimal("1e-3"))
    assert value(text) == exact(amount, Decimal(1))


@given(numbers, st.integers(-20, 20), st.sampled_from("eE"))
def test_an_exponent_shifts_the_number(number: str, power: int, letter: str) -> None:
    amount = WIDE.multiply(Decimal(number), Decimal(10) ** power)
    assert parse_quantity(f"{number}{letter}{power}") == exact(amount, Decimal("1e-9"))


@given(numbers, suffixes)
def test_the_canonical_text_has_the_same_amount_and_is_its_own_canon(number: str, suffix: str) -> None:
    text = canonical(number + suffix)
    assert parse_quantity(text) == parse_quantity(number + suffix)
    assert canonical(text) == text


@given(st.integers(-(2**53), 2**53))
def test_formatting_then_parsing_gives_the_amount_back(amount: int) -> None:
    assert milli(format_milli(amount)) == amount
    assert value(format_value(amount)) == amount
    assert value(format_bytes(amount)) == amount


@given(st.integers(0, 10**12), st.integers(0, 10**12))
def test_a_larger_number_is_never_a_smaller_quantity(one: int, other: int) -> None:
    low, high = sorted((one, other))
    assert milli(f"{low}u") <= milli(f"{high}u")


@given(st.floats(min_value=0, max_value=1e12))
def test_a_number_without_quotes_counts_as_its_text(number: float) -> None:
    assert parse_quantity(number) == parse_quantity(str(number))


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1500m", 1500), ("0.1", 100), ("2", 2000), ("1u", 1), ("1.0001", 1001), ("-1500m", -1500), (3, 3000)],
)
def test_milli_of_known_texts(text: str | int, expected: int) -> None:
    assert milli(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("64Gi", 64 * 2**30), ("1k", 1000), ("1.5Mi", 3 * 2**19), ("1E", 10**18), ("1E2", 100), ("100m", 1)],
)
def test_value_of_known_texts(text: str, expected: int) -> None:
    assert value(text) == expected


@pytest.mark.parametrize(
    "text", ["", ".", "Gi", "1K", "1kI", " 1", "1 ", "1e", "1e+", "--1", "1,5", "0x1", "1Gi1", "١", "1\n"]
)
def test_other_texts_are_refused_with_the_text_in_the_message(text: str) -> None:
    with pytest.raises(QuantityError) as caught:
        parse_quantity(text)
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize("number", [True, float("nan"), float("inf")])
def test_booleans_and_non_numbers_are_refused(number: float) -> None:
    with pytest.raises(QuantityError):
        parse_quantity(number)


def test_amounts_beyond_int64_stop_at_its_largest_value() -> None:
    assert value("9e300") == MAX_VALUE
    assert milli("1Ei") == MAX_VALUE
    assert thousandths("1Ei") == 2**60 * 1000
    assert value("1e999999999999") == MAX_VALUE
    assert parse_quantity("1e-999999999999") == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1000m", "1"),
        ("1500m", "1500m"),
        ("2000", "2k"),
        ("1024Ki", "1Mi"),
        ("1.5Gi", "1536Mi"),
        ("0.5Ki", "512"),
        ("1e3", "1e3"),
        ("1500e-3", "1500e-3"),
        ("0", "0"),
        ("0Gi", "0"),
        ("0.5", "500m"),
    ],
)
def test_canonical_forms_are_those_of_kubernetes(text: str, expected: str) -> None:
    assert canonical(text) == expected


@pytest.mark.parametrize(
    ("amount", "expected"), [(1000, "1k"), (1024, "1Ki"), (1536, "1536"), (0, "0"), (2**40, "1Ti")]
)
def test_bytes_below_1024_are_decimal_and_above_binary(amount: int, expected: str) -> None:
    assert format_bytes(amount) == expected
