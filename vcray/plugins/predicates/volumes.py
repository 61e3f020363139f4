"""VolumeBinding, VolumeZone and VolumeRestrictions of kube-scheduler, for all nodes at once.

A bound claim confines its pod to the nodes that reach its volume. A claim that waits for its first consumer takes the smallest
volume that fits and that the node reaches, else it is made for the node if its class can. A volume is given to one claim only:
in this session, and until its object shows the claim of an earlier decision. Several claims of a pod choose one after the
other, small ones first, as kube-scheduler does; equal sizes go by name there and here by name too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import attrgetter

import numpy as np

from vcray.core.arrays import Bool, Int
from vcray.core.decisions import Preparation
from vcray.core.hooks import Reject
from vcray.core.selectors import satisfies
from vcray.core.storage import ONE_POD, ClaimRow, Storage, Volume
from vcray.core.view import Shape, View
from vcray.plugins.predicates.free_volumes import NOWHERE, FreeVolumes
from vcray.plugins.predicates.volume_nodes import VolumeNodes

ZONE = "node(s) had no available volume zone"
IN_USE = "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
UNREACHED = "node(s) didn't match PersistentVolume's node affinity"
UNMATCHED = "node(s) didn't find available persistent volumes to bind"
FULL = "node(s) did not have enough free storage"


@dataclass(frozen=True, slots=True)
class Pick:
    """For a claim that has no volume yet: (N,) number of the volume that it would get on each node, NOWHERE to make one."""

    claim: ClaimRow
    volumes: tuple[Volume, ...]
    chosen: Int


@dataclass(frozen=True, slots=True)
class Fit:
    """Where a pod's volumes let it go at one moment; masks are (N,). `missing`: a bound volume that does not exist."""

    missing: str
    in_use: bool
    zoned: Bool
    reached: Bool
    matched: Bool
    roomy: Bool
    picks: tuple[Pick, ...]

    @property
    def ok(self) -> Bool:
        """(N,) nodes that pass."""
        closed = self.in_use or bool(self.missing)
        return self.zoned & self.reached & self.matched & self.roomy & (not closed)


