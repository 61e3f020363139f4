"""What the scheduler keeps of pods: where they are or want to be, and what they ask for."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from vcray.api import wire
from vcray.api.quantity import QuantityError
from vcray.cache.podspec import PodForm, claims_of, resident_form, waiting_form
from vcray.cluster.workloads.informers import Head

_FINISHED = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class Seen:
    """A pod that is not done. `claims` are names in its namespace; `form` is all that placing it asks."""

    head: Head
    node: str
    scheduler: str
    gated: bool
    deleting: bool
    priority: int
    created: float
    form: PodForm
    claims: tuple[str, ...]


def read_pod(raw: msgspec.Raw) -> Seen | None:
    """A pod from its JSON; None for one that is done and so takes no room. Raises msgspec.DecodeError."""
    pod = wire.decode_pod(raw)
    if pod.status.phase in _FINISHED:
        return None
    meta, spec = pod.metadata, pod.spec
    try:
        form = resident_form(pod) if spec.node_name else waiting_form(pod)
    except QuantityError as error:
        raise msgspec.DecodeError(str(error)) from error
    created = meta.creation_timestamp
    return Seen(
        head=Head(meta.namespace, meta.name, meta.uid, int(meta.resource_version or 0), ""),
        node=spec.node_name,
        scheduler=spec.scheduler_name,
        gated=bool(spec.scheduling_gates),
        deleting=meta.deletion_timestamp is not None,
        priority=spec.priority or 0,
        created=created.timestamp() if created else 0.0,
        form=form,
        claims=tuple(name for name, _ in claims_of(pod)),
    )
