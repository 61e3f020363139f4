"""Kubernetes' texts for wrong names and fields; a real server's answers were compared once."""

from __future__ import annotations

import pytest

from vcray.api import formats

NAME_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)


@pytest.mark.parametrize("name", ["a", "my-name", "a" * 63, "0a"])
def test_good_labels_pass(name: str) -> None:
    assert formats.dns_label(name) == []


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("a.b", ["must not contain dots"]),
        ("a" * 64, ["must be no more than 63 characters"]),
        (
            "Bad",
            [
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start "
                "and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
                "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
            ],
        ),
    ],
)
def test_wrong_labels_are_told(name: str, wrong: list[str]) -> None:
    assert formats.dns_label(name) == wrong


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("", ["name part must be non-empty", f"name part {NAME_RULE}"]),
        ("-a", [f"name part {NAME_RULE}"]),
        ("/a", ["prefix part must be non-empty"]),
        (
            "a/b/c",
            [
                f"a valid label key {NAME_RULE} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            ],
        ),
        ("a" * 64, ["name part must be no more than 63 bytes"]),
    ],
)
def test_wrong_keys_are_told(name: str, wrong: list[str]) -> None:
    assert formats.qualified_name(name) == wrong


def test_length_is_told_in_the_unit_of_each_check() -> None:
    long = "a" * 254

    assert formats.dns_subdomain(long) == ["must be no more than 253 characters"]
    assert formats.qualified_name(f"{long}/b") == ["prefix part must be no more than 253 bytes"]


def test_label_values_may_be_empty() -> None:
    assert formats.label_value("") == []
    assert len(formats.label_value("-")) == 1
    assert formats.label_value("v" * 64) == ["must be no more than 63 bytes"]


def test_field_errors_read_as_kubernetes_writes_them() -> None:
    assert formats.required("a.b") == "a.b: Required value"
    assert formats.invalid("a", 3, "too much") == "a: Invalid value: 3: too much"
    assert formats.duplicate("a", "x") == 'a: Duplicate value: "x"'
    assert formats.unknown("a", "x") == 'a: Not found: "x"'
    assert (
        formats.unsupported("a", "x", ("B", "C")) == 'a: Unsupported value: "x": supported values: "B", "C"'
    )
    assert formats.forbidden("a", "no") == "a: Forbidden: no"


def test_several_errors_are_bracketed_each_once() -> None:
    assert formats.aggregate([]) == ""
    assert formats.aggregate(["a", "a"]) == "a"
    assert formats.aggregate(["a", "b", "a"]) == "[a, b]"
