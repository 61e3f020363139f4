"""The claims of volumes as kubelets see them: which volume each is bound to, and whose pods wait for it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing

import msgspec
from msgspec import Struct

from vcray.api.resources import PERSISTENTVOLUMECLAIMS
from vcray.cluster.kubelet.following import changes
from vcray.cluster.kubelet.sightings import SeenPod
from vcray.kube.client import KubeClient


class _Spec(Struct, frozen=True, rename="camel", gc=False):
    volume_name: str = ""


class _Status(Struct, frozen=True, gc=False):
    phase: str = ""


class _Claim(Struct, frozen=True, gc=False):
    spec: _Spec = _Spec()
    status: _Status = _Status()


_claims = msgspec.json.Decoder(_Claim)


def claims_of(pod: SeenPod) -> dict[str, str]:
    """The claims that a pod mounts: volume -> `namespace/name`."""
    head, found = pod.metadata, dict[str, str]()
    for volume in pod.spec.volumes or ():
        if volume.persistent_volume_claim is not None:
            found[volume.name] = f"{head.namespace}/{volume.persistent_volume_claim.claim_name}"
        elif volume.ephemeral is not None:
            found[volume.name] = f"{head.namespace}/{head.name}-{volume.name}"
    return found


class ClaimBook:
    """Follows all claims. `bound` calls hear the key of a claim that has got its volume."""

    def __init__(self, client: KubeClient, bound: Callable[[str], None]) -> None:
        self._client = client
        self._bound = bound
        self._volumes: dict[str, str] = {}

    async def run(self) -> None:
        """Follow the claims until cancelled."""
        async with aclosing(changes(self._client, PERSISTENTVOLUMECLAIMS)) as claims:
            async for key, body in claims:
                if body is None:
                    self._volumes.pop(key, None)
                else:
                    self._see(key, body)

    def volume(self, claim: str) -> str:
        """The volume of a claim (`namespace/name`); empty while it has none."""
        return self._volumes.get(claim, "")

    def _see(self, key: str, body: msgspec.Raw) -> None:
        claim = _claims.decode(body)
        if claim.status.phase != "Bound":
            self._volumes.pop(key, None)
        elif self._volumes.get(key) != claim.spec.volume_name:
            self._volumes[key] = claim.spec.volume_name
            self._bound(key)
