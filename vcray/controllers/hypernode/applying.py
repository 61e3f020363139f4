"""The HyperNodes of a source are made what it found: made, brought up to date, deleted.

Its own are those with its label. A HyperNode of that name without it is somebody else's and stays as it is. Labels that others put
on it stay; the status is not touched: it is counted anew when the spec changed. Narrow tiers come first and go last, so that a
HyperNode that names others finds them.
"""

from __future__ import annotations

from collections.abc import Sequence

from vcray.api import names
from vcray.api.meta import JsonObject
from vcray.api.resources import HYPERNODES
from vcray.controllers import raw
from vcray.controllers.base import Create, Delete, Effect, Effects, Seen, Update
from vcray.controllers.hypernode.discovery import DiscoveryError, Found


def apply(source: str, found: Sequence[Found], seen: Seen) -> Effects:
    """All that is needed, one after the other. Raises DiscoveryError at the end with what was refused."""
    own = {
        raw.name(each): each
        for each in seen.list(HYPERNODES)
        if raw.labels_of(each).get(names.NETWORK_TOPOLOGY_SOURCE) == source
    }
    refused: list[str] = []
    steps: list[tuple[str, Effect]] = []
    for each in sorted(found, key=lambda each: (each.tier, each.name)):
        held = own.pop(each.name, None)
        if held is None and seen.get(HYPERNODES, "", each.name) is not None:
            refused.append(f"HyperNode {each.name} is there and not of this source")
            continue
        step = _step(each, held, source)
        if step is not None:
            steps.append((each.name, step))
    steps += (
        (raw.name(gone), Delete(HYPERNODES, "", raw.name(gone), uid=raw.uid(gone)))
        for gone in sorted(own.values(), key=_tier, reverse=True)
    )
    for name, step in steps:
        outcome = yield step
        if not outcome.ok and not (isinstance(step, Delete) and outcome.not_found):
            refused.append(f"{type(step).__name__.lower()} HyperNode {name}: {outcome.why}")
    if refused:
        raise DiscoveryError("; ".join(refused))


def _step(found: Found, held: JsonObject | None, source: str) -> Effect | None:
    """What makes a HyperNode of the found one; None when it is one."""
    marks, spec = found.marks(source), found.spec()
    if held is None:
        metadata: JsonObject = {"name": found.name, "labels": dict(marks)}
        return Create(
            HYPERNODES,
            {
                "apiVersion": HYPERNODES.api_version,
                "kind": HYPERNODES.kind,
                "metadata": metadata,
                "spec": spec,
            },
        )
    labels = {**raw.labels_of(held), **marks}
    if labels == raw.labels_of(held) and held.get("spec") == spec:
        return None
    changed = raw.copied(held)
    changed["metadata"] = {**raw.table(changed, "metadata"), "labels": dict(labels)}
    changed["spec"] = spec
    return Update(HYPERNODES, changed)


def _tier(hypernode: JsonObject) -> int:
    return raw.number(hypernode, "spec", "tier")
