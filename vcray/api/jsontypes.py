"""JSON as Python holds it, and nothing else: what a command that asks a server needs of the API's types.

`vcray.api.meta` gives the same names to modules with models; its library takes more than a tenth of a second to load, which a command
on a terminal does without.
"""

from __future__ import annotations

from typing import TypeAlias

JsonValue: TypeAlias = dict[str, "JsonValue"] | list["JsonValue"] | str | bool | int | float | None
"""Anything that JSON can say."""

JsonObject: TypeAlias = dict[str, JsonValue]
"""A JSON object as decoded: the raw form of any Kubernetes object."""
