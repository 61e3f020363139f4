"""What changed in one shard, as rows: self-contained, frozen, able to cross a process as msgpack.

Pods come as one matrix of int64 columns; names, forms, label sets and claim sets stand once in tables beside it and the
columns hold their numbers, which mean nothing outside this delta. Nodes and the kinds that are not spread over
shards are few and come as plain rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

import msgspec
import numpy as np

from vcray.cache.labels import Labels
from vcray.cache.podspec import PodForm
from vcray.cache.rows import (
    ClusterRow,
    DetailRow,
    GroupRow,
    NamespaceRow,
    NodeRow,
    PodRow,
    PriorityClassRow,
    QueueRow,
    WorkloadRow,
)
from vcray.core.arrays import Int
from vcray.core.storage import ClaimRow, StorageClassRow
from vcray.core.tables import PodFacts

SCHEMA: Final = 4
"""Version of the frame; a reader refuses any other."""


class Field(IntEnum):
    """Rows of the pod matrix. JOB, NODE, NOMINATED, ROLE, OWNER number strings; the rest is plain or numbers its table."""

    VERSION = 0
    JOB = 1
    NODE = 2
    STATUS = 3
    PRIORITY = 4
    CREATED = 5
    ORDINAL = 6
    ROLE = 7
    GATED = 8
    NOMINATED = 9
    FORM = 10
    LABELS = 11
    OWNER = 12
    CLAIMS = 13
    FACTS = 14
    STARTED = 15
    SCHEDULED = 16


FIELDS: Final = len(Field)

NamespacedLabels = tuple[str, Labels]
NamespacedClaims = tuple[str, tuple[tuple[str, bool], ...], tuple[str, ...]]
"""Namespace, volume claims and ResourceClaims of a pod (`PodRow.claims`, `PodRow.devices`)."""
NO_CLAIMS: Final[NamespacedClaims] = ("", (), ())
Gone = tuple[tuple[str, int], ...]
"""(key, resourceVersion) of what was deleted."""


class DeltaError(ValueError):
    """Bytes that are no delta of this version."""


@dataclass(frozen=True, slots=True, eq=False)
class Delta:
    """Changes of shard `shard`, its `generation`-th. `full`: this is all that the shard holds; what it held and is not
    here is gone. `refused`: (kind, key, why) of objects that could not be read and were left as they were."""

    shard: int
    generation: int
    full: bool = False
    strings: tuple[str, ...] = ("",)
    forms: tuple[PodForm, ...] = ()
    labels: tuple[NamespacedLabels, ...] = ()
    claims: tuple[NamespacedClaims, ...] = ()
    facts: tuple[PodFacts, ...] = (PodFacts(),)
    keys: tuple[str, ...] = ()
    uids: tuple[str, ...] = ()
    values: Int = field(default_factory=lambda: np.zeros((FIELDS, 0), np.int64))
    gone: Gone = ()
    nodes: tuple[NodeRow, ...] = ()
    gone_nodes: Gone = ()
    cluster: tuple[tuple[int, ClusterRow], ...] = ()  # (resourceVersion, row)
    gone_cluster: tuple[tuple[str, str, int], ...] = ()  # (kind, key, resourceVersion)
    refused: tuple[tuple[str, str, str], ...] = ()

    def __bool__(self) -> bool:
        """Is there anything in it?"""
        parts: Sequence[Sequence[object]] = (
            self.keys, self.gone, self.nodes, self.gone_nodes, self.cluster, self.gone_cluster, self.refused,
        )  # fmt: skip
        return self.full or any(parts)


class _Numbers:
    """Numbers for values in order of appearance."""

    def __init__(self) -> None:
        self.of: dict[object, int] = {}

    def __call__(self, value: object) -> int:
        return self.of.setdefault(value, len(self.of))


class PodMatrix:
    """Collects pod rows into the columns and tables of a delta."""

    def __init__(self, rows: Iterable[PodRow]) -> None:
        string, form, labels, claims, facts = (_Numbers() for _ in range(5))
        string("")
        facts(PodFacts())
        claims(NO_CLAIMS)
        forms: list[PodForm] = []
        keys, uids, flat = [], [], []
        for row in rows:
            number = form(id(row.form))
            if number == len(forms):
                forms.append(row.form)
            namespace = row.key.partition("/")[0]
            keys.append(row.key)
            uids.append(row.uid)
            flat.append(
                (
                    row.version,
                    string(row.job),
                    string(row.node),
                    row.status,
                    row.priority,
                    row.created,
                    row.ordinal,
                    string(row.role),
                    int(row.gated),
                    string(row.nominated),
                    number,
                    labels((namespace, row.labels)),
                    string(row.owner),
                    claims((namespace, row.claims, row.devices)) if row.claims or row.devices else 0,
                    facts(row.facts),
                    row.started,
                    row.scheduled,
                )
            )
        self.keys, self.uids, self.forms = tuple(keys), tuple(uids), tuple(forms)
        self.strings: tuple[str, ...] = tuple(string.of)  # type: ignore[arg-type]
        self.labels: tuple[NamespacedLabels, ...] = tuple(labels.of)  # type: ignore[arg-type]
        self.claims: tuple[NamespacedClaims, ...] = tuple(claims.of)  # type: ignore[arg-type]
        self.facts: tuple[PodFacts, ...] = tuple(facts.of)  # type: ignore[arg-type]
        self.values: Int = np.array(flat, np.int64).reshape(len(flat), FIELDS).T.copy()
        self.values.flags.writeable = False

    def delta(self) -> Delta:
        """A delta of these pods alone."""
        return Delta(
            shard=0,
            generation=0,
            strings=self.strings,
            forms=self.forms,
            labels=self.labels,
            claims=self.claims,
            facts=self.facts,
            keys=self.keys,
            uids=self.uids,
            values=self.values,
        )


_ROWS: Final[dict[str, type[ClusterRow]]] = {
    "GroupRow": GroupRow,
    "QueueRow": QueueRow,
    "ClaimRow": ClaimRow,
    "StorageClassRow": StorageClassRow,
    "PriorityClassRow": PriorityClassRow,
    "NamespaceRow": NamespaceRow,
    "WorkloadRow": WorkloadRow,
    "DetailRow": DetailRow,
}


class _Frame(msgspec.Struct, array_like=True, frozen=True):
    """The delta on the wire."""

    schema: int
    shard: int
    generation: int
    full: bool
    strings: tuple[str, ...]
    forms: tuple[PodForm, ...]
    labels: tuple[NamespacedLabels, ...]
    claims: tuple[NamespacedClaims, ...]
    facts: tuple[PodFacts, ...]
    keys: tuple[str, ...]
    uids: tuple[str, ...]
    values: bytes
    gone: Gone
    nodes: tuple[NodeRow, ...]
    gone_nodes: Gone
    cluster: tuple[tuple[int, str, msgspec.Raw], ...]
    gone_cluster: tuple[tuple[str, str, int], ...]
    refused: tuple[tuple[str, str, str], ...]


class _Head(msgspec.Struct, array_like=True, frozen=True):
    schema: int


_frames = msgspec.msgpack.Decoder(_Frame)
_heads = msgspec.msgpack.Decoder(_Head)


def pack(delta: Delta) -> bytes:
    """The delta as msgpack: header fields, then tables, then the column buffer."""
    rows = tuple(
        (version, type(row).__name__, msgspec.Raw(msgspec.msgpack.encode(row)))
        for version, row in delta.cluster
    )
    return msgspec.msgpack.encode(
        _Frame(
            schema=SCHEMA,
            shard=delta.shard,
            generation=delta.generation,
            full=delta.full,
            strings=delta.strings,
            forms=delta.forms,
            labels=delta.labels,
            claims=delta.claims,
            facts=delta.facts,
            keys=delta.keys,
            uids=delta.uids,
            values=delta.values.astype("<i8", copy=False).tobytes(),
            gone=delta.gone,
            nodes=delta.nodes,
            gone_nodes=delta.gone_nodes,
            cluster=rows,
            gone_cluster=delta.gone_cluster,
            refused=delta.refused,
        )
    )


def unpack(data: bytes) -> Delta:
    """The delta of packed bytes. Raises DeltaError for another version or for bytes that are no delta."""
    try:
        schema = _heads.decode(data).schema
        if schema != SCHEMA:
            raise DeltaError(
                f"delta of schema {schema}, this process reads {SCHEMA}: run one version everywhere"
            )
        frame = _frames.decode(data)
        rows = tuple(
            (version, msgspec.msgpack.decode(raw, type=_ROWS[kind])) for version, kind, raw in frame.cluster
        )
        values = np.frombuffer(frame.values, "<i8").reshape(FIELDS, len(frame.keys)).astype(np.int64)
    except (msgspec.DecodeError, KeyError) as error:
        raise DeltaError(f"not a delta: {error}") from error
    values.flags.writeable = False
    return Delta(
        shard=frame.shard,
        generation=frame.generation,
        full=frame.full,
        strings=frame.strings,
        forms=frame.forms,
        labels=frame.labels,
        claims=frame.claims,
        facts=frame.facts,
        keys=frame.keys,
        uids=frame.uids,
        values=values,
        gone=frame.gone,
        nodes=frame.nodes,
        gone_nodes=frame.gone_nodes,
        cluster=rows,
        gone_cluster=frame.gone_cluster,
        refused=frame.refused,
    )
