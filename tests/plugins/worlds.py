"""A cluster in short form, opened as a session, and the questions that plugin tests ask of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from tests.builders import node, queue
from vcray.api.meta import JsonObject
from vcray.cache.cluster import snapshot_of
from vcray.core.ledger import Ledger
from vcray.core.openview import NodeMatrix, open_view
from vcray.core.plugin import Args, Plugin
from vcray.core.rows import Layout, ManyRows, OneRow
from vcray.core.view import Shape, View

P = TypeVar("P", bound="Plugin[Args]")


class World:
    """A snapshot's view, with rows and shapes by name."""

    def __init__(self, *objects: JsonObject | list[JsonObject], seed: int = 7) -> None:
        flat = [item for part in objects for item in (part if isinstance(part, list) else [part])]
        if not any(item["kind"] == "Queue" for item in flat):
            flat.append(queue("default"))
        self.view: View
        self.matrix: NodeMatrix
        self.snapshot = snapshot_of(flat, 1_790_000_000.0, seed)
        self.view, self.matrix = open_view(self.snapshot)
        self.layout = Layout(self.matrix)
        self.ledger = Ledger(self.view, self.matrix)

    def plugin(self, kind: type[P], arguments: Mapping[str, object] | None = None) -> P:
        """A plugin of this session with arguments as the file spells them."""
        made = kind(kind.args_model.model_validate(dict(arguments or {})))
        made.open(self.view)
        return made

    def task(self, name: str) -> int:
        return self.snapshot.tasks.names.index(name if "/" in name else f"default/{name}")

    def job(self, name: str) -> int:
        return self.snapshot.jobs.names.index(name if "/" in name else f"default/{name}")

    def queue(self, name: str) -> int:
        return self.snapshot.queues.names.index(name)

    def node(self, name: str) -> int:
        return self.snapshot.nodes.names.index(name)

    def shape(self, pod: str) -> Shape:
        return self.view.shapes[int(self.snapshot.tasks.shape[self.task(pod)])]

    def all_rows(self) -> ManyRows:
        return ManyRows(self.view, self.layout, None)

    def one_row(self, name: str) -> OneRow:
        return OneRow(self.view, self.layout, self.node(name))

    def by_node(self, column: Iterable[object]) -> dict[str, object]:
        """A column as name -> Python value."""
        values = column.tolist() if hasattr(column, "tolist") else list(column)
        return dict(zip(self.snapshot.nodes.names, values, strict=True))

    def place(self, pod: str, on: str) -> None:
        """Allocate a pending pod there, as an action would."""
        task = self.task(pod)
        self.ledger.place(int(self.snapshot.tasks.job[task]), self.shape(pod), [task], [self.node(on)])

    def pipeline(self, pod: str, on: str) -> None:
        """Promise a node to a pending pod, as an action would."""
        task = self.task(pod)
        self.ledger.pipeline(int(self.snapshot.tasks.job[task]), self.shape(pod), [task], [self.node(on)])


def nodes(count: int, **facts: object) -> list[JsonObject]:
    """n1 .. n<count>, alike."""
    return [node(f"n{number}", **facts) for number in range(1, count + 1)]  # type: ignore[arg-type]
