"""Volume claims of a job: a named one must exist, one without a name is made and its name written into the spec.

The made-up name is derived from the job's uid, so a turn that is repeated finds the claim it made. Claims are never
deleted here: the job owns them, and they go with it.
"""

from __future__ import annotations

from vcray.api.batch import VolumeSpec
from vcray.api.resources import PERSISTENTVOLUMECLAIMS
from vcray.controllers import raw
from vcray.controllers.base import Create, Effects, Read, ReconcileError
from vcray.controllers.job.pods import suffix
from vcray.controllers.job.turn import Turn
from vcray.controllers.job.view import JobView


def keep_claims(turn: Turn) -> Effects:
    """Find or make every claim. ReconcileError that does not count when a named one is missing."""
    try:
        for index, volume in enumerate(turn.job.spec.volumes):
            name = volume.volume_claim_name or f"{turn.job.name}-pvc-{suffix(turn.job.uid, str(index))}"
            mark = f"volume-pvc-{name}"
            if turn.status.controlled.get(mark) == name and volume.volume_claim_name:
                continue
            if volume.volume_claim_name:
                yield from _find(turn.job, name)
            else:
                yield from _make(turn.job, name, volume)
                yield from turn.patch_job(
                    [{"op": "add", "path": f"/spec/volumes/{index}/volumeClaimName", "value": name}]
                )
            turn.mark(mark, name)
    except ReconcileError as error:
        yield from turn.event("Warning", "PVCError", f"Failed to create PVC, err: {error}")
        raise


def _find(job: JobView, name: str) -> Effects:
    outcome = yield Read(PERSISTENTVOLUMECLAIMS, job.namespace, name)
    if outcome.not_found:
        message = f"pvc {name} is not found, the job will be in the Pending state until the PVC is created"
        raise ReconcileError(message, counts=False)
    if not outcome.ok:
        raise ReconcileError(outcome.message)


def _make(job: JobView, name: str, volume: VolumeSpec) -> Effects:
    if volume.volume_claim is None:
        return
    outcome = yield Create(
        PERSISTENTVOLUMECLAIMS,
        {
            "apiVersion": PERSISTENTVOLUMECLAIMS.api_version,
            "kind": PERSISTENTVOLUMECLAIMS.kind,
            "metadata": {
                "name": name,
                "namespace": job.namespace,
                "ownerReferences": [job.owner_reference],
            },
            "spec": raw.copied(volume.volume_claim),
        },
    )
    if not outcome.ok and not outcome.already_exists:
        raise ReconcileError(outcome.message)
