"""What Ray's dashboard tells of the nodes' work, over real HTTP."""

from __future__ import annotations

import json

import pytest

from tests.kube.dashboard_server import MOST, dashboard_server
from vcray.integrations.rayworkers import ClusterWork, NodeWork
from vcray.kube import raydashboard
from vcray.kube.raydashboard import DashboardError, read_work


async def test_each_live_node_is_told_with_its_live_actors_and_running_tasks() -> None:
    async with dashboard_server() as server:
        server.node("10.0.0.1")
        server.node("10.0.0.2", actors=2, tasks=3)
        server.node("10.0.0.2", actors=4, state="DEAD")
        server.node("fd00::3", tasks=1)
        server.rows["actors"].append({"actor_id": "a", "state": "ALIVE", "node_id": None})
        found = await read_work(server.address)

    told = (NodeWork("10.0.0.1"), NodeWork("10.0.0.2", 2, 3), NodeWork("fd00::3", 0, 1))
    assert found == ClusterWork(told)
    assert server.asked == ["nodes", "actors", "tasks"]


@pytest.mark.parametrize(
    ("what", "rows", "beyond", "whole"),
    [
        ("actors", 2, 0, True),
        ("actors", 2, 1, False),
        ("actors", MOST + 1, 0, False),
        ("tasks", MOST, 0, False),
        ("tasks", 2, 5, True),
    ],
    ids=["all", "cut by Ray's source", "cut by the limit", "at the limit", "forgotten tasks are no cut"],
)
async def test_a_list_that_was_cut_is_not_whole(what: str, rows: int, beyond: int, whole: bool) -> None:
    async with dashboard_server() as server:
        server.node("10.0.0.1", **{what: rows})
        server.beyond[what] = beyond
        found = await read_work(server.address)

    assert found.whole is whole
    assert getattr(found.nodes[0], what) == min(rows, MOST)


async def test_nodes_that_are_not_all_told_are_an_error() -> None:
    async with dashboard_server() as server:
        server.node("10.0.0.1")
        server.beyond["nodes"] = 1
        with pytest.raises(DashboardError, match="has more nodes than it tells of"):
            await read_work(server.address)


@pytest.mark.parametrize(("token", "fails"), [("t0ken", False), ("other", True), ("", True)])
async def test_the_token_is_shown_and_a_wrong_one_is_told(token: str, fails: bool) -> None:
    async with dashboard_server() as server:
        server.node("10.0.0.1")
        server.token = "t0ken"
        if not fails:
            assert len((await read_work(server.address, token)).nodes) == 1
            return
        with pytest.raises(DashboardError, match=r"asks for another token .*\(status 40[13]\)"):
            await read_work(server.address, token)


def answer(result: object = None, **more: object) -> bytes:
    return json.dumps({"result": True, "msg": "", "data": {"result": result}, **more}).encode()


ODD = {
    "no JSON": (200, b"<html>", "status 200 and no JSON"),
    "endless nesting": (200, b"[" * 100_000, "no JSON"),
    "no text": (200, b"\xff\xfe{", "no JSON"),
    "no object": (200, b"[]", "JSON that is no object"),
    "a fault": (
        500,
        answer(result=None, msg="GCS\nis  away").replace(b"true", b"false"),
        "status 500: GCS is away",
    ),
    "a fault of 200": (200, json.dumps({"result": False, "msg": "no"}).encode(), "status 200: no"),
    "a fault without words": (503, b"{}", "status 503: $"),
    "a long fault": (500, json.dumps({"msg": "x" * 999}).encode(), "x" * 200 + "…$"),
    "too many questions": (429, json.dumps({"result": False, "msg": "full"}).encode(), "status 429: full"),
    "a redirection": (302, b"", "status 302 and no JSON"),
    "no data": (200, b'{"result": true}', "without data.result"),
    "data of another shape": (200, b'{"result": true, "data": [1]}', "without data.result"),
    "no rows": (200, answer({"total": 1}), "lists nothing"),
    "a source that failed": (
        200,
        answer({"result": [], "warnings": ["too slow"]}),
        "lists nothing: too slow",
    ),
    "rows that are none": (200, answer({"result": [1]}), "lists what is no object"),
}


@pytest.mark.parametrize("what", ["nodes", "actors", "tasks"])
@pytest.mark.parametrize("odd", ODD)
async def test_an_odd_answer_is_one_clear_error(odd: str, what: str) -> None:
    status, body, says = ODD[odd]
    async with dashboard_server() as server:
        server.node("10.0.0.1", actors=1, tasks=1)
        server.instead[what] = status, body
        with pytest.raises(DashboardError, match=says) as failed:
            await read_work(server.address)

    assert f"/api/v0/{what}" in str(failed.value)
    assert len(str(failed.value)) < 400


@pytest.mark.parametrize(
    ("what", "row", "says"),
    [
        ("nodes", {"node_id": "n", "state": "ALIVE"}, "a node without node_ip"),
        ("nodes", {"node_ip": "10.0.0.1", "node_id": 7, "state": "ALIVE"}, "a node without node_id"),
        ("actors", {"state": "ALIVE"}, "work without node_id"),
        ("tasks", {"state": "RUNNING"}, "work without node_id"),
    ],
)
async def test_a_row_that_lacks_its_node_is_an_error(what: str, row: dict[str, object], says: str) -> None:
    async with dashboard_server() as server:
        server.node("10.0.0.1")
        server.rows[what].append(row)  # type: ignore[arg-type]
        with pytest.raises(DashboardError, match=says):
            await read_work(server.address)


async def test_one_that_is_slow_too_large_or_not_there_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    async def failed(address: str) -> str:
        with pytest.raises(DashboardError) as error:
            await read_work(address, timeout_s=0.1)
        return str(error.value)

    async with dashboard_server() as server:
        address = server.address
        server.instead["nodes"] = 200, b" " * (2**20 + 1)
        monkeypatch.setattr(raydashboard, "LARGEST", 2**20)
        assert "more than 1 MiB" in await failed(address)
        server.stalled = True
        assert "no answer within 0.1 s" in await failed(address)
    assert "cannot connect (Connection refused)" in await failed(address)
