"""Work on the nodes of a Ray cluster, as the state API of its dashboard tells it (Ray 2.60, dashboard/modules/state).

Three questions: the live nodes, the live actors, the running tasks. A task that waits in `ray.get` counts as running, and so does a
method of an actor that runs; detached actors are actors like others. Drivers are not asked for: their place is not Ray's to tell.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import urlencode

from vcray.api.meta import JsonObject, JsonValue
from vcray.errors import Unreachable
from vcray.integrations.rayworkers import ClusterWork, NodeWork
from vcray.kube.fetching import fetch

TIMEOUT_S: Final = 5.0
"""For each question. Ray itself stops at 4/5 of it, and then says so."""
MOST_ROWS: Final = 10_000
"""Rows of one answer: Ray refuses to be asked for more, and keeps its own sources to as many."""
LARGEST: Final = 16 * 2**20
"""Bytes of one answer: 10,000 rows have some 5 MiB."""
_LONGEST: Final = 200
"""Characters of a server's own words in ours."""


class DashboardError(Exception):
    """A dashboard gave no answer, or not one of the state API. The text says what is wrong."""


async def read_work(url: str, token: str = "", timeout_s: float = TIMEOUT_S) -> ClusterWork:
    """The work of the cluster whose dashboard is at `url`. Raises DashboardError."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    nodes, all_nodes = await _listed(url, "nodes", "ALIVE", headers, timeout_s)
    if not all_nodes:
        raise DashboardError(f"{url} has more nodes than it tells of ({len(nodes)})")
    actors, all_actors = await _listed(url, "actors", "ALIVE", headers, timeout_s)
    tasks, all_tasks = await _listed(url, "tasks", "RUNNING", headers, timeout_s)
    addresses = {_text(row, "node_id", url): _text(row, "node_ip", url) for row in nodes}
    acting, running = Counter(_places(actors, url)), Counter(_places(tasks, url))
    return ClusterWork(
        tuple(NodeWork(address, acting[node], running[node]) for node, address in sorted(addresses.items())),
        all_actors and all_tasks,
    )


async def _listed(
    url: str, what: str, state: str, headers: Mapping[str, str], timeout_s: float
) -> tuple[list[JsonObject], bool]:
    """Rows of a list in this state, and whether they are all there are."""
    query = {
        "limit": str(MOST_ROWS),
        "timeout": str(max(1, int(timeout_s))),
        "filter_keys": "state",
        "filter_predicates": "=",
        "filter_values": state,
    }
    page = f"{url}/api/v0/{what}"
    try:
        answer = await fetch(f"{page}?{urlencode(query)}", headers, True, timeout_s, LARGEST, follows=False)
    except Unreachable as error:
        raise DashboardError(f"{page}: {_short(error.problems[0].what)}") from error
    listed = _result(page, answer.status, answer.body)
    rows = listed.get("result")
    if not isinstance(rows, list):
        raise DashboardError(f"{page} lists nothing")
    if not rows and listed.get("warnings"):
        raise DashboardError(f"{page} lists nothing: {_short(listed.get('warnings'))}")
    kept = [row for row in rows if isinstance(row, dict)]
    if len(kept) < len(rows):
        raise DashboardError(f"{page} lists what is no object")
    return [row for row in kept if row.get("state") == state], not _is_cut(what, listed, len(rows))


def _is_cut(what: str, listed: JsonObject, rows: int) -> bool:
    """Is there more than the rows? Of tasks `total` also counts those that Ray has forgotten, for ever."""
    told, after, total = (_number(listed, key) for key in ("num_filtered", "num_after_truncation", "total"))
    return rows >= MOST_ROWS or rows < told or (what != "tasks" and after < total)


def _result(page: str, status: int, body: bytes) -> JsonObject:
    """The list in an answer of the state API."""
    if status in (401, 403):
        raise DashboardError(f"{page} asks for another token than it was shown (status {status})")
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise DashboardError(f"{page} answered with status {status} and no JSON") from error
    if not isinstance(answer, dict):
        raise DashboardError(f"{page} answered with JSON that is no object")
    if status != 200 or answer.get("result") is not True:
        raise DashboardError(f"{page} answered with status {status}: {_short(answer.get('msg'))}")
    data = answer.get("data")
    listed = data.get("result") if isinstance(data, dict) else None
    if not isinstance(listed, dict):
        raise DashboardError(f"{page} answered without data.result")
    return listed


def _places(rows: list[JsonObject], url: str) -> Iterator[str]:
    """The node of each row that has one."""
    for row in rows:
        if "node_id" not in row:
            raise DashboardError(f"{url} tells of work without node_id")
        if row["node_id"]:
            yield str(row["node_id"])


def _text(row: JsonObject, key: str, url: str) -> str:
    value = row.get(key)
    if not isinstance(value, str) or not value:
        raise DashboardError(f"{url} tells of a node without {key}")
    return value


def _number(listed: JsonObject, key: str) -> int:
    value = listed.get(key)
    return value if isinstance(value, int) else 0


def _short(value: JsonValue) -> str:
    """What a server says, in one or several sentences, kept to one line of some length."""
    said = value if isinstance(value, list) else [value]
    text = " ".join(" ".join(each for each in said if isinstance(each, str)).split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
