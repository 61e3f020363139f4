"""How objects leave: at once, after a grace period, or when their finalizers are done.

Only pods have a grace period: one that is on a node and not finished is marked, and goes when its kubelet deletes it
with grace 0. Everything else goes at once unless finalizers hold it.
"""

from __future__ import annotations

from dataclasses import dataclass

from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import KUBERNETES_JOBS, PODS, REPLICATIONCONTROLLERS, Resource
from vcray.clock import rfc3339
from vcray.cluster.objects import refusals
from vcray.cluster.objects.record import Record, dig, integer, section, text

DEFAULT_GRACE_SECONDS = 30
FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"
_FINISHED = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """What a delete asks for; None, and an empty propagation, where it says nothing."""

    grace_seconds: int | None = None
    propagation: str = "Background"
    uid: str = ""
    resource_version: str = ""
    dry_run: bool = False


def read_options(body: JsonObject, query_grace: str = "", query_propagation: str = "") -> DeleteOptions:
    """Delete options from a request's body, or from its query where the body is silent."""
    grace = body.get("gracePeriodSeconds")
    seconds = grace if isinstance(grace, int) else int(query_grace) if query_grace.isdigit() else None
    propagation = text(body.get("propagationPolicy")) or query_propagation
    orphans = body.get("orphanDependents")
    if not propagation and orphans is not None:
        propagation = "Orphan" if orphans else "Background"
    dry_run = body.get("dryRun")
    return DeleteOptions(
        grace_seconds=seconds,
        propagation=propagation,
        uid=text(dig(body, "preconditions", "uid")),
        resource_version=text(dig(body, "preconditions", "resourceVersion")),
        dry_run=isinstance(dry_run, list) and "All" in dry_run,
    )


def propagation_of(resource: Resource, obj: JsonObject, options: DeleteOptions) -> str:
    """What a delete does to dependents: as asked for, else by the object's finalizers, else by its kind's custom."""
    if options.propagation:
        return options.propagation
    held = finalizers(obj)
    if ORPHAN in held or FOREGROUND in held:
        return "Orphan" if ORPHAN in held else "Foreground"
    return "Orphan" if resource in (REPLICATIONCONTROLLERS, KUBERNETES_JOBS) else "Background"


def check_preconditions(record: Record, options: DeleteOptions) -> None:
    """Refuse (Conflict) to delete another object or version than the one that is meant."""
    if options.uid and options.uid != record.uid:
        why = (
            f"the UID in the precondition ({options.uid}) does not match the UID in record ({record.uid}). "
            "The object might have been deleted and then recreated"
        )
        raise refusals.precondition(record.resource, record.name, why)
    if options.resource_version and options.resource_version != str(record.version):
        why = (
            f"the ResourceVersion in the precondition ({options.resource_version}) does not match the ResourceVersion "
            f"in record ({record.version}). The object might have been modified"
        )
        raise refusals.precondition(record.resource, record.name, why)


def grace_of(record: Record, obj: JsonObject, options: DeleteOptions) -> int:
    """Seconds until the object must be gone; zero for everything but a pod that may be running."""
    if record.resource != PODS:
        return 0
    placed, phase = dig(obj, "spec", "nodeName"), dig(obj, "status", "phase")
    if not placed or phase in _FINISHED:
        return 0
    if options.grace_seconds is not None:
        return max(options.grace_seconds, 0)
    configured = dig(obj, "spec", "terminationGracePeriodSeconds")
    return integer(configured) if configured is not None else DEFAULT_GRACE_SECONDS


def mark(obj: JsonObject, grace_seconds: int, now: float) -> bool:
    """Mark an object as being deleted, in place; a later delete may only shorten the grace. True if that changed it."""
    metadata = section(obj, "metadata")
    if metadata.get("deletionTimestamp"):
        if grace_seconds >= integer(metadata.get("deletionGracePeriodSeconds")):
            return False
    else:
        generation = integer(metadata.get("generation"))
        if generation:
            metadata["generation"] = generation + 1
    metadata["deletionTimestamp"] = rfc3339(now + grace_seconds)
    metadata["deletionGracePeriodSeconds"] = grace_seconds
    return True


def finalizers(obj: JsonObject) -> list[str]:
    """The finalizers of an object."""
    found = dig(obj, "metadata", "finalizers")
    return [item for item in found if isinstance(item, str)] if isinstance(found, list) else []


def add_finalizer(obj: JsonObject, name: str) -> bool:
    """Add a finalizer in place; False if it was there."""
    present = finalizers(obj)
    if name in present:
        return False
    listed: list[JsonValue] = [*present, name]
    section(obj, "metadata")["finalizers"] = listed
    return True


def drop_finalizer(obj: JsonObject, name: str) -> bool:
    """Remove a finalizer in place; False if it was not there."""
    present = finalizers(obj)
    if name not in present:
        return False
    left: list[JsonValue] = [item for item in present if item != name]
    metadata = section(obj, "metadata")
    if left:
        metadata["finalizers"] = left
    else:
        metadata.pop("finalizers")
    return True


def is_done(obj: JsonObject) -> bool:
    """Whether a marked object has nothing left to wait for."""
    metadata = section(obj, "metadata")
    if not metadata.get("deletionTimestamp") or finalizers(obj):
        return False
    return integer(metadata.get("deletionGracePeriodSeconds")) == 0
