"""What a pod's claims mean for it: why it must wait, what they count on a node, and which of them placement must look at.

A claim of either kind that is missing or about to go holds back its own pod alone. Words are kube-scheduler's.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from vcray.api import names
from vcray.cache.amounts import Amounts
from vcray.cache.delta import NamespacedClaims
from vcray.core.claims_dra import ResourceClaim
from vcray.core.decisions import Preparation
from vcray.core.storage import ONE_POD, ClaimRow, Driver, Drivers, Volume

if TYPE_CHECKING:
    from vcray.cache.knowledge import Knowledge

UNBOUND: Final = "pod has unbound immediate PersistentVolumeClaims"
IGNORED_DRIVERS: Final = frozenset({"rancher.io/local-path", "hostpath.csi.k8s.io"})
"""Drivers whose volumes count nothing on a node."""

UNSAID: Final = 2**31 - 1
"""What a node can attach when its driver does not say."""

VOLUME: Final = "PersistentVolume"
CSI_NODE: Final = "CSINode"
CSI_DRIVER: Final = "CSIDriver"
RESOURCE_CLAIM: Final = "ResourceClaim"


@dataclass(frozen=True, slots=True)
class ClaimFacts:
    """`hold`: why no node may take the pod yet; `requests`: what its volumes count on a node; `claims`, `devices`: keys of
    volume claims and ResourceClaims that placement looks at."""

    hold: str = ""
    requests: Amounts = ()
    claims: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()


NO_FACTS: Final = ClaimFacts()


def facts_of(knowledge: Knowledge, namespaced: NamespacedClaims) -> ClaimFacts:
    """What the claims of a waiting pod mean, as the cluster is now."""
    namespace, claims, devices = namespaced
    return ClaimFacts(
        hold=volume_hold(knowledge, namespace, claims) or device_hold(knowledge, namespace, devices),
        requests=attached(knowledge, namespaced),
        claims=tuple(f"{namespace}/{name}" for name, _ in claims),
        devices=tuple(f"{namespace}/{name}" for name in devices if name),
    )


def settled_facts(knowledge: Knowledge, facts: ClaimFacts) -> ClaimFacts:
    """What the same claims mean once the pod has a node: what they count there, and claims that no second pod may use.

    All else is past, so that pods with claims of their own can share a shape."""
    single = (key for key in facts.claims if key in knowledge.claims)
    return ClaimFacts(
        requests=facts.requests,
        claims=tuple(key for key in single if ONE_POD in knowledge.claims[key].access_modes),
    )


def attached(knowledge: Knowledge, namespaced: NamespacedClaims) -> Amounts:
    """What the volumes count on the pod's node: one a claim, by driver.

    A provisioner that no CSINode and no CSIDriver names is no CSI driver, and no node could ever offer it: it counts nothing."""
    namespace, claims, _ = namespaced
    counts: dict[str, int] = {}
    for name, _ in claims:
        claim = knowledge.claims.get(f"{namespace}/{name}")
        driver = driver_of(knowledge, claim) if claim is not None else ""
        if driver and driver not in IGNORED_DRIVERS and driver in known_drivers(knowledge):
            resource = resource_of(driver)
            counts[resource] = counts.get(resource, 0) + 1
    return tuple(sorted(counts.items()))


def resource_of(driver: str) -> str:
    """The resource that counts a driver's volumes on a node."""
    return names.CSI_VOLUMES_PREFIX + driver.replace("/", "-")


def driver_of(knowledge: Knowledge, claim: ClaimRow) -> str:
    """The CSI driver of a claim's volume, or of the class that will make it; empty for none."""
    volume = knowledge.details.get(VOLUME, {}).get(claim.volume) if claim.volume else None
    if isinstance(volume, Volume):
        return volume.driver
    found = knowledge.storage_classes.get(claim.storage_class)
    return (found.driver or found.provisioner) if found is not None else ""


def known_drivers(knowledge: Knowledge) -> frozenset[str]:
    """Drivers that some node or a CSIDriver object names; kept until one of these objects changes."""
    if knowledge.drivers is None:
        rows = knowledge.details.get(CSI_NODE, {}).values()
        named = {driver for row in rows if isinstance(row, Drivers) for driver, _ in row.drivers}
        objects = knowledge.details.get(CSI_DRIVER, {}).values()
        knowledge.drivers = frozenset(named | {row.name for row in objects if isinstance(row, Driver)})
    return knowledge.drivers


def node_volumes(knowledge: Knowledge, node: str) -> Amounts:
    """How many volumes of each driver a node can attach."""
    row = knowledge.details.get(CSI_NODE, {}).get(node)
    if not isinstance(row, Drivers):
        return ()
    return tuple(
        sorted((resource_of(driver), UNSAID if count is None else count) for driver, count in row.drivers)
    )


def owed_volume(knowledge: Knowledge, claim: str, uid: str, volume: str) -> bool:
    """Was the volume given to the claim, and does neither of them say so yet?"""
    row, found = knowledge.claims.get(claim), knowledge.details.get(VOLUME, {}).get(volume)
    return (
        row is not None
        and row.uid == uid
        and not row.volume
        and isinstance(found, Volume)
        and not found.claim
    )


def owed(knowledge: Knowledge, pod: str, before: Preparation) -> bool:
    """Is there anything decided for a pod (its UID) that claims and volumes do not show yet?"""
    rows = knowledge.details.get(RESOURCE_CLAIM, {})
    for key, uid, _ in before.devices:
        row = rows.get(key)
        if isinstance(row, ResourceClaim) and row.uid == uid and pod not in row.users:
            return True
    return any(owed_volume(knowledge, *each) for each in before.volumes)


def volume_hold(knowledge: Knowledge, namespace: str, claims: Iterable[tuple[str, bool]]) -> str:
    """Why a pod with these volume claims cannot get a node yet; empty when the rest is a matter of nodes.

    Claims that wait for their first consumer do not hold it; one that names its volume and is not bound to it does."""
    unbound = ""
    for name, comes_with_pod in claims:
        claim = knowledge.claims.get(f"{namespace}/{name}")
        if claim is None:
            if comes_with_pod:
                return f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
            return f'persistentvolumeclaim "{name}" not found'
        if claim.phase == "Lost":
            return f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{claim.volume}"'
        if claim.deleting:
            return f'persistentvolumeclaim "{name}" is being deleted'
        if not claim.bound:
            found = knowledge.storage_classes.get(claim.storage_class)
            if found is None or not found.waits or claim.volume:
                unbound = UNBOUND
    return unbound


def device_hold(knowledge: Knowledge, namespace: str, devices: Iterable[str]) -> str:
    """Why a pod with these ResourceClaims cannot get a node yet."""
    rows = knowledge.details.get(RESOURCE_CLAIM, {})
    for name in devices:
        if not name:
            return "ResourceClaim not created yet"
        row = rows.get(f"{namespace}/{name}")
        if row is None:
            return f'resourceclaim.resource.k8s.io "{name}" not found'
        if isinstance(row, ResourceClaim) and row.deleting:
            return f'resourceclaim "{name}" is being deleted'
    return ""
