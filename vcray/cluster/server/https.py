"""The embedded API server on a socket: HTTP/1.1 over TLS, bearer tokens, watches as chunked streams.

It stands on aiohttp's low-level server, since paths are ours to read anyway. What a request means is `rest`'s business, what
a watch sends `streams`'; here are connections, identities and bytes.
"""

from __future__ import annotations

import asyncio
import base64
import json
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from aiohttp import web

from vcray.api.meta import JsonObject
from vcray.clock import Clock
from vcray.cluster.admission.gates import install
from vcray.cluster.admission.quotastatus import QuotaStatus
from vcray.cluster.admission.webhooks import Remarks, Webhooks
from vcray.cluster.objects.review import Review, User
from vcray.cluster.objects.store import Store
from vcray.cluster.objects.watching import Delivery
from vcray.cluster.server.answers import refusal
from vcray.cluster.server.api import Api
from vcray.cluster.server.attributes import Attributes
from vcray.cluster.server.bootstrap import bootstrap
from vcray.cluster.server.fairness import Fairness
from vcray.cluster.server.inprocess import MAX_BODY, InProcessTransport
from vcray.cluster.server.kept import certificate_authority, signing_key
from vcray.cluster.server.requests import Request
from vcray.cluster.server.subresources import LogReader
from vcray.cluster.server.tokens import ADMIN, ANONYMOUS, impersonated, new_token
from vcray.kube.certificates import Certificate, new_authority, server_context, serving_certificate
from vcray.kube.errors import ApiError, TooLarge
from vcray.kube.transport import Response

UNAUTHORIZED = ApiError("Unauthorized", code=401, reason="Unauthorized")
_KEEP_ALIVE_S = 600.0
_LONGEST_LINE = 1 << 20  # a label selector may be long
_GRACE_S = 1.0
_BOOKMARK_EVERY_S = 60.0
_RECOUNT_S = 0.02  # what goes away together is recounted together
_COMPRESSED_FROM = 128 * 1024


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """What one embedded server is told.

    `port` 0 means any free one. `tokens` names the users by their bearer tokens; without any, one admin token is made.
    `folder` keeps the certificates over restarts and is where a kubeconfig may be written; None keeps nothing.
    `store` is what is served; None means a new empty one with `clock`. `read_log` answers for pods' logs.
    `service_accounts` gives each pod an account and its token, as a real server does by default.
    """

    port: int = 0
    host: str = "127.0.0.1"
    tokens: Mapping[str, User] = field(default_factory=dict)
    folder: Path | None = None
    store: Store | None = None
    read_log: LogReader | None = None
    clock: Clock | None = None
    service_accounts: bool = False


async def serve(options: ServerOptions | None = None) -> EmbeddedServer:
    """A server that answers. OSError if its port is taken."""
    server = EmbeddedServer(options or ServerOptions())
    await server.start()
    return server


