"""The transport over HTTP: one aiohttp session, renewed credentials, one clear sentence for each way to fail."""

from __future__ import annotations

import asyncio
import io
import os
import ssl
from collections.abc import AsyncGenerator, Mapping
from typing import Protocol
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp

from vcray.errors import Problem, Unreachable, VcrayError
from vcray.kube.errors import error_of
from vcray.kube.transport import JSON, Query, Response

REQUEST_TIMEOUT_S = 60.0
CONNECT_TIMEOUT_S = 10.0
STREAM_SLACK_S = 30.0
"""How long a watch may stay silent beyond its own timeout before it counts as broken."""

_READ_BUFFER = 2**21
_CONNECTIONS = 64
"""For requests. Each watch has a connection of its own beside these: it would keep one from them for as long as it lasts."""

_LARGE = 2**20


class Credentials(Protocol):
    """Who we are to the server."""

    async def authorization(self) -> str | None:
        """The present value of the Authorization header; None when a certificate says it all."""

    async def renew(self) -> None:
        """Fetch new credentials, because the server refused the present ones."""


class NoCredentials:
    """Anonymous, or known by the client certificate alone."""

    async def authorization(self) -> str | None:
        return None

    async def renew(self) -> None:
        return None


class StaticToken:
    """A bearer token that never changes."""

    def __init__(self, token: str) -> None:
        self._header = f"Bearer {token}"

    async def authorization(self) -> str | None:
        return self._header

    async def renew(self) -> None:
        return None


class HttpTransport:
    """A `Transport` to the server at `url`. `tls` None means the machine's trusted authorities."""

    def __init__(
        self,
        url: str,
        credentials: Credentials | None = None,
        tls: ssl.SSLContext | None = None,
        proxy: str | None = None,
        server_hostname: str | None = None,
    ) -> None:
        self._url = url.rstrip("/")
        self._credentials = credentials or NoCredentials()
        self._tls = tls
        self._proxy = proxy or environment_proxy(self._url)
        self._server_hostname = server_hostname
        self._sessions: dict[int, aiohttp.ClientSession] = {}  # by the limit of connections, 0 for none
        self._renewing = asyncio.Lock()

    @property
    def address(self) -> str:
        """The server's URL."""
        return self._url

    async def request(
        self,
        method: str,
        path: str,
        query: Query | None = None,
        body: bytes | None = None,
        content_type: str = JSON,
    ) -> Response:
        """Send one request; after a 401 once more with renewed credentials. Raises Unreachable."""
        timeout = aiohttp.ClientTimeout(total=REQUEST_TIMEOUT_S, sock_connect=CONNECT_TIMEOUT_S)
        headers = {"Content-Type": content_type} if body is not None else {}
        used = await self._authorization()
        response = await self._send(method, path, query, body, _with(headers, used), timeout)
        if response.status == 401 and await self._renewed(used):
            fresh = await self._authorization()
            response = await self._send(method, path, query, body, _with(headers, fresh), timeout)
        return response

    async def _send(
        self,
        method: str,
        path: str,
        query: Query | None,
        body: bytes | None,
        headers: Mapping[str, str],
        timeout: aiohttp.ClientTimeout,
    ) -> Response:
        try:
            async with self._open(_CONNECTIONS).request(
                method,
                self._url + path,
                params=dict(query or {}),
                data=_payload(body),
                headers=dict(headers),
                timeout=timeout,
                proxy=self._proxy,
                server_hostname=self._server_hostname,
            ) as answer:
                return Response(answer.status, await answer.read(), _lower(answer.headers))
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise unreachable(self._url, error) from error

    async def stream(self, path: str, query: Query | None = None) -> AsyncGenerator[bytes, None]:
        """The lines of a watch. Raises on its first step if the server refuses or is not there."""
        asked = dict(query or {})
        silence = float(asked["timeoutSeconds"]) + STREAM_SLACK_S if asked.get("timeoutSeconds") else None
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_S, sock_read=silence)
        used = await self._authorization()
        try:
            async with self._open(0).get(
                self._url + path,
                params=asked,
                headers=_with({}, used),
                timeout=timeout,
                proxy=self._proxy,
                server_hostname=self._server_hostname,
            ) as answer:
                if answer.status != 200:
                    refused = Response(answer.status, await answer.read(), _lower(answer.headers))
                    if refused.status == 401:
                        await self._renewed(used)
                    raise error_of("GET", path, self._url, refused)
                async for line in _lines(answer.content):
                    yield line
        except VcrayError:
            raise
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise unreachable(self._url, error) from error

    async def close(self) -> None:
        """Close all connections."""
        sessions, self._sessions = self._sessions, {}
        for session in sessions.values():
            await session.close()

    def _open(self, limit: int) -> aiohttp.ClientSession:
        session = self._sessions.get(limit)
        if session is None:
            connector = aiohttp.TCPConnector(limit=limit, ssl=self._tls if self._tls is not None else True)
            session = self._sessions[limit] = aiohttp.ClientSession(
                connector=connector,
                read_bufsize=_READ_BUFFER,
                headers={"User-Agent": "vcray", "Accept": JSON},
            )
        return session

    async def _authorization(self) -> str | None:
        return await self._credentials.authorization()

    async def _renewed(self, used: str | None) -> bool:
        """Renew once for all requests that failed with the same header; True if there is another one now."""
        async with self._renewing:
            if await self._credentials.authorization() == used:
                await self._credentials.renew()
            return await self._credentials.authorization() != used


