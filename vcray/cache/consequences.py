"""Which pods must be looked at again when an object other than a pod or node changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vcray.cache import details
from vcray.cache.delta import Field
from vcray.cache.resolver import DEVICE, Resolver
from vcray.cache.rows import (
    ClusterRow,
    DetailRow,
    GroupRow,
    NamespaceRow,
    PriorityClassRow,
    QueueRow,
    WorkloadRow,
)
from vcray.core.storage import ClaimRow, StorageClassRow, Volume


@dataclass(frozen=True, slots=True)
class Touched:
    """Pods with one of these numbers in a column."""

    field: Field
    numbers: Sequence[int]


def place_of(row: ClusterRow) -> tuple[str, str]:
    """Kind and key of a row."""
    match row:
        case GroupRow():
            return "PodGroup", row.key
        case QueueRow():
            return "Queue", row.name
        case ClaimRow():
            return "PersistentVolumeClaim", row.key
        case StorageClassRow():
            return "StorageClass", row.name
        case PriorityClassRow():
            return "PriorityClass", row.name
        case NamespaceRow():
            return "Namespace", row.name
        case WorkloadRow():
            kind, _, key = row.key.partition("/")
            return kind, key
        case DetailRow():
            return row.kind, row.key


def touched_by(
    resolver: Resolver, strings: dict[str, int], kind: str, key: str, rows: Sequence[ClusterRow]
) -> Touched | None:
    """Pods that an object touches, once the new state is known; `rows` are its old and new row, where there are any."""
    match kind:
        case "PersistentVolumeClaim":
            return Touched(Field.CLAIMS, resolver.recheck_claims(resolver.claims_at.get(key, ())))
        case "StorageClass" | "CSINode" | "CSIDriver":
            return Touched(Field.CLAIMS, resolver.recheck_claims(range(len(resolver.claims))))
        case "PersistentVolume":
            return Touched(Field.CLAIMS, resolver.recheck_claims(_claimants(resolver, key, rows)))
        case "ResourceClaim":
            namespace, _, name = key.partition("/")
            numbers = resolver.claims_at.get(f"{namespace}/{DEVICE}{name}", ())
            return Touched(Field.CLAIMS, resolver.recheck_claims(numbers))
        case "Namespace":
            resolver.forget_namespaces()
            return Touched(Field.FORM, resolver.forms.choosing_namespaces())
        case "Service":
            return Touched(Field.LABELS, _selected(resolver, key, rows))
        case "ReplicaSet" | "ReplicationController" | "StatefulSet":
            owner = strings.get(f"{kind}/{key.partition('/')[2]}")
            return Touched(Field.OWNER, () if owner is None else (owner,))
    return None


def _claimants(resolver: Resolver, volume: str, rows: Sequence[ClusterRow]) -> list[int]:
    """Claim sets with a claim that the volume belongs or belonged to, or that names it: either may come first."""
    claims = dict(resolver.knowledge.claims_on.get(volume, {}))
    for row in rows:
        kept = details.unpack_row(row.kind, row.value) if isinstance(row, DetailRow) else None
        if isinstance(kept, Volume) and kept.claim:
            claims[kept.claim] = None
    return list(dict.fromkeys(number for claim in claims for number in resolver.claims_at.get(claim, ())))


def _selected(resolver: Resolver, key: str, rows: Sequence[ClusterRow]) -> list[int]:
    namespace = (key.partition("/")[0],)
    return [
        number
        for row in rows
        if isinstance(row, WorkloadRow) and row.requirements
        for number in resolver.labels.selected(namespace, row.requirements)
    ]
