"""Amounts of resources in flags."""

from __future__ import annotations


def amount(flag: str, given: str) -> str:
    """The quantity as Kubernetes writes it. InputError VC0502 when it is none, or below 0."""
    from vcray.api.quantity import QuantityError, canonical, parse_quantity
    from vcray.errors import InputError, Problem

    try:
        if parse_quantity(given) >= 0:
            return canonical(given)
    except QuantityError:
        pass
    raise InputError(Problem("VC0502", flag, f"must be an amount such as 8 or 16Gi, got {given!r}"))
