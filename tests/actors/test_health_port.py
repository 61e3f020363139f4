"""The port of /healthz over TLS: a certificate of the server's, and of clients who show one."""

from __future__ import annotations

import ssl
from pathlib import Path

import aiohttp
import pytest

from vcray.actors.metrics_server import MetricsServer, tls_context
from vcray.errors import ConfigError
from vcray.kube.certificates import new_authority, serving_certificate


async def asked(port: int, context: ssl.SSLContext) -> str:
    url = f"https://127.0.0.1:{port}/healthz"
    async with aiohttp.ClientSession() as session, session.get(url, ssl=context) as answer:
        return await answer.text()


async def test_health_is_served_over_tls_and_strangers_are_turned_away(tmp_path: Path) -> None:
    authority, stranger = new_authority(), new_authority()
    serving_certificate(authority, ("127.0.0.1",)).write(tmp_path, "serving")
    serving_certificate(stranger, ("me",)).write(tmp_path, "stranger")
    (tmp_path / "ca.crt").write_bytes(authority.certificate)
    server = MetricsServer(None, lambda: None, lambda: "")
    files = tmp_path / "serving.crt", tmp_path / "serving.key", tmp_path / "ca.crt"
    await server.start("127.0.0.1", 0, tls_context(*files))
    plain = ssl.create_default_context(cadata=authority.certificate.decode())
    strange = ssl.create_default_context(cadata=authority.certificate.decode())
    strange.load_cert_chain(tmp_path / "stranger.crt", tmp_path / "stranger.key")

    told = await asked(server.port, plain)
    with pytest.raises((aiohttp.ClientError, ssl.SSLError)):
        await asked(server.port, strange)
    await server.stop()

    assert told == "ok"


def test_files_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_bytes(new_authority().certificate)
    none = tmp_path / "none"

    with pytest.raises(ConfigError, match=r"VC0502 --health-ca-file: .*none cannot be used: No such file"):
        tls_context(none, none, none)
    with pytest.raises(ConfigError, match=r"VC0502 --health-cert-file: .*none with .*No such file"):
        tls_context(none, none, tmp_path / "ca.crt")
