"""One page of a server that is not Kubernetes': what a controller asks for with `Fetch`, and what Ray's dashboards are asked for.

Such servers are asked once in a while, so each page has a connection of its own.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import Final

import aiohttp

from vcray.errors import Problem, Unreachable
from vcray.kube.http import CONNECT_TIMEOUT_S, environment_proxy, lenient_tls, short_reason
from vcray.kube.transport import JSON, Response

LARGEST: Final = 100 * 2**20
"""Bytes that an answer may have: Volcano's own limit (pkg/controllers/hypernode/discovery/ufm)."""


async def fetch(
    url: str,
    headers: Mapping[str, str],
    verify: bool,
    timeout_s: float,
    largest: int | None = None,
    follows: bool = True,
) -> Response:
    """GET a page, also where another `follows` whom the server refers to. Raises Unreachable, also for an answer that does not end
    in time or has more than `largest` bytes (`LARGEST`)."""
    timeout = aiohttp.ClientTimeout(total=timeout_s, sock_connect=CONNECT_TIMEOUT_S)
    tls = True if verify else lenient_tls()
    try:
        async with (
            aiohttp.ClientSession(
                timeout=timeout, headers={"User-Agent": "vcray", "Accept": JSON}
            ) as session,
            session.get(
                url,
                headers=dict(headers),
                ssl=tls,
                proxy=environment_proxy(url),
                allow_redirects=follows,
            ) as answer,
        ):
            body = await _body(answer, url, LARGEST if largest is None else largest)
            return Response(
                answer.status, body, {name.lower(): text for name, text in answer.headers.items()}
            )
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
        raise Unreachable(Problem("VC0401", url, _sentence(error, timeout_s))) from error


async def _body(answer: aiohttp.ClientResponse, url: str, largest: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for part in answer.content.iter_any():
        size += len(part)
        if size > largest:
            raise Unreachable(Problem("VC0401", url, f"the answer has more than {largest >> 20} MiB"))
        parts.append(part)
    return b"".join(parts)


def _sentence(error: BaseException, timeout_s: float) -> str:
    match error:
        case aiohttp.ClientConnectorCertificateError():
            return f"the server's certificate is not trusted ({short_reason(error.certificate_error)})"
        case aiohttp.ClientSSLError() | ssl.SSLError():
            return f"the server does not speak TLS as we do ({short_reason(error)})"
        case aiohttp.ClientConnectorError():
            return f"cannot connect ({short_reason(error.os_error)})"
        case TimeoutError():
            return f"no answer within {timeout_s:g} s"
        case aiohttp.InvalidURL():
            return "is not a URL"
        case _:
            return f"the connection failed ({short_reason(error)})"
