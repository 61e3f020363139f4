"""Which printer a kind has: a definition's, its own, or name and creation time."""

from __future__ import annotations

from functools import lru_cache

from vcray.api.jsonview import dig
from vcray.api.meta import JsonObject
from vcray.cluster.definitions.served import Column
from vcray.cluster.objects.catalog import Kind
from vcray.cluster.tables import networking, nodes, pods, rules, storage, workloads
from vcray.cluster.tables.cells import Cells, Printer, columns, name
from vcray.cluster.tables.custom import age_only, custom_printer

_BUILT_IN: dict[str, Printer] = {
    **pods.PRINTERS,
    **workloads.PRINTERS,
    **nodes.PRINTERS,
    **networking.PRINTERS,
    **storage.PRINTERS,
    **rules.PRINTERS,
}


def _created(obj: JsonObject, now: float) -> Cells:
    del now
    return [name(obj), dig(obj, "metadata", "creationTimestamp")]


_GENERIC = Printer(columns("Name|Created At:date"), _created)
_custom = lru_cache(maxsize=256)(custom_printer)


def printer_of(kind: Kind) -> Printer:
    """The printer of a kind."""
    if kind.custom:
        named: tuple[Column, ...] = kind.version.columns if kind.version else age_only()
        return _custom(named)
    return _BUILT_IN.get(kind.resource.full_name, _GENERIC)


def scale_printer() -> Printer:
    """The printer of a scale subresource."""
    return _BUILT_IN["scale"]