class Volumes:
    """The volumes of a session: what is free, and who got what. `binding`, `zone` switch kube-scheduler's plugins."""

    def __init__(self, view: View, storage: Storage, binding: bool, zone: bool, timeout_s: int) -> None:
        self._storage = storage
        self._nodes = VolumeNodes(view.snapshot.nodes, storage)
        self._names = view.snapshot.nodes.names
        self._binding = binding
        self._zone = zone
        self._timeout_s = timeout_s
        self._owner: dict[str, str] = dict(storage.promised)
        self._volume_of: dict[str, str] = {claim: volume for volume, claim in storage.promised.items()}
        self._node_of: dict[str, str] = {}
        self._used: dict[str, int] = dict(view.snapshot.details.claim_users or {})
        self._version = 0
        self._fits: dict[int, tuple[int, Fit]] = {}
        self._of_class: dict[str, list[Volume]] | None = None
        self._moved: list[str] = []
        self._candidates: dict[object, FreeVolumes] = {}

    # ---- hooks ----

    def moves(self, shape: Shape) -> bool:
        """Does placing such a pod change what is left for others?"""
        claims = [self._storage.claims.get(key) for key in shape.spec.claims]
        return any(
            claim is not None and ((self._binding and not claim.bound) or ONE_POD in claim.access_modes)
            for claim in claims
        )

    def fit(self, shape: Shape) -> Fit:
        """Where its volumes let the shape go now."""
        known = self._fits.get(shape.row)
        if known is None or known[0] != self._version:
            known = self._fits[shape.row] = (self._version, self._work_out(shape))
        return known[1]

    def rejects(self, shape: Shape) -> Iterator[Reject]:
        """Who refuses and why. Only a claim that another pod uses can be freed by evicting."""
        fit = self.fit(shape)
        everywhere = np.ones(len(self._names), dtype=bool)
        if fit.in_use:
            yield Reject(everywhere, IN_USE, curable=True)
        if fit.missing:
            yield Reject(everywhere, f'persistentvolume "{fit.missing}" not found', curable=False)
        for mask, reason in (
            (fit.zoned, ZONE),
            (fit.reached, UNREACHED),
            (fit.matched, UNMATCHED),
            (fit.roomy, FULL),
        ):
            yield Reject(~mask, reason, curable=False)

    def reserve(self, shape: Shape, node: int) -> Callable[[], None] | str:
        """Give the pod on the node the volumes that it would get there; what undoes it, or why not."""
        fit = self.fit(shape)
        if not fit.ok[node]:
            return next(each.reason for each in self.rejects(shape) if each.where[node])
        undos: list[Callable[[], None]] = []
        for pick in fit.picks:
            number = int(pick.chosen[node])
            if number == NOWHERE:
                undos.append(_put(self._node_of, pick.claim.key, self._names[node]))
            else:
                volume = pick.volumes[number].name
                undos.append(_put(self._owner, volume, pick.claim.key, self._moved))
                undos.append(_put(self._volume_of, pick.claim.key, volume))
        undos.append(self._use(shape, 1))
        return self._undoing(undos)

    def release(self, shape: Shape) -> Callable[[], None]:
        """The pod is being evicted: claims of one pod are free for another; volumes stay with their claims."""
        return self._undoing([self._use(shape, -1)])

    def _undoing(self, undos: list[Callable[[], None]]) -> Callable[[], None]:
        self._version += 1

        def undo() -> None:
            self._version += 1
            for each in reversed(undos):
                each()

        return undo

    def _use(self, shape: Shape, count: int) -> Callable[[], None]:
        keys = [key for key in dict.fromkeys(shape.spec.claims) if self._single(key)]
        for key in keys:
            self._used[key] = self._used.get(key, 0) + count

        def undo() -> None:
            for key in keys:
                self._used[key] -= count

        return undo

    def _single(self, key: str) -> bool:
        claim = self._storage.claims.get(key)
        return claim is not None and ONE_POD in claim.access_modes

    def before(self, shape: Shape) -> Preparation:
        """What must be written for a placed pod before it is bound."""
        volumes, provisions = [], []
        for key in dict.fromkeys(shape.spec.claims):
            claim = self._storage.claims.get(key)
            if claim is None or claim.bound or not self._binding:
                continue
            if key in self._volume_of:
                volumes.append((key, claim.uid, self._volume_of[key]))
            else:
                provisions.append((key, claim.uid))
        return Preparation(tuple(sorted(volumes)), tuple(sorted(provisions)), timeout_s=self._timeout_s)

    # ---- working it out ----

    def _work_out(self, shape: Shape) -> Fit:
        everywhere = np.ones(len(self._names), dtype=bool)
        zoned, reached, missing = everywhere.copy(), everywhere.copy(), ""
        waiting: list[ClaimRow] = []
        claims = [
            self._storage.claims[key]
            for key in dict.fromkeys(shape.spec.claims)
            if key in self._storage.claims
        ]
        for claim in claims:
            if not claim.bound:
                waiting.append(claim)
                continue
            volume = self._storage.volumes.get(claim.volume)
            if volume is None:
                missing = missing or claim.volume
                continue
            if self._zone and volume.zones:
                zoned &= self._nodes.zoned(volume.zones)
            if self._binding and volume.nodes is not None:
                reached &= self._nodes.mask(volume.nodes)
        in_use = any(self._single(claim.key) and self._used.get(claim.key, 0) > 0 for claim in claims)
        matched, roomy = everywhere, everywhere
        picks: tuple[Pick, ...] = ()
        if self._binding and waiting:
            matched, roomy, picks = self._match(sorted(waiting, key=attrgetter("size", "key")))
        return Fit(missing, in_use, zoned, reached, matched, roomy, picks)

    def _match(self, waiting: list[ClaimRow]) -> tuple[Bool, Bool, tuple[Pick, ...]]:
        """Volumes for claims in order: where each finds or gets one, where storage is short, and which."""
        count = len(self._names)
        matched, roomy = np.ones(count, dtype=bool), np.ones(count, dtype=bool)
        picks: list[Pick] = []
        for claim in waiting:
            selected = claim.selected or self._node_of.get(claim.key, "")
            pick = self._pick(claim, picks) if not selected else Pick(claim, (), np.full(count, NOWHERE))
            picks.append(pick)
            without = pick.chosen == NOWHERE
            found = self._storage.classes.get(claim.storage_class)
            can = np.zeros(count, dtype=bool)
            if found is not None and claim.key not in self._volume_of:
                can = self._nodes.provisioned(found)
                roomy &= ~without | ~can | self._nodes.roomy(found, claim)
            if selected:
                can = can & self._nodes.only(selected)
            matched &= ~without | can
        return matched, roomy, tuple(picks)

    def _pick(self, claim: ClaimRow, before: list[Pick]) -> Pick:
        """The smallest volume on each node that no other claim has, here or among the pod's own before it."""
        volumes = self._choice(claim)
        suitable = self._suitable(claim)
        if volumes is suitable.volumes and not before:
            return Pick(claim, volumes, suitable.chosen())
        own = [(set(pick.volumes), pick) for pick in before]
        chosen = np.full(len(self._names), NOWHERE)
        for number, volume in enumerate(volumes):
            if self._owner.get(volume.name, claim.key) != claim.key:
                continue
            rows = self._nodes.rows(volume)
            rows = rows[chosen[rows] == NOWHERE]
            for known, pick in own:
                if volume in known:
                    rows = rows[pick.chosen[rows] != pick.volumes.index(volume)]
            chosen[rows] = number
        return Pick(claim, volumes, chosen)

    def _choice(self, claim: ClaimRow) -> tuple[Volume, ...]:
        """Volumes that would do for a claim, smallest first; one that has its name on it already is the only one."""
        given = self._volume_of.get(claim.key)
        if given is not None:
            return (self._storage.volumes[given],) if given in self._storage.volumes else ()
        for volume in self._named(claim.key):
            if volume.claim_uid in ("", claim.uid) and _holds(volume, claim):
                return (volume,)
        return self._suitable(claim).volumes

    def _suitable(self, claim: ClaimRow) -> FreeVolumes:
        """Volumes that would do for claims of that kind."""
        kind = (
            claim.storage_class,
            claim.size,
            claim.access_modes,
            claim.mode,
            claim.attributes_class,
            claim.selector,
        )
        found = self._candidates.get(kind)
        if found is None:
            suitable = [volume for volume in self._free(claim.storage_class) if _suits(volume, claim)]
            ordered = tuple(sorted(suitable, key=attrgetter("size", "name")))
            found = self._candidates[kind] = FreeVolumes(ordered, self._nodes, self._owner, self._moved)
        return found

    def _index(self) -> dict[str, list[Volume]]:
        """Volumes by class that nobody has, and under `claim:` and its key those that carry a claim's name."""
        if self._of_class is None:
            self._of_class = {}
            for _, volume in sorted(self._storage.volumes.items()):
                key = f"claim:{volume.claim}" if volume.claim else volume.storage_class
                self._of_class.setdefault(key, []).append(volume)
        return self._of_class

    def _free(self, storage_class: str) -> list[Volume]:
        return self._index().get(storage_class, [])

    def _named(self, key: str) -> list[Volume]:
        return self._index().get(f"claim:{key}", [])


def _holds(volume: Volume, claim: ClaimRow) -> bool:
    return (
        volume.size >= claim.size
        and volume.mode == claim.mode
        and volume.attributes_class == claim.attributes_class
        and not volume.deleting
    )


def _suits(volume: Volume, claim: ClaimRow) -> bool:
    return (
        volume.available
        and _holds(volume, claim)
        and set(claim.access_modes) <= set(volume.access_modes)
        and (claim.selector is None or satisfies(claim.selector, dict(volume.labels)))
    )


def _put(table: dict[str, str], key: str, value: str, journal: list[str] | None = None) -> Callable[[], None]:
    """Set an entry; what brings the old one back. Both are noted in the journal."""
    old = table.get(key)
    table[key] = value
    journal = [] if journal is None else journal
    journal.append(key)

    def undo() -> None:
        journal.append(key)
        if old is None:
            del table[key]
        else:
            table[key] = old

    return undo
