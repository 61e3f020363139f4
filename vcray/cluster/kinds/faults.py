"""What may be wrong with a request's body before its rules are looked at, in the words of Go's decoder."""

from __future__ import annotations

from typing import TypeAlias

from vcray.api.meta import JsonValue

Where: TypeAlias = "tuple[Where, str | int] | None"
"""A place in an object: the place of its parent and the step from there; None is the object itself."""


class DecodeError(ValueError):
    """A value that the type of its field cannot hold; the text is that of the server's decoder."""


def spoken(where: Where) -> str:
    """The place as unknown fields are told: `spec.containers[0].image`."""
    steps: list[str] = []
    while where is not None:
        where, step = where
        if isinstance(step, int):
            steps.append(f"[{step}]")
        else:
            steps.append(f".{step}")
    return "".join(reversed(steps)).removeprefix(".")


def spoken_fields(where: Where) -> str:
    """The place without the indices of lists, as type errors tell it: `spec.containers.image`."""
    steps: list[str] = []
    while where is not None:
        where, step = where
        if isinstance(step, str):
            steps.append(step)
    return ".".join(reversed(steps))


class Faults:
    """The unknown fields of one object, in the order in which they were met."""

    __slots__ = ("unknown",)

    def __init__(self) -> None:
        self.unknown: list[str] = []

    def add(self, where: Where, name: str) -> None:
        """Note a field that the type does not have."""
        self.unknown.append(spoken((where, name)))


def kind_of(value: JsonValue, shows_number: bool = False) -> str:
    """What Go's messages call a JSON value."""
    match value:
        case bool():
            return "bool"
        case int() | float():
            return f"number {value}" if shows_number else "number"
        case str():
            return "string"
        case list():
            return "array"
        case dict():
            return "object"
    return "null"


def cannot_hold(value: JsonValue, struct: str, where: Where, go_type: str) -> DecodeError:
    """The error for a value of the wrong JSON type in a field of `struct`."""
    shows_number = go_type.startswith(("int", "uint")) and isinstance(value, int | float)
    told = kind_of(value, shows_number)
    return DecodeError(
        f"json: cannot unmarshal {told} into Go struct field {struct}.{spoken_fields(where)} of type {go_type}"
    )
