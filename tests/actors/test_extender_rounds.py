"""A whole control plane with an extender: rounds wait for it in a thread, the loop goes on serving."""

from __future__ import annotations

import asyncio

from aiohttp import web
from aiohttp.test_utils import TestServer

from vcray.api.resources import JOBS, NODES, PODS
from vcray.app import ControlPlane
from vcray.cluster.objects.store import Store
from vcray.cluster.server.inprocess import InProcessTransport
from vcray.kube.client import KubeClient
from vcray.sim import shorthand

CONF = """\
actions: allocate
tiers:
- plugins:
  - name: gang
  - name: predicates
  - name: extender
    arguments: {{extender.urlPrefix: "{url}", extender.predicateVerb: predicate, extender.httpTimeout: 5s}}
"""


async def only_n2(request: web.Request) -> web.Response:
    """An extender in this very loop: were the loop blocked, no answer would ever come."""
    body = await request.json()
    return web.json_response({"status": "" if body["node"]["Name"] == "n2" else "not here", "code": 3})


async def test_pods_go_where_the_extender_lets_them() -> None:
    app = web.Application()
    app.router.add_post("/predicate", only_n2)
    store = Store()
    client = KubeClient(InProcessTransport(store))
    async with TestServer(app) as server:
        conf = CONF.format(url=f"http://{server.host}:{server.port}")
        plane = ControlPlane(InProcessTransport(store), scheduler_conf=conf)
        for name in ("n1", "n2", "n3"):
            await client.create(NODES, None, shorthand.node(name, "8c", name))
        await plane.start()
        try:
            await client.create(JOBS, "default", shorthand.job("train", "4 x 1c", "train"))
            for _ in range(300):
                pods = (await client.list(PODS)).items
                nodes = [pod["spec"].get("nodeName") for pod in pods]
                if len(nodes) == 4 and all(nodes):
                    break
                await asyncio.sleep(0.02)
        finally:
            await plane.stop()
    assert nodes == ["n2"] * 4
