"""Endings of generated names, of the letters that Kubernetes makes them of: nobody reads a word into them."""

from __future__ import annotations

import hashlib
from typing import Final

LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"


def of_content(content: bytes, length: int) -> str:
    """The ending that this content has each time: up to 32 letters of its SHA-256."""
    return "".join(LETTERS[byte % len(LETTERS)] for byte in hashlib.sha256(content).digest()[:length])


def of_number(number: int, length: int) -> str:
    """The ending for a number from 0 on, the lowest place first; the places above `length` count nothing."""
    letters = ""
    for _ in range(length):
        number, place = divmod(number, len(LETTERS))
        letters += LETTERS[place]
    return letters