def lenient_tls() -> ssl.SSLContext:
    """TLS with whoever answers, whatever its certificate."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def environment_proxy(url: str) -> str | None:
    """The proxy that HTTPS_PROXY, HTTP_PROXY and NO_PROXY name for a server; none for one on this machine, as in Go.

    Read once: aiohttp's own reading starts a thread for each request."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if host in ("localhost", "::1") or host.startswith("127.") or proxy_bypass(parts.netloc):
        return None
    return getproxies().get(parts.scheme)


def _payload(body: bytes | None) -> bytes | io.BytesIO | None:
    """Large bodies go out piece by piece, so that other requests are not kept waiting."""
    return io.BytesIO(body) if body is not None and len(body) >= _LARGE else body


def _with(headers: Mapping[str, str], authorization: str | None) -> dict[str, str]:
    return {**headers, "Authorization": authorization} if authorization else dict(headers)


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    """Header names in lower case; what is sent several times is joined by commas."""
    found: dict[str, str] = {}
    for name, value in headers.items():
        key = name.lower()
        found[key] = f"{found[key]}, {value}" if key in found else value
    return found


async def _lines(content: aiohttp.StreamReader) -> AsyncGenerator[bytes, None]:
    """Whole lines, however the network cut them."""
    started: list[bytes] = []
    async for chunk in content.iter_any():
        *whole, rest = chunk.split(b"\n")
        for line in whole:
            complete = b"".join((*started, line)) if started else line
            started.clear()
            if complete:
                yield complete
        if rest:
            started.append(rest)


def unreachable(address: str, error: BaseException) -> Unreachable:
    """One sentence for a failed connection."""
    match error:
        case aiohttp.ClientConnectorCertificateError():
            what = f"the API server's certificate is not trusted ({short_reason(error.certificate_error)}); check the certificate authority in the kubeconfig"
        case aiohttp.ClientConnectorDNSError():
            what = "the name of the API server cannot be resolved; check the server in the kubeconfig"
        case aiohttp.ClientSSLError() | ssl.SSLError():
            what = f"the API server does not speak TLS as we do ({short_reason(error)}); check the server's scheme and port in the kubeconfig"
        case aiohttp.ClientConnectorError():
            what = f"cannot connect to the API server ({short_reason(error.os_error)}); check that it runs and that the kubeconfig names the right address"
        case TimeoutError():
            what = "the API server did not answer in time"
        case aiohttp.ServerDisconnectedError() | aiohttp.ClientPayloadError() | ConnectionError():
            what = "the API server closed the connection"
        case aiohttp.InvalidURL():
            what = "the address of the API server is not a URL; check the server in the kubeconfig"
        case _:
            what = f"the connection to the API server failed ({short_reason(error)})"
    return Unreachable(Problem("VC0401", address, what))


def short_reason(error: BaseException) -> str:
    """What went wrong, in as few words as there are."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return error.verify_message
    if isinstance(error, OSError) and error.errno and error.errno > 0:
        return os.strerror(error.errno)  # asyncio puts a sentence of its own in strerror
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__
