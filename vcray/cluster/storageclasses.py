"""Storage classes: which one an object names, and which one is the default."""

from __future__ import annotations

from collections.abc import Iterable

from vcray.api.jsonview import dig, dig_str
from vcray.api.meta import JsonObject
from vcray.api.names import BETA_STORAGE_CLASS

DEFAULT_MARKS = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
"""Annotations of a default class."""


def class_of(obj: JsonObject) -> str:
    """The class that a claim or a volume names, by its old annotation or its spec; empty for none."""
    if names_by_annotation(obj):
        return dig_str(obj, "metadata", "annotations", BETA_STORAGE_CLASS)
    return dig_str(obj, "spec", "storageClassName")


def leaves_open(claim: JsonObject) -> bool:
    """Whether a claim says nothing of its class, so that it gets the default one. An empty name says: none."""
    return dig(claim, "spec", "storageClassName") is None and not names_by_annotation(claim)


def names_by_annotation(obj: JsonObject) -> bool:
    """Whether the old annotation is there."""
    return dig(obj, "metadata", "annotations", BETA_STORAGE_CLASS) is not None


def is_default(storage_class: JsonObject) -> bool:
    """Whether a class is marked as default."""
    return any(dig_str(storage_class, "metadata", "annotations", mark) == "true" for mark in DEFAULT_MARKS)


def default_class(classes: Iterable[JsonObject]) -> str:
    """The newest class marked as default, of several of one age the first by name; empty without one."""
    found = [
        (dig_str(each, "metadata", "creationTimestamp"), dig_str(each, "metadata", "name"))
        for each in classes
        if is_default(each)
    ]
    newest = max((created for created, _ in found), default="")
    return min((name for created, name in found if created == newest), default="")
