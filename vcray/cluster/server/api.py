"""The whole API of one server: from any request to its answer, whichever way they travel."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping

from vcray.api.meta import JsonObject
from vcray.cluster.objects.review import Reviewer, User, driven
from vcray.cluster.objects.store import Store
from vcray.cluster.objects.watching import Delivery
from vcray.cluster.openapi.answers import OpenApi
from vcray.cluster.openapi.documents import Publisher
from vcray.cluster.server import rest
from vcray.cluster.server.accounts import Accounts
from vcray.cluster.server.answers import (
    json_answer,
    metrics_answer,
    raw_answer,
    refusal,
    text_answer,
    too_slow,
)
from vcray.cluster.server.attributes import attributes_of
from vcray.cluster.server.authorization import MASTERS, Authority
from vcray.cluster.server.discovery import Discovery, etag
from vcray.cluster.server.figures import exposition
from vcray.cluster.server.health import PROBES, VERSION, probe
from vcray.cluster.server.identity import Identities
from vcray.cluster.server.options import timeout_of
from vcray.cluster.server.paths import Target, parse, unknown_path
from vcray.cluster.server.requests import NotAcceptable, Request
from vcray.cluster.server.streams import Watch
from vcray.cluster.server.subresources import LogReader, handlers
from vcray.cluster.server.tokens import Tokens
from vcray.kube.errors import ApiError, ServerFailure
from vcray.kube.transport import Response

_AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
_DISCOVERY_FORMS = "application/json, application/yaml, application/vnd.kubernetes.protobuf"

_log = logging.getLogger(__name__)


class Api:
    """Answers requests on one store. `address` is what clients are told to reach it by; `reviewer` asks the webhooks."""

    def __init__(
        self,
        store: Store,
        *,
        users: Mapping[str, User] | None = None,
        signing_key: bytes = b"",
        reviewer: Reviewer | None = None,
        read_log: LogReader | None = None,
    ) -> None:
        self.store = store
        self.address = ""
        self.reviewer = reviewer
        self.ready = True
        self.discovery = Discovery(store.catalog)
        self.authority = Authority(store.storage)
        accounts = Accounts(store.storage, store.clock, signing_key)
        self.tokens = Tokens(users or {}, accounts)
        identities = Identities(self.authority, accounts, self.tokens.holder)
        self._special = {**handlers(read_log), **identities.handlers()}
        self._openapi: OpenApi | None = None

    async def respond(self, request: Request) -> Response:
        """The answer to a request that is no watch; refusals become Status answers."""
        try:
            seconds = timeout_of(request)
            self.authorize(request)
            found = self._document(request)
            if found is not None:
                return found
            target = parse(self.store.catalog, request.path)
            seconds = timeout_of(request) if self.reviewer is not None else None
            async with asyncio.timeout(seconds or None):
                answer = await driven(lambda: self._resource(target, request), self.reviewer)
            return rest.with_warnings(answer, target.kind.version.warnings if target.kind.version else [])
        except TimeoutError:
            return too_slow(request)
        except ApiError as error:
            return refusal(request, error)
        except Exception:
            _log.exception("%s %s failed", request.method, request.path)
            return refusal(
                request, ServerFailure("an error on the server has prevented the request from succeeding")
            )

    def authorize(self, request: Request) -> None:
        """Refuse (Forbidden) what the user of a request may not do."""
        if MASTERS not in request.user.groups:
            self.authority.check(request.user, attributes_of(request))

    def watch(self, request: Request, delivery: Delivery, framed: bool = False) -> Watch:
        """Open a watch; `framed` for one that goes over HTTP. Raises ApiError."""
        self.authorize(request)
        target = parse(self.store.catalog, request.path)
        self._check_verb("watch", target)
        return Watch(self.store, delivery, target, request, framed)

    # -- resources ----------------------------------------------------------------------------------------------

    def _resource(self, target: Target, request: Request) -> rest.Answer:
        special = self._special.get((target.resource.full_name, target.subresource))
        special = special or self._special.get(("", target.subresource))
        if special is not None:
            return special(self.store, target, request)
        self._check_verb(rest.verb_of(request, target), target)
        return rest.answer(self.store, target, request)

    def _check_verb(self, verb: str, target: Target) -> None:
        if not target.subresource:
            allowed: tuple[object, ...] = target.kind.verbs
        elif target.subresource in target.resource.subresources:
            row = target.kind.subkinds.get(target.subresource)
            listed = row.get("verbs") if row else None
            allowed = tuple(listed) if isinstance(listed, list) else ("get", "patch", "update")
        else:
            raise rest.no_such_subresource()
        if verb not in allowed:
            raise rest.not_allowed()

    # -- documents ----------------------------------------------------------------------------------------------

    def _document(self, request: Request) -> Response | None:
        """The answer of a path that is no resource; None if it may be one."""
        parts = [part for part in request.path.split("/") if part]
        first = parts[0] if parts else ""
        if first in PROBES:
            told = probe(request.path, "verbose" in request.query, self.ready)
            if told is None:
                raise unknown_path()
            return text_answer(*told)
        if first in ("api", "apis") and len(parts) <= (2 if first == "api" else 3):
            return self._discovery(request, parts)
        if first == "openapi":
            return self._published(request)
        if first == "metrics" and len(parts) == 1:
            return metrics_answer(exposition(self.store.storage))
        if first == "version" and len(parts) == 1:
            return raw_answer(_pretty(request), 200, rest.encoded(VERSION))
        if not parts:
            paths = sorted([*self.discovery.paths(), "/healthz", "/livez", "/metrics", "/readyz", "/version"])
            return json_answer(_pretty(request), 200, {"paths": [*paths]})
        return None

    def _published(self, request: Request) -> Response:
        if request.method != "GET":
            raise rest.not_allowed()
        if self._openapi is None:
            self._openapi = OpenApi(Publisher(self.store.catalog))
        headers = {"accept": request.accept, "if-none-match": request.match}
        return self._openapi.answer(request.path, request.query, headers)

    def _discovery(self, request: Request, parts: list[str]) -> Response:
        if request.method not in ("GET", "HEAD"):
            raise rest.not_allowed()
        found: JsonObject | None
        if len(parts) == 1:
            return self._root(request, core=parts[0] == "api")
        if parts[0] == "api":
            found = self.discovery.resources("", parts[1])
        elif len(parts) == 2:
            found = self.discovery.group(parts[1])
        else:
            found = self.discovery.resources(parts[1], parts[2])
        if found is None:
            versions = self.discovery.groups().get(parts[1] if parts[0] == "apis" else "")
            raise rest.no_such_subresource() if versions else unknown_path()
        return json_answer(request, 200, found)

    def _root(self, request: Request, core: bool) -> Response:
        for form in request.accept.split(","):
            wanted = {part.strip() for part in form.split(";")}
            if "as=APIGroupDiscoveryList" in wanted and "v=v2" in wanted and "application/json" in wanted:
                return self._aggregated(request, core)
            if form.strip() in ("", "*/*", "application/*") or (
                "application/json" in wanted and not any(part.startswith("as=") for part in wanted)
            ):
                break
        else:
            raise NotAcceptable(f"only the following media types are accepted: {_DISCOVERY_FORMS}")
        return json_answer(
            request, 200, self.discovery.core(self.address) if core else self.discovery.group_list()
        )

    def _aggregated(self, request: Request, core: bool) -> Response:
        body = rest.encoded(self.discovery.aggregated(core))
        tag = etag(body)
        headers = {"content-type": _AGGREGATED, "etag": tag, "vary": "Accept", "cache-control": "public"}
        if request.match == tag:
            return Response(304, b"", headers)
        return Response(200, raw_answer(request, 200, body).body, headers)


def _pretty(request: Request) -> Request:
    """The same request from somebody who wants to read the answer."""
    return Request(request.method, request.path, {**request.query, "pretty": "true"})
