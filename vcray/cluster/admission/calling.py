"""One POST to a webhook over HTTPS, and its failures in the words of a Kubernetes API server.

The server speaks Go's names of errors (`dial tcp …: connect: connection refused`, `x509: …`); clients and tests compare
them, so ours are the same where the cause is the same.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import errno
import ssl
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urlsplit

import aiohttp
import msgspec

from vcray.api.jsonview import dig_int, dig_object, dig_objects, dig_str
from vcray.api.meta import JsonObject
from vcray.api.resources import SERVICES
from vcray.cluster.objects.catalog import Catalog
from vcray.cluster.objects.storage import Storage
from vcray.kube.errors import ResourceMissing

_MAX_ANSWER = 16 * 1024 * 1024


class CallError(Exception):
    """The webhook could not be asked or did not answer; the text is what follows `failed to call webhook: `."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a webhook listens: the address as written, where to connect, the host that its certificate must name."""

    url: str
    connect_url: str
    server_name: str


class Caller:
    """Calls webhooks over one pool of connections; `close` ends it. Belongs to one event loop."""

    def __init__(self, storage: Storage, catalog: Catalog) -> None:
        self._storage = storage
        self._catalog = catalog
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        """Close all connections."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def post(self, config: JsonObject, body: JsonObject, timeout_seconds: int) -> JsonObject:
        """The decoded answer to `body`. `config` is a WebhookClientConfig. Raises CallError."""
        shown, target = _shown_url(config, timeout_seconds), f"?timeout={timeout_seconds}s"
        try:
            endpoint = self._endpoint(config)
            context = _tls(dig_str(config, "caBundle"))
            return await self._exchange(
                endpoint, endpoint.connect_url + target, context, body, timeout_seconds
            )
        except aiohttp.ClientConnectorCertificateError as error:
            raise CallError(f'Post "{shown}": {_certificate_words(error.certificate_error)}') from error
        except aiohttp.ClientConnectorError as error:
            raise CallError(f'Post "{shown}": {_connect_words(error)}') from error
        except TimeoutError as error:
            raise CallError(f'Post "{shown}": context deadline exceeded') from error
        except aiohttp.ServerDisconnectedError as error:
            raise CallError(f'Post "{shown}": EOF') from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise CallError(f'Post "{shown}": {error}') from error

    async def _exchange(
        self, endpoint: Endpoint, url: str, context: ssl.SSLContext, body: JsonObject, seconds: int
    ) -> JsonObject:
        if self._session is None:
            self._session = aiohttp.ClientSession()
        headers = {"Content-Type": "application/json", "Accept": "application/json, */*"}
        headers["Host"] = urlsplit(endpoint.url).netloc
        async with self._session.post(
            url,
            data=msgspec.json.encode(body),
            headers=headers,
            ssl=context,
            server_hostname=endpoint.server_name,
            timeout=aiohttp.ClientTimeout(total=seconds),
            allow_redirects=False,
        ) as answer:
            return _decoded(
                answer.status, await answer.content.read(_MAX_ANSWER), answer.headers.get("Retry-After")
            )

    def _endpoint(self, config: JsonObject) -> Endpoint:
        url = dig_str(config, "url")
        if url:
            return Endpoint(url, url, urlsplit(url).hostname or "")
        service = dig_object(config, "service")
        namespace, name = dig_str(service, "namespace"), dig_str(service, "name")
        port = dig_int(service, "port", default=443)
        host = f"{name}.{namespace}.svc"
        address = self._resolve(namespace, name, port)
        path = dig_str(service, "path")
        return Endpoint(f"https://{host}:{port}{path}", f"https://{address}{path}", host)

    def _resolve(self, namespace: str, name: str, port: int) -> str:
        """An address behind a Service: of its EndpointSlices or Endpoints, else its own. ValueError if there is none."""
        record = self._storage.get(SERVICES, namespace, name)
        if record is None:
            raise ValueError(f'service "{name}" not found')
        service = record.decode()
        wanted = next((p for p in dig_objects(service, "spec", "ports") if p.get("port") == port), None)
        if wanted is None:
            raise ValueError(f'no service port {port} found for service "{name}"')
        if dig_str(service, "spec", "type") == "ExternalName":
            return f"{dig_str(service, 'spec', 'externalName')}:{port}"
        found = self._slice_address(namespace, name, dig_str(wanted, "name"))
        if not found:
            raise ValueError(f'no endpoints available for service "{name}"')
        return found

    def _slice_address(self, namespace: str, name: str, port_name: str) -> str:
        for group, plural in (("discovery.k8s.io", "endpointslices"), ("", "endpoints")):
            try:
                resource = self._catalog.at(group, "v1", plural).resource
            except ResourceMissing:
                continue
            for record in self._storage.scan(resource, namespace):
                mine = record.labels.get("kubernetes.io/service-name") if group else record.name
                found = _first_address(record.decode(), port_name) if mine == name else ""
                if found:
                    return found
        return ""


def _first_address(obj: JsonObject, port_name: str) -> str:
    """The first ready address of an EndpointSlice or Endpoints object, with its port."""
    for part in dig_objects(obj, "subsets") or [obj]:
        ports = [p for p in dig_objects(part, "ports") if dig_str(p, "name") == port_name]
        if not ports:
            continue
        for item in dig_objects(part, "endpoints"):
            addresses = item.get("addresses")
            if (
                dig_object(item, "conditions").get("ready") is not False
                and isinstance(addresses, list)
                and addresses
            ):
                return f"{addresses[0]}:{dig_int(ports[0], 'port')}"
        for item in dig_objects(part, "addresses"):
            return f"{dig_str(item, 'ip')}:{dig_int(ports[0], 'port')}"
    return ""


def _shown_url(config: JsonObject, seconds: int) -> str:
    url = dig_str(config, "url")
    if not url:
        service = dig_object(config, "service")
        host = f"{dig_str(service, 'name')}.{dig_str(service, 'namespace')}.svc"
        url = f"https://{host}:{dig_int(service, 'port', default=443)}{dig_str(service, 'path')}"
    return f"{url}?timeout={seconds}s"


@lru_cache(maxsize=64)
def _tls(bundle: str) -> ssl.SSLContext:
    """What a webhook's certificate is checked against: its own bundle (base64 PEM), or the system's authorities."""
    if not bundle:
        return ssl.create_default_context()
    try:
        pem = base64.b64decode(bundle, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise ValueError("unable to load root certificates: unable to parse bytes as PEM block") from error
    try:
        return ssl.create_default_context(cadata=pem)
    except ssl.SSLError as error:
        raise ValueError("unable to load root certificates: unable to parse bytes as PEM block") from error


def _certificate_words(error: Exception) -> str:
    said = str(error)
    if "expired" in said:
        return "tls: failed to verify certificate: x509: certificate has expired or is not yet valid"
    if "mismatch" in said or "not valid for" in said:
        return f"tls: failed to verify certificate: x509: {said.partition('verify failed: ')[2] or said}"
    return "tls: failed to verify certificate: x509: certificate signed by unknown authority"


def _connect_words(error: aiohttp.ClientConnectorError) -> str:
    number = error.os_error.errno
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return f"dial tcp: lookup {error.host}: no such host"
    where = f"dial tcp {error.host}:{error.port}"
    if number == errno.ECONNREFUSED or isinstance(error.os_error, ConnectionRefusedError):
        return f"{where}: connect: connection refused"
    if number == errno.ENETUNREACH:
        return f"{where}: connect: network is unreachable"
    return f"{where}: {error.os_error.strerror or error.os_error}"


def _decoded(status: int, body: bytes, retry_after: str | None) -> JsonObject:
    """The AdmissionReview of a 200; anything else is told as the client library of the server tells it."""
    if status != 200:
        said = body.decode(errors="replace").strip()
        if status == 404:
            raise CallError("the server could not find the requested resource")
        if status >= 500 and status not in (503, 504):
            raise CallError(f'an error on the server ("{said}") has prevented the request from succeeding')
        if status == 503:
            raise CallError("the server is currently unable to handle the request")
        raise CallError(
            f"the server rejected our request for an unknown reason ({said})" if said else f"{status}"
        )
    try:
        decoded: JsonObject = msgspec.json.decode(body, type=dict)
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise CallError(f"couldn't get version/kind; json parse error: {error}") from error
    return decoded


def wait_limit(hook: JsonObject) -> int:
    """The seconds that a webhook may take."""
    return dig_int(hook, "timeoutSeconds", default=10)


async def gathered(calls: list[asyncio.Task[None]]) -> list[BaseException]:
    """Wait for calls that run side by side; their failures, in the order of the calls."""
    done = await asyncio.gather(*calls, return_exceptions=True)
    return [item for item in done if isinstance(item, BaseException)]
