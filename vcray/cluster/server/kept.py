"""What a server keeps in its data directory beside the objects: its certificate authority, the key that signs accounts' tokens, and
the administrator's token.

They outlive a restart, so that kubeconfigs and tokens which are out there stay good. A file that is broken is never replaced in silence:
each function raises InputError VC0603, which names it.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TypeVar

from vcray.cluster.server.accounts import key_of, new_signing_key
from vcray.cluster.server.tokens import new_token
from vcray.errors import InputError, Problem
from vcray.files import write_atomically
from vcray.kube.certificates import Certificate, new_authority, valid_until

T = TypeVar("T")

SHORTEST: Final = 16
"""Letters that a token has at least: a shorter one is easily guessed."""


def certificate_authority(folder: Path) -> Certificate:
    """The authority of `ca.crt` and `ca.key`, made where there is neither."""
    public, private = folder / "ca.crt", folder / "ca.key"
    if not public.exists() and not private.exists():
        authority = new_authority()
        _write(public, authority.certificate)
        _write(private, authority.key)
        return authority
    authority = Certificate(_read(public), _read(private))
    ends = _checked(public, lambda: valid_until(authority))
    if ends <= datetime.now(UTC):
        ended = f"ended on {ends:%Y-%m-%d}; remove it and ca.key to have new ones made, and take the new kubeconfig"
        raise _unusable(public, ended)
    _checked(private, lambda: key_of(authority.key))
    return authority


def signing_key(folder: Path) -> bytes:
    """The key of `accounts.key` in PEM, made where there is none."""
    file = folder / "accounts.key"
    if not file.exists():
        _write(file, new_signing_key())
    kept = _read(file)
    _checked(file, lambda: key_of(kept))
    return kept


def administrator_token(folder: Path) -> str:
    """The token of `token`, made where there is none."""
    file = folder / "token"
    if not file.exists():
        _write(file, new_token().encode())
    kept = _checked(file, lambda: _read(file).decode("ascii").strip())
    if len(kept) < SHORTEST or not kept.isprintable() or " " in kept:
        raise _broken(file)
    return kept


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise _unusable(file, f"cannot be read: {error.strerror}; restore a copy of it") from error


def _write(file: Path, content: bytes) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, content)
    except OSError as error:
        raise _unusable(file, f"cannot be written: {error.strerror}") from error


def _checked(file: Path, read: Callable[[], T]) -> T:
    try:
        return read()
    except ValueError as error:
        raise _broken(file) from error


def _broken(file: Path) -> InputError:
    return _unusable(file, "is broken or cut off; restore a copy of it or remove the folder")


def _unusable(file: Path, what: str) -> InputError:
    return InputError(Problem("VC0603", str(file), what))