class EmbeddedServer:
    """One API server in this process: `start`, then `url`, `ca`, `kubeconfig()`, `transport`; `stop` ends it."""

    def __init__(self, options: ServerOptions) -> None:
        self._options = options
        self.store = options.store or Store(options.clock)
        users = dict(options.tokens) or {new_token(): ADMIN}
        self.admin_token = next(iter(users))
        self._delivery = Delivery(self.store.storage)
        self._webhooks = Webhooks(self.store.storage, self.store.catalog)
        self._fairness = Fairness(self.store)
        key = signing_key(options.folder) if options.folder else b""
        self.api = Api(
            self.store, users=users, signing_key=key, reviewer=self._review, read_log=options.read_log
        )
        self.transport = InProcessTransport(self.store, api=self.api)
        authority, serving = _certificates(options)
        self.ca = authority.certificate
        self._tls = server_context(serving)
        self._server: web.Server | None = None
        self._listener: asyncio.Server | None = None
        self._marking: asyncio.Task[None] | None = None
        self._port = 0
        self._quotas: QuotaStatus | None = None

    # -- life -------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Listen. OSError if the port is taken."""
        loop = asyncio.get_running_loop()
        if self.store.removal.collector is not None:
            self.store.removal.collector.defer(loop.call_soon)
        self._server = web.Server(
            self._handle,
            request_factory=None,
            handler_cancellation=True,
            keepalive_timeout=_KEEP_ALIVE_S,
            max_line_size=_LONGEST_LINE,
            max_field_size=_LONGEST_LINE,
            access_log=None,
            auto_decompress=True,
        )
        self._listener = await loop.create_server(
            self._server, self._options.host, self._options.port, ssl=self._tls, backlog=1024
        )
        self._port = self._listener.sockets[0].getsockname()[1]
        self._marking = asyncio.create_task(self._mark(), name="bookmarks of watches")
        bootstrap(self.store, self._port)
        self.api.address = f"{self._options.host}:{self._port}"
        self._quotas = install(
            self.store,
            partial(loop.call_later, _RECOUNT_S),
            service_accounts=self._options.service_accounts,
        )

    async def stop(self) -> None:
        """End all watches in order, let running requests finish shortly, close every connection. Safe to call twice."""
        self.api.ready = False
        if self._marking is not None:
            self._marking.cancel()
        self._delivery.shut()
        await self.transport.close()
        if self._listener is not None:
            self._listener.close()
        if self._server is not None:
            self._server.pre_shutdown()
            await self._server.shutdown(_GRACE_S)
        if self._listener is not None:
            await self._listener.wait_closed()
        self._server = self._listener = None
        if self.store.removal.collector is not None:
            self.store.removal.collector.defer(None)
        self._fairness.close()
        await self._webhooks.close()
        if self._quotas is not None:
            self._quotas.close()

    async def _mark(self) -> None:
        """Tell watchers about once a minute how far they have come, so that they can resume from there."""
        while True:
            await asyncio.sleep(_BOOKMARK_EVERY_S)
            self._delivery.bookmark_all()

    async def _review(self, review: Review) -> JsonObject | None:
        if not self._webhooks.concern(review):
            return None
        return await self._webhooks.ask(review, Remarks(review.warnings))

    @property
    def url(self) -> str:
        """Where clients reach it."""
        return f"https://{self._options.host}:{self._port}"

    def kubeconfig(self, token: str | None = None) -> str:
        """A kubeconfig with the server's address, its authority and a token (the admin's if none is given)."""
        return kubeconfig(self.url, self.ca, token or self.admin_token)

    # -- requests ---------------------------------------------------------------------------------------------

    async def _handle(self, incoming: web.BaseRequest) -> web.StreamResponse:
        headers = incoming.headers
        presented = headers.get("Authorization", "")
        user = self.api.tokens.user_of(presented) if presented else ANONYMOUS
        request = Request(
            incoming.method,
            incoming.path,
            dict(incoming.query),
            None,
            headers.get("Content-Type", ""),
            headers.get("Accept", ""),
            headers.get("User-Agent", ""),
            user or ANONYMOUS,
            headers.get("If-None-Match", ""),
        )
        try:
            if user is None:
                raise UNAUTHORIZED
            if "Impersonate-User" in headers:
                request = self._as_other(request, headers.items())
            if request.watches:
                return await self._watch(incoming, request)
            if incoming.body_exists:
                request = replace(request, body=await _body(incoming))
        except ApiError as error:
            return self._answer(incoming, request, refusal(request, error))
        return self._answer(incoming, request, await self.api.respond(request))

    def _as_other(self, request: Request, headers: Iterable[tuple[str, str]]) -> Request:
        """The request in the name of the user whom its sender speaks for. Forbidden if it may not."""
        other = impersonated(headers)
        if other is None:
            return request
        self.api.authority.check(request.user, Attributes("impersonate", resource="users", name=other.name))
        return replace(request, user=other)

    async def _watch(self, incoming: web.BaseRequest, request: Request) -> web.StreamResponse:
        watch = self.api.watch(request, self._delivery, framed=True)
        answer = web.StreamResponse(headers={**self._headers(request), "Content-Type": watch.content_type})
        answer.enable_chunked_encoding()
        transport = incoming.transport
        if transport is not None:
            watch.when_overrun(transport.abort)
        try:
            await answer.prepare(incoming)
            async for batch in watch.batches():
                await answer.write(batch)
            await answer.write_eof()
        except ConnectionError:
            pass
        finally:
            watch.close()
        return answer

    def _headers(self, request: Request) -> dict[str, str]:
        own = {"Audit-Id": str(uuid.uuid4()), "Cache-Control": "no-cache, private"}
        return {**own, **self._fairness.headers(request)}

    def _answer(self, incoming: web.BaseRequest, request: Request, response: Response) -> web.Response:
        headers = {**self._headers(request), **response.headers}
        answer = web.Response(status=response.status, body=response.body, headers=headers)
        if len(response.body) > _COMPRESSED_FROM and "gzip" in incoming.headers.get("Accept-Encoding", ""):
            answer.enable_compression(web.ContentCoding.gzip)
        return answer


async def _body(request: web.BaseRequest) -> bytes | None:
    """The body, None without one. TooLarge beyond the server's limit."""
    if not request.body_exists:
        return None
    parts, size = [], 0
    async for part in request.content.iter_any():
        size += len(part)
        if size > MAX_BODY:
            raise TooLarge(f"Request entity too large: limit is {MAX_BODY}")
        parts.append(part)
    return b"".join(parts) or None


def _certificates(options: ServerOptions) -> tuple[Certificate, Certificate]:
    """The authority and a fresh serving certificate, which is shown in the folder too, if there is one."""
    authority = certificate_authority(options.folder) if options.folder else new_authority()
    hosts = tuple(dict.fromkeys((options.host, "127.0.0.1", "localhost")))
    serving = serving_certificate(authority, hosts)
    if options.folder:
        (options.folder / "certificates").mkdir(exist_ok=True)
        serving.write(options.folder / "certificates", "apiserver")
    return authority, serving


def kubeconfig(url: str, authority: bytes, token: str, name: str = "vcray") -> str:
    """The text of a kubeconfig file (JSON, which is YAML) with one cluster, user and context, all named `name`."""
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "clusters": [
            {
                "name": name,
                "cluster": {
                    "server": url,
                    "certificate-authority-data": base64.b64encode(authority).decode(),
                },
            }
        ],
        "users": [{"name": name, "user": {"token": token}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
    }
    return json.dumps(document, indent=1) + "\n"
