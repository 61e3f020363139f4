"""The dashboard of a Ray cluster on loopback, as far as its state API is asked what the nodes do (Ray 2.60)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web
from aiohttp.test_utils import TestServer

from vcray.api.meta import JsonObject, JsonValue

MOST = 10_000


class DashboardServer:
    """Lists what it is given, filtered and cut as Ray does. `instead` is sent in place of all of it, (status, body) by list;
    `stalled` lets every question wait until the server goes; with a `token` nobody else is answered."""

    def __init__(self) -> None:
        self.rows: dict[str, list[JsonObject]] = {"nodes": [], "actors": [], "tasks": []}
        self.beyond: dict[str, int] = {}
        """Rows of a list that Ray's own sources leave out."""
        self.instead: dict[str, tuple[int, bytes]] = {}
        self.warnings: list[JsonValue] = []
        self.stalled, self.token = False, ""
        self.asked: list[str] = []
        self._going = asyncio.Event()
        app = web.Application()
        app.router.add_get("/api/v0/{what}", self._answer)
        self.server = TestServer(app)

    @property
    def address(self) -> str:
        return f"http://{self.server.host}:{self.server.port}"

    def node(self, address: str, actors: int = 0, tasks: int = 0, state: str = "ALIVE") -> None:
        """A node with so many live actors and running tasks; a dead actor and a finished task of it are told, too."""
        node_id = f"{len(self.rows['nodes']):056x}"
        head = not self.rows["nodes"]
        self.rows["nodes"].append(
            {
                "node_id": node_id,
                "node_ip": address,
                "is_head_node": head,
                "state": state,
                "node_name": address,
            }
        )
        for is_of, states in (
            ("actors", ["ALIVE"] * actors + ["DEAD"]),
            ("tasks", ["RUNNING"] * tasks + ["FINISHED"]),
        ):
            for each in states:
                name = f"{len(self.rows[is_of]):032x}"
                self.rows[is_of].append({f"{is_of[:-1]}_id": name, "state": each, "node_id": node_id})

    def go(self) -> None:
        self._going.set()

    async def _answer(self, request: web.Request) -> web.Response:
        what = request.match_info["what"]
        self.asked.append(what)
        if self.stalled:
            await self._going.wait()
        if self.token and request.headers.get("Authorization") != f"Bearer {self.token}":
            missing = "Authorization" not in request.headers
            return web.Response(status=401 if missing else 403, text="who are you")
        if what in self.instead:
            status, body = self.instead[what]
            return web.Response(status=status, body=body, headers={"Location": "/api/v0/nodes"})
        limit = int(request.query["limit"])
        if limit > MOST:
            return _reply(400, f"limit {limit} is beyond {MOST}", None)
        key, value = request.query["filter_keys"], request.query["filter_values"]
        assert request.query["filter_predicates"] == "="
        kept: list[JsonValue] = [row for row in self.rows[what] if row[key] == value]
        everything = len(self.rows[what])
        listed: JsonObject = {
            "total": everything + self.beyond.get(what, 0),
            "num_after_truncation": everything,
            "num_filtered": len(kept),
            "result": kept[:limit],
            "partial_failure_warning": "",
            "warnings": self.warnings or None,
        }
        return _reply(200, "", listed)


def _reply(status: int, message: str, result: JsonValue) -> web.Response:
    answer = {"result": status == 200, "msg": message, "data": {"result": result}}
    return web.json_response(answer, status=status)


@asynccontextmanager
async def dashboard_server() -> AsyncIterator[DashboardServer]:
    """A dashboard of a cluster without nodes."""
    made = DashboardServer()
    await made.server.start_server()
    try:
        yield made
    finally:
        made.go()
        await made.server.close()
