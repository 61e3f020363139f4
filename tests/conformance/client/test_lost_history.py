"""What a watch does when the server lost its history, broke, or went away: on both servers, and on staged failures."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path

import pytest

from tests.conformance.client.conftest import eventually
from tests.conformance.harness.server import ControlPlane
from vcray.api import wire
from vcray.api.meta import JsonObject
from vcray.api.resources import CONFIGMAPS, PODS
from vcray.cluster import InProcessTransport, Store
from vcray.errors import Unreachable
from vcray.kube.auth import load
from vcray.kube.client import KubeClient
from vcray.kube.errors import Gone, error_of_status
from vcray.kube.transport import Query
from vcray.kube.watch import EventType, watch_objects, watch_pods

WAIT_S = 10.0


def config_map(name: str, **data: str) -> JsonObject:
    return {"metadata": {"name": name, "labels": {"test": "watch"}}, "data": dict(data)}


class Lossy:
    """A server whose history can be taken away while the client is not looking."""

    def __init__(self, client: KubeClient, namespace: str) -> None:
        self.client, self.namespace = client, namespace

    def forget(self) -> None:
        raise NotImplementedError

    def cut(self) -> None:
        """Make the next request the client's own, by ending its watch."""


class LossyStore(Lossy):
    def __init__(self) -> None:
        self.store = Store()
        self.transport = InProcessTransport(self.store)
        super().__init__(KubeClient(self.transport), "default")

    def forget(self) -> None:
        self.store.storage.forget_history()
        self.transport.disconnect()


class LossyServer(Lossy):
    def __init__(self, client: KubeClient, server: ControlPlane) -> None:
        super().__init__(client, server.create_namespace())
        self.server = server

    def forget(self) -> None:
        self.server.compact()


@pytest.fixture(params=["embedded", pytest.param("real", marks=pytest.mark.apiserver)])
async def lossy(request: pytest.FixtureRequest) -> AsyncIterator[Lossy]:
    if request.param == "embedded":
        yield LossyStore()
        return
    programs = request.getfixturevalue("kubernetes_programs")
    with ControlPlane(programs, apiserver_flags=["--watch-cache=false"]) as server:
        client = KubeClient(await load(server.kubeconfig))
        yield LossyServer(client, server)
        await client.close()


async def test_a_forgotten_version_leads_to_a_new_list_whose_difference_is_told(lossy: Lossy) -> None:
    client, namespace = lossy.client, lossy.namespace
    for name in ("kept", "changed", "gone", "reborn"):
        await client.create(CONFIGMAPS, namespace, config_map(name))
    watch = watch_objects(
        client, CONFIGMAPS, namespace=namespace, label_selector="test=watch", timeout_seconds=1
    )
    events = watch.events()
    first = [await asyncio.wait_for(anext(events), WAIT_S) for _ in range(5)]
    assert first[-1].type is EventType.SYNCED

    # The reader does not read while this happens, so its first request begins after the history is gone.
    await client.patch(CONFIGMAPS, namespace, "changed", {"data": {"x": "1"}})
    await client.delete(CONFIGMAPS, namespace, "gone")
    await client.delete(CONFIGMAPS, namespace, "reborn")
    await client.create(CONFIGMAPS, namespace, config_map("reborn"))
    await client.create(CONFIGMAPS, namespace, config_map("new"))
    lossy.forget()

    told: list[tuple[str, str]] = []
    while not told or told[-1][0] != "SYNCED":
        event = await asyncio.wait_for(anext(events), WAIT_S)
        told.append((str(event.type), event.key.rpartition("/")[2]))
    await events.aclose()

    assert told[0] == ("RELIST", "")
    assert sorted(told[1:-1]) == [
        ("ADDED", "new"),
        ("ADDED", "reborn"),
        ("DELETED", "gone"),
        ("DELETED", "reborn"),
        ("MODIFIED", "changed"),
    ]
    assert told.index(("DELETED", "reborn")) < told.index(("ADDED", "reborn"))
    assert watch.relists == 1


async def test_a_watch_from_a_forgotten_version_is_told_so(lossy: Lossy) -> None:
    client, namespace = lossy.client, lossy.namespace
    early = await client.create(CONFIGMAPS, namespace, config_map("a"))
    for value in "12":
        await client.patch(CONFIGMAPS, namespace, "a", {"data": {"x": value}})
    lossy.forget()
    version = str(early["metadata"]["resourceVersion"])  # type: ignore[index,call-overload]

    query = {"watch": "true", "resourceVersion": version, "timeoutSeconds": "5"}
    try:
        line = await asyncio.wait_for(
            anext(client.transport.stream(CONFIGMAPS.path(namespace), query)), WAIT_S
        )
        found = wire.decode_watch_line(line)
        assert found.type == "ERROR"
        error: Exception = error_of_status(wire.decode_object(found.object), 500)
    except Gone as refused:
        error = refused

    assert isinstance(error, Gone)
    assert "too old" in error.message


async def test_a_list_goes_on_when_its_page_token_expires(lossy: Lossy) -> None:
    client, namespace = lossy.client, lossy.namespace
    for number in range(4):
        await client.create(CONFIGMAPS, namespace, config_map(f"m{number}"))
    cutting = _CutAfterFirstPage(lossy)

    page = await KubeClient(cutting).list(CONFIGMAPS, namespace, "test=watch", page_size=2)

    assert [str(item["metadata"]["name"]) for item in page.items] == [f"m{n}" for n in range(4)]  # type: ignore[index,call-overload]
    assert cutting.pages >= 3


