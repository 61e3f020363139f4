"""The HTTP transport against a small server on the loopback."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager

import pytest
from aiohttp import web

from vcray.api.resources import CONFIGMAPS, PODS
from vcray.errors import Unauthorized, Unreachable
from vcray.kube.client import KubeClient
from vcray.kube.errors import Forbidden, ServerFailure, TooManyRequests
from vcray.kube.http import HttpTransport, StaticToken, environment_proxy

WATCHES = 150
"""More than requests may have connections."""

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def serving(handler: Handler) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", handler)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    yield f"http://127.0.0.1:{port}"
    await runner.cleanup()


@asynccontextmanager
async def talking(handler: Handler, token: str = "good") -> AsyncIterator[KubeClient]:
    async with serving(handler) as url:
        client = KubeClient(HttpTransport(url, StaticToken(token)), "tests", sleep=_no_sleep)
        yield client
        await client.close()


async def _no_sleep(seconds: float) -> None:
    return None


class Rotating:
    """Credentials that change when renewed."""

    def __init__(self, *tokens: str) -> None:
        self._tokens = list(tokens)
        self.renewals = 0

    async def authorization(self) -> str | None:
        return f"Bearer {self._tokens[0]}"

    async def renew(self) -> None:
        self.renewals += 1
        if len(self._tokens) > 1:
            self._tokens.pop(0)


async def test_a_request_carries_the_token_the_query_and_the_body() -> None:
    seen: list[tuple[str, str, str, bytes]] = []

    async def handler(request: web.Request) -> web.Response:
        seen.append((request.method, request.path_qs, request.headers["Authorization"], await request.read()))
        return web.json_response({"metadata": {"name": "a"}})

    async with talking(handler) as client:
        await client.create(CONFIGMAPS, "ns", {"metadata": {"name": "a"}})

    assert seen == [
        (
            "POST",
            "/api/v1/namespaces/ns/configmaps?fieldManager=tests",
            "Bearer good",
            b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}',
        )
    ]


async def test_a_refused_token_is_one_sentence_with_the_address() -> None:
    async def handler(request: web.Request) -> web.Response:
        return web.json_response({"kind": "Status", "message": "Unauthorized", "code": 401}, status=401)

    async with talking(handler) as client:
        with pytest.raises(Unauthorized) as refused:
            await client.version()
        with pytest.raises(Unauthorized):
            await anext(client.transport.stream(PODS.path()))

    assert str(refused.value).startswith("VC0402 http://127.0.0.1:")
    assert "the API server refused the credentials" in str(refused.value)


async def test_an_expired_token_is_renewed_once_for_all_requests_that_met_it() -> None:
    async def handler(request: web.Request) -> web.Response:
        ok = request.headers["Authorization"] == "Bearer fresh"
        return web.json_response({"gitVersion": "v1"}, status=200 if ok else 401)

    credentials = Rotating("stale", "fresh", "unused")
    async with serving(handler) as url:
        client = KubeClient(HttpTransport(url, credentials))
        answers = await asyncio.gather(*(client.version() for _ in range(5)))
        await client.close()

    assert answers == [{"gitVersion": "v1"}] * 5
    assert credentials.renewals == 1


async def test_a_watch_that_meets_an_expired_token_works_the_next_time() -> None:
    async def handler(request: web.Request) -> web.Response:
        ok = request.headers["Authorization"] == "Bearer fresh"
        return web.Response(body=b'{"type":"ADDED","object":{}}\n', status=200 if ok else 401)

    async with serving(handler) as url:
        transport = HttpTransport(url, Rotating("stale", "fresh"))
        with pytest.raises(Unauthorized):
            await anext(transport.stream("/w"))
        assert await anext(transport.stream("/w")) == b'{"type":"ADDED","object":{}}'
        await transport.close()


async def test_a_closed_port_is_unreachable_in_one_sentence() -> None:
    async with serving(_never) as url:
        pass
    client = KubeClient(HttpTransport(url))

    with pytest.raises(Unreachable) as failed:
        await client.version()
    await client.close()

    assert str(failed.value).startswith(f"VC0401 {url}: cannot connect to the API server (")
    assert "\n" not in str(failed.value)


async def _never(request: web.Request) -> web.Response:
    raise AssertionError("no request expected")


async def test_a_server_without_tls_is_told_apart() -> None:
    async with serving(_never) as url:
        client = KubeClient(HttpTransport(url.replace("http:", "https:")))
        with pytest.raises(Unreachable, match="does not speak TLS"):
            await client.version()
        await client.close()


async def test_a_name_that_does_not_resolve_is_unreachable() -> None:
    client = KubeClient(HttpTransport("http://no-such-host.invalid:1"))

    with pytest.raises(Unreachable, match=r"cannot be resolved|cannot connect"):
        await client.version()
    await client.close()


async def test_a_server_that_hangs_up_is_unreachable() -> None:
    async def handler(request: web.Request) -> web.Response:
        assert request.transport is not None
        request.transport.close()
        return web.Response()

    async with talking(handler) as client:
        with pytest.raises(Unreachable, match="closed the connection"):
            await client.create(CONFIGMAPS, "ns", {"metadata": {"name": "a"}})


async def test_lines_are_whole_however_the_network_cuts_them() -> None:
    big = b'{"object":"' + b"x" * 300_000 + b'"}'

    async def handler(request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse()
        await answer.prepare(request)
        for piece in (b'{"a"', b":1}\n", b'{"b":2}\n{"c":3}\n{"d', b'":4}\n', big, b"\n", b'{"last":1}'):
            await answer.write(piece)
        return answer

    async with talking(handler) as client, aclosing(client.transport.stream("/watch")) as lines:
        found = [line async for line in lines]

    assert found == [b'{"a":1}', b'{"b":2}', b'{"c":3}', b'{"d":4}', big]


async def test_watches_keep_no_connection_from_requests() -> None:
    begun = 0
    all_begun, over = asyncio.Event(), asyncio.Event()

    async def handler(request: web.Request) -> web.StreamResponse:
        nonlocal begun
        if request.query.get("watch"):
            begun += 1
            if begun == WATCHES:
                all_begun.set()
            await over.wait()
        return web.json_response({"items": [], "metadata": {}})

    async with serving(handler) as url:
        transport = HttpTransport(url, StaticToken("good"))

        async def watch() -> None:
            async with aclosing(transport.stream("/api/v1/pods", {"watch": "true"})) as lines:
                async for _ in lines:
                    pass

        watches = [asyncio.create_task(watch()) for _ in range(WATCHES)]
        async with asyncio.timeout(10):
            await all_begun.wait()
            answer = await transport.request("GET", "/api/v1/pods")
        over.set()
        await asyncio.gather(*watches)
        await transport.close()

    assert answer.status == 200


async def test_a_refusal_of_a_watch_is_raised_as_such() -> None:
    async def handler(request: web.Request) -> web.Response:
        body = {"kind": "Status", "message": "no pods for you", "reason": "Forbidden", "code": 403}
        return web.json_response(body, status=403)

    async with talking(handler) as client:
        with pytest.raises(Forbidden, match="no pods for you"):
            await anext(client.transport.stream("/watch"))


async def test_a_throttled_request_waits_as_told_and_tries_again() -> None:
    calls = 0
    naps: list[float] = []

    async def handler(request: web.Request) -> web.Response:
        nonlocal calls
        calls += 1
        if calls < 3:
            return web.Response(status=429, headers={"Retry-After": "1"})
        return web.json_response({"gitVersion": "v1"})

    async def nap(seconds: float) -> None:
        naps.append(seconds)

    async with serving(handler) as url:
        client = KubeClient(HttpTransport(url), sleep=nap)
        await client.version()
        await client.close()

    assert (calls, naps) == (3, [1.0, 1.0])


async def test_a_refusal_without_a_waiting_time_is_not_retried() -> None:
    async def handler(request: web.Request) -> web.Response:
        return web.json_response({"message": "budget", "code": 429}, status=429)

    async with talking(handler) as client:
        with pytest.raises(TooManyRequests, match="budget"):
            await client.evict("ns", "p")


async def test_an_answer_that_is_no_status_is_shown_as_it_is() -> None:
    async def handler(request: web.Request) -> web.Response:
        return web.Response(status=502, text="bad gateway")

    async with talking(handler) as client:
        with pytest.raises(ServerFailure, match="bad gateway") as failed:
            await client.version()

    assert failed.value.code == 502


@pytest.mark.parametrize(
    ("url", "variables", "proxy"),
    [
        ("https://api.example.com:6443", {"HTTPS_PROXY": "http://proxy:3128"}, "http://proxy:3128"),
        ("https://api.example.com", {"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": "example.com"}, None),
        ("https://api.example.com", {"HTTP_PROXY": "http://proxy:3128"}, None),
        ("https://127.0.0.1:6443", {"HTTPS_PROXY": "http://proxy:3128"}, None),
        ("https://localhost", {"HTTPS_PROXY": "http://proxy:3128"}, None),
        ("https://api.example.com", {}, None),
    ],
)
def test_the_proxy_of_the_environment_is_used_for_servers_elsewhere(
    monkeypatch: pytest.MonkeyPatch, url: str, variables: dict[str, str], proxy: str | None
) -> None:
    for name in ("HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    assert environment_proxy(url) == proxy
