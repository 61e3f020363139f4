"""The table of admission: its rows, and a desk on a server where a row is tried.

Objects are created with `dryRun`, so that a server sees and answers all but stores nothing; what is to be updated or to be
there before is stored, and removed again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.conformance.harness.base import Server, wait_until
from tests.conformance.harness.client import ApiError
from tests.e2e.arena import GROUPS
from vcray.api.resources import resource_for

Object = dict[str, Any]
Changes = Mapping[str, Any]

NAME = "row"
DRY = "dryRun=All"
QUEUE_NAME = "scheduling.volcano.sh/queue-name"
TABLE = Path(__file__).parent / "admission.yaml"


@dataclass(frozen=True)
class Row:
    """One line of the table; admission.yaml says what its parts mean."""

    it: str
    kind: str
    set: Changes = field(default_factory=dict)
    then: Changes | None = None
    delete: str = ""
    but: Any = None
    given: Mapping[str, Object] = field(default_factory=dict)
    namespace: str = ""
    state: str = ""
    stored: Changes | None = None
    refused: str = ""
    by: str = "webhook"


@cache
def table() -> tuple[Mapping[str, Object], list[Row]]:
    """The good objects by kind, and the rows."""
    read = yaml.safe_load(TABLE.read_text())
    return read["good"], [Row(**each) for each in read["rows"]]


def changed(obj: Object, changes: Changes) -> Object:
    """A copy with other values at some paths; `+` appends to a list, null removes."""
    made = deepcopy(obj)
    for path, value in changes.items():
        *way, last = path.split(".")
        place: Any = made
        for step in way:
            place = place[int(step)] if isinstance(place, list) else place.setdefault(step, {})
        if last == "+":
            place.append(value)
        elif value is None:
            place.pop(last, None)
        else:
            place[int(last) if isinstance(place, list) else last] = value
    return made


def found(obj: Any, path: str) -> Any:
    """What stands at a path; null when there is nothing."""
    for step in path.split("."):
        if isinstance(obj, list):
            obj = obj[int(step)] if int(step) < len(obj) else None
        else:
            obj = (obj or {}).get(step)
    return obj


class Desk:
    """A namespace on a server where rows are tried, one after the other."""

    def __init__(self, server: Server) -> None:
        self.client = server.client
        self.namespace = server.create_namespace("desk")

    def outcome(self, row: Row) -> dict[str, str]:
        """What does not hold of a row's outcome: `stored` and `refused` -> what came instead."""
        with self._prepared(row):
            return self._tried(row)

    def holds(self, row: Row) -> dict[str, str]:
        """As `outcome`, but what webhooks hear of through a watch has its time to arrive."""
        seen: list[dict[str, str]] = []

        def good() -> bool:
            seen.append(self._tried(row))
            return not seen[-1]

        with self._prepared(row):
            if good() or not (row.given or row.state):
                return seen[-1]
            with suppress(TimeoutError):
                wait_until(good, row.it, 5.0)
        return seen[-1]

    # -- trying -------------------------------------------------------------------------------------------------

    def _tried(self, row: Row) -> dict[str, str]:
        if row.delete:
            taken, rejected = partial_of(self._delete, row.delete), partial_of(self._delete, row.but)
        elif row.then is not None:
            taken = partial_of(self._update, row, row.then)
            rejected = partial_of(self._update, row, {**row.then, **(row.but or {})})
        else:
            taken = partial_of(self._create, row, row.set)
            rejected = partial_of(self._create, row, {**row.set, **(row.but or {})})
        wrong: dict[str, str] = {}
        if row.stored is not None or (row.delete and row.but):
            said, obj = taken()
            other = {
                path: found(obj, path)
                for path, value in (row.stored or {}).items()
                if found(obj, path) != value
            }
            if said or other:
                wrong["stored"] = said or repr(other)
        if row.refused:
            said, _ = rejected() if row.but or not row.delete else taken()
            if row.refused not in said:
                wrong["refused"] = said or "it was taken"
        return wrong

    def _object(self, row: Row, changes: Changes) -> Object:
        good = {"kind": row.kind, "metadata": {"name": NAME}, **deepcopy(table()[0][row.kind])}
        return changed(good, changes)

    def _create(self, row: Row, changes: Changes) -> Object:
        return self.client.create(f"{self._collection(row)}?{DRY}", self._object(row, changes))

    def _update(self, row: Row, changes: Changes) -> Object:
        path = f"{self._collection(row)}/{NAME}"
        return self.client.patch(f"{path}?{DRY}", {"spec": changed(self.client.get(path), changes)["spec"]})

    def _delete(self, queue: str) -> Object:
        return self.client.request("DELETE", f"{GROUPS}/queues/{queue}", {"dryRun": ["All"]})

    def _collection(self, row: Row) -> str:
        version = table()[0][row.kind]["apiVersion"]
        resource = resource_for(version, row.kind)
        group = f"/apis/{version}" if "/" in version else f"/api/{version}"
        inside = f"/namespaces/{self.namespace}" if resource.namespaced else ""
        return f"{group}{inside}/{resource.plural}"

    # -- what is there before -----------------------------------------------------------------------------------

    @contextmanager
    def _prepared(self, row: Row) -> Iterator[None]:
        """What the row wants to be there, while the block runs."""
        made = [self._queue(name, spec) for name, spec in row.given.items()]
        if row.namespace:
            self._annotate(row.namespace)
        if row.then is not None:
            path = self._collection(row)
            self.client.create(path, self._object(row, row.set))
            made.append(f"{path}/{NAME}")
            if row.state:
                self.client.patch(f"{made[-1]}/status", {"status": {"state": row.state}})
        try:
            yield
        finally:
            if row.namespace:
                self._annotate(None)
            for path in reversed(made):
                if path:
                    wait_until(lambda path=path: self._gone(path), f"{path} to go")  # type: ignore[misc]

    def _queue(self, name: str, given: Object) -> str:
        """Where the new queue is; empty if it was there before."""
        spec = {key: value for key, value in given.items() if key != "state"}
        body = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": name}}
        path = f"{GROUPS}/queues/{name}"
        if self.client.exists(path):
            return ""
        self.client.create(f"{GROUPS}/queues", {**body, "spec": spec})
        self.client.patch(f"{path}/status", {"status": {"state": given.get("state", "Open")}})
        return path

    def _annotate(self, queue: str | None) -> None:
        self.client.patch(
            f"/api/v1/namespaces/{self.namespace}", {"metadata": {"annotations": {QUEUE_NAME: queue}}}
        )

    def _gone(self, path: str) -> bool:
        """Delete; False while a webhook still sees what is below a queue."""
        try:
            self.client.delete(path)
        except ApiError as error:
            return error.code == 404
        return not self.client.exists(path)


def partial_of(act: Callable[..., Object], *arguments: Any) -> Callable[[], tuple[str, Object]]:
    """The act as one that answers (what the server says in refusing it, the object it makes)."""

    def tried() -> tuple[str, Object]:
        try:
            return "", act(*arguments)
        except ApiError as error:
            return error.message, {}

    return tried
