"""Servers of a network on loopback: NVIDIA's UFM and NetQ, as far as they are asked for topology."""

from __future__ import annotations

import asyncio
import datetime
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import encode_basic_auth, web
from aiohttp.test_utils import TestServer
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from vcray.api.meta import JsonValue


class FabricServer:
    """Answers `ports` and `neighbours` to those who know the user, the password and the token.

    `body` is sent in place of either; `stalled` lets every question wait until the server goes."""

    def __init__(self) -> None:
        self.ports: JsonValue = []
        self.neighbours: JsonValue = []
        self.body: bytes | None = None
        self.stalled = False
        self.asked: list[str] = []
        self._going = asyncio.Event()
        app = web.Application()
        app.router.add_get("/ufmRest/resources/ports", self._ufm)
        app.router.add_get("/netq/telemetry/v1/object/lldp", self._netq)
        self.server = TestServer(app)

    @property
    def address(self) -> str:
        return f"{self.server.scheme}://{self.server.host}:{self.server.port}"

    def go(self) -> None:
        self._going.set()

    async def _ufm(self, request: web.Request) -> web.Response:
        return await self._answer(request, encode_basic_auth("admin", "secret"), self.ports)

    async def _netq(self, request: web.Request) -> web.Response:
        return await self._answer(request, "Bearer t0ken", self.neighbours)

    async def _answer(self, request: web.Request, wanted: str, page: JsonValue) -> web.Response:
        self.asked.append(request.path)
        if self.stalled:
            await self._going.wait()
        if request.headers.get("Authorization") != wanted:
            return web.json_response({"error": "who are you"}, status=401)
        return web.json_response(page) if self.body is None else web.Response(body=self.body)


@asynccontextmanager
async def fabric_server(tls: ssl.SSLContext | None = None) -> AsyncIterator[FabricServer]:
    """A server, over TLS with a context."""
    made = FabricServer()
    await made.server.start_server(ssl=tls)
    try:
        yield made
    finally:
        made.go()
        await made.server.close()


def own_certificate(folder: Path) -> ssl.SSLContext:
    """TLS with a certificate that nobody vouches for."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "fabric")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .sign(key, hashes.SHA256())
    )
    file = folder / "fabric.pem"
    file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(file)
    return context