class _CutAfterFirstPage:
    """A transport on which the history is lost after the first page of a list."""

    def __init__(self, lossy: Lossy) -> None:
        self._lossy = lossy
        self._inner = lossy.client.transport
        self.address = self._inner.address
        self.stream = self._inner.stream
        self.pages = 0

    async def request(self, method: str, path: str, *rest: object):  # type: ignore[no-untyped-def]
        answer = await self._inner.request(method, path, *rest)  # type: ignore[arg-type]
        self.pages += 1
        if self.pages == 1:
            await self._lossy.client.create(CONFIGMAPS, self._lossy.namespace, {"metadata": {"name": "zz"}})
            self._lossy.forget()
        return answer

    async def close(self) -> None:
        return None


@pytest.mark.apiserver
async def test_a_watch_catches_up_with_a_server_that_was_away(kubernetes_programs: Path) -> None:
    with ControlPlane(kubernetes_programs) as server:
        client = KubeClient(await load(server.kubeconfig))
        namespace = server.create_namespace()
        for name in ("kept", "gone"):
            await client.create(CONFIGMAPS, namespace, config_map(name))
        watch = watch_objects(client, CONFIGMAPS, namespace=namespace, label_selector="test=watch")
        seen: set[str] = set()

        async def follow() -> None:
            async for event in watch.events():
                if event.type is EventType.DELETED:
                    seen.remove(event.key)
                elif event.object is not None:
                    seen.add(event.key)

        async def holds(*names: str) -> bool:
            return seen == {f"{namespace}/{name}" for name in names}

        following = asyncio.create_task(follow())
        await eventually(lambda: holds("kept", "gone"), "the watch to show what is there")

        await asyncio.to_thread(server.stop_apiserver)
        with pytest.raises(Unreachable):
            await client.version()
        await asyncio.to_thread(server.start_apiserver)
        await client.delete(CONFIGMAPS, namespace, "gone")
        await client.create(CONFIGMAPS, namespace, config_map("new"))

        await eventually(lambda: holds("kept", "new"), "the watch to show what the server has", 40.0)
        assert watch.last_error is not None
        following.cancel()
        await client.close()


async def test_an_object_of_another_shape_is_passed_over() -> None:
    store = Store()
    client = KubeClient(InProcessTransport(store))
    for name in ("bad", "good"):
        spec: JsonObject = {"containers": [{"name": "c", "image": "i"}], "nodeName": "n"}
        store.create(PODS, "default", {"metadata": {"name": name}, "spec": spec})
    bad = store.read(PODS, "default", "bad").decode()
    bad["spec"]["nodeName"] = 7  # type: ignore[index,call-overload]
    store.storage.put(PODS, bad)
    watch = watch_pods(client)
    events = watch.events()

    first = [await anext(events) for _ in range(2)]

    assert [event.key for event in first] == ["default/good", ""]
    assert watch.skipped == 1
    await events.aclose()


async def test_an_error_within_a_watch_leads_to_a_new_list() -> None:
    store = Store()
    transport = InProcessTransport(store)
    broken = _OneErrorLine(transport)
    watch = watch_objects(KubeClient(broken, sleep=_no_sleep), CONFIGMAPS, namespace="default")
    events = watch.events()
    assert (await anext(events)).type is EventType.SYNCED

    store.create(CONFIGMAPS, "default", config_map("a"))
    told = [await asyncio.wait_for(anext(events), WAIT_S) for _ in range(3)]

    assert [event.type for event in told] == [EventType.RELIST, EventType.ADDED, EventType.SYNCED]
    await events.aclose()


async def _no_sleep(seconds: float) -> None:
    return None


class _OneErrorLine:
    """A transport whose first watch answers with a server error."""

    def __init__(self, inner: InProcessTransport) -> None:
        self._inner = inner
        self.address, self.request, self.close = inner.address, inner.request, inner.close
        self._failed = False

    async def stream(self, path: str, query: Query | None = None) -> AsyncGenerator[bytes, None]:
        if not self._failed:
            self._failed = True
            yield b'{"type":"ERROR","object":{"kind":"Status","code":500,"message":"etcd lost something"}}'
            return
        async for line in self._inner.stream(path, query):
            yield line


async def test_a_watch_survives_a_server_that_goes_and_comes_back() -> None:
    store = Store()
    transport = InProcessTransport(store)
    naps: list[float] = []

    async def nap(seconds: float) -> None:
        naps.append(seconds)
        if len(naps) == 3:
            transport.available = True
        await asyncio.sleep(0)

    client = KubeClient(transport, sleep=nap, jitter=lambda: 0.0)
    watch = watch_objects(client, CONFIGMAPS, namespace="default")
    events = watch.events()
    assert (await anext(events)).type is EventType.SYNCED
    store.create(CONFIGMAPS, "default", config_map("a"))
    transport.available = False

    event = await asyncio.wait_for(anext(events), WAIT_S)

    assert (event.type, event.key) == (EventType.ADDED, "default/a")
    assert naps == [0.1, 0.2, 0.4]
    assert isinstance(watch.last_error, Unreachable)
    assert watch.failures == 0
    await events.aclose()
