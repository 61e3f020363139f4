"""The serving certificate of the admission actor: made by itself and renewed in time, or read from files as they change.

A renewal never breaks a call: the new authority is trusted beside the old one before its certificate is shown.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from vcray.errors import ConfigError, Problem
from vcray.kube.certificates import (
    LIFETIME,
    Certificate,
    new_authority,
    present,
    server_context,
    serving_certificate,
)

RENEW_AFTER = 2 / 3
"""The part of a certificate's life after which a new one is made."""


@dataclass(frozen=True, slots=True)
class Files:
    """A certificate kept by somebody else: `certificate` and `key` in PEM; `authority` vouches for it, or itself."""

    certificate: Path
    key: Path
    authority: Path | None = None

    def read(self) -> tuple[Certificate, bytes]:
        """The pair and the bundle. ConfigError VC0502 names the file that cannot be read."""
        pair = Certificate(
            _read(self.certificate, "--admission-cert-file"), _read(self.key, "--admission-key-file")
        )
        if self.authority is None:
            return pair, pair.certificate
        return pair, _read(self.authority, "--admission-ca-file")


@dataclass(slots=True)
class Credentials:
    """What the server shows (`context`) and what an API server is to trust (`bundle`).

    `hosts` are the names and addresses that the server is reached by. After `renew` has returned True, register the new
    bundle, then call `show`."""

    hosts: tuple[str, ...]
    files: Files | None = None
    lifetime: timedelta = LIFETIME
    bundle: bytes = b""
    _pair: Certificate | None = None
    _shown: Certificate | None = None
    _authority: Certificate | None = None
    _made_at: float = 0.0
    _context: ssl.SSLContext | None = field(default=None, repr=False)

    def context(self, now: float) -> ssl.SSLContext:
        """For the server; made at the first call. ConfigError when given files cannot be used."""
        if self._context is None:
            self.renew(now)
            assert self._pair is not None
            self._context = server_context(self._pair)
            self._shown = self._pair
        return self._context

    def renew(self, now: float) -> bool:
        """Make or read a newer certificate if it is time; True while there is one that is not shown yet.

        ConfigError for files that cannot be used, such as a pair of which only one half is new yet; what was read last stays."""
        if self.files is not None:
            pair, bundle = self.files.read()
            if pair != self._pair:
                _check(pair, self.files.certificate)
            self._pair, self.bundle = pair, bundle
        elif self._pair is None or now >= self._made_at + RENEW_AFTER * self.lifetime.total_seconds():
            self._make(now)
        return self._pair != self._shown

    def _make(self, now: float) -> None:
        authority = new_authority("vcray-admission", self.lifetime)
        former = self._authority.certificate if self._authority is not None else b""
        self.bundle = authority.certificate + former
        self._pair = serving_certificate(authority, self.hosts, self.lifetime)
        self._authority, self._made_at = authority, now

    def show(self) -> None:
        """Present the newest certificate from the next connection on."""
        if self._context is not None and self._pair is not None:
            present(self._context, self._pair)
            self._shown = self._pair


def _check(pair: Certificate, path: Path) -> None:
    """ConfigError VC0502 unless the key is the certificate's."""
    try:
        server_context(pair)
    except (ssl.SSLError, ValueError) as error:
        raise ConfigError(Problem("VC0502", str(path), f"no certificate with its key: {error}")) from error


def _read(path: Path, flag: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(Problem("VC0502", flag, f"cannot read {path}: {error.strerror}")) from error
