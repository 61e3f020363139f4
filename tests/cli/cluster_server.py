"""The in-memory store behind a real port on loopback, for tests that run a program against an API server."""

import asyncio
import threading
from contextlib import suppress

import yaml
from aiohttp import web

from vcray.cluster import InProcessTransport, Store
from vcray.errors import VcrayError

TOKEN = "right"


class ClusterServer:
    """Serves one store in a thread of its own; only the bearer token `right` is let in."""

    def __init__(self, clock):
        self.store = Store(clock=clock)
        self.port = 0
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self):
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *_):
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def kubeconfig(self, folder, token=TOKEN):
        """Write a kubeconfig that leads here and return its path."""
        return write_kubeconfig(folder, self.port, token)

    def ask(self, method, *arguments, **options):
        """Call a method of a KubeClient on the store, in the server's own loop."""
        from vcray.kube.client import KubeClient

        async def call():
            return await getattr(KubeClient(InProcessTransport(self.store)), method)(*arguments, **options)

        return asyncio.run_coroutine_threadsafe(call(), self._loop).result(10)

    def _serve(self):
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._start())
        self._ready.set()
        self._loop.run_forever()
        self._loop.run_until_complete(self._end())
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()

    async def _end(self):
        """End watches and handlers: what a closed loop leaves pending complains when it is collected, at any moment."""
        await self._transport.close()
        await self._runner.cleanup()
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)

    async def _start(self):
        self._transport = InProcessTransport(self.store)
        app = web.Application(client_max_size=2**24)
        app.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.port = self._runner.addresses[0][1]

    async def _answer(self, request):
        if request.headers.get("Authorization") != f"Bearer {TOKEN}":
            status = {"kind": "Status", "code": 401, "reason": "Unauthorized", "message": "Unauthorized"}
            return web.json_response(status, status=401)
        query = dict(request.query)
        if query.get("watch") in ("1", "true"):
            return await self._watch(request, query)
        answer = await self._transport.request(
            request.method, request.path, query, await request.read() or None, request.content_type
        )
        headers = {"Content-Type": answer.headers.get("content-type", "application/json")}
        return web.Response(status=answer.status, body=answer.body, headers=headers)

    async def _watch(self, request, query):
        answer = web.StreamResponse(headers={"Content-Type": "application/json"})
        await answer.prepare(request)
        with suppress(ConnectionError, VcrayError):
            async for line in self._transport.stream(request.path, query):
                await answer.write(line.rstrip(b"\n") + b"\n")
        return answer


def write_kubeconfig(folder, port, token=TOKEN):
    """A kubeconfig for a server on loopback."""
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "test",
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
        "clusters": [{"name": "test", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "users": [{"name": "test", "user": {"token": token}}],
    }
    file = folder / f"kubeconfig-{token}-{port}"
    file.write_text(yaml.safe_dump(document))
    return str(file)
