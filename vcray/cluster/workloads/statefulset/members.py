"""Making, mending and deleting the pods of a StatefulSet, with the claims that belong to each."""

from __future__ import annotations

from vcray.api.jsonview import dig_str
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import PERSISTENTVOLUMECLAIMS, PODS
from vcray.cluster.workloads.base import Controller, key_of, split
from vcray.cluster.workloads.informers import Informer
from vcray.cluster.workloads.podcontrol import remove_pod
from vcray.cluster.workloads.podview import PodView, view_of
from vcray.cluster.workloads.statefulset.claims import claims_of, has_conflict, is_stale, owners_wanted
from vcray.cluster.workloads.statefulset.identity import identity_labels, member, ordinals
from vcray.errors import VcrayError
from vcray.kube.errors import AlreadyExists, ApiError, Conflict
from vcray.kube.events import NORMAL, WARNING


class Members:
    """What one controller does to pods and claims. `claims` is its informer of them."""

    def __init__(self, controller: Controller, claims: Informer[JsonObject]) -> None:
        self._controller = controller
        self._client = controller.client
        self._claims = claims

    # -- pods -------------------------------------------------------------------------------------------------

    async def create(self, stateful_set: JsonObject, revision: JsonObject, ordinal: int) -> PodView:
        """Create an ordinal's claims, then its pod. Raises ApiError when the server refuses one, after an event."""
        pod = member(stateful_set, revision, ordinal)
        name = dig_str(pod, "metadata", "name")
        try:
            await self.create_claims(stateful_set, name, ordinal)
            made = await self._client.create(PODS, dig_str(stateful_set, "metadata", "namespace"), pod)
        except AlreadyExists:
            raise
        except ApiError as error:
            await self._tell(stateful_set, "Create", name, error)
            raise
        view = view_of(made)
        self._controller.shared.pods.put(view)
        await self._tell(stateful_set, "Create", name)
        return view

    async def delete(self, stateful_set: JsonObject, pod: PodView) -> None:
        """Delete a pod. Raises ApiError when the server refuses, after an event."""
        try:
            await remove_pod(self._controller, pod)
        except ApiError as error:
            await self._tell(stateful_set, "Delete", pod.metadata.name, error)
            raise
        await self._tell(stateful_set, "Delete", pod.metadata.name)

    async def mend(self, stateful_set: JsonObject, pod: PodView, ordinal: int) -> None:
        """Give a pod the labels of its identity, and its claims the owners that they should have."""
        labels, name = identity_labels(pod.metadata.name, ordinal), pod.metadata.name
        mended = await self.own_claims(stateful_set, pod, ordinal)
        if not labels.items() <= pod.labels.items():
            metadata: JsonObject = {"uid": pod.metadata.uid, "labels": {**labels}}
            try:
                patch: JsonObject = {"metadata": metadata}
                answer = await self._client.patch(PODS, pod.metadata.namespace, name, patch)
            except ApiError as error:
                await self._tell(stateful_set, "Update", name, error)
                raise
            self._controller.shared.pods.put(view_of(answer))
            mended = True
        if mended:
            await self._tell(stateful_set, "Update", name)

    # -- claims -----------------------------------------------------------------------------------------------

    def waits_for_claims(self, stateful_set: JsonObject, ordinal: int) -> bool:
        """Whether a claim goes with a former pod of this ordinal."""
        name = f"{dig_str(stateful_set, 'metadata', 'name')}-{ordinal}"
        present = (self._claims.objects.get(key_of(each)) for each in claims_of(stateful_set, ordinal))
        return any(claim is not None and is_stale(stateful_set, claim, name) for claim in present)

    async def create_claims(self, stateful_set: JsonObject, pod: str, ordinal: int) -> None:
        """Create the claims that an ordinal's pod lacks. Raises ApiError when one is refused or is being deleted."""
        failure: ApiError | None = None
        for wanted in claims_of(stateful_set, ordinal):
            present = self._claims.objects.get(key_of(wanted))
            if present is None:
                failure = await self._create_claim(stateful_set, wanted, pod) or failure
            elif dig_str(present, "metadata", "deletionTimestamp"):
                failure = Conflict(f"pvc {dig_str(wanted, 'metadata', 'name')} is being deleted")
        if failure is not None:
            raise failure

    async def _create_claim(self, stateful_set: JsonObject, wanted: JsonObject, pod: str) -> ApiError | None:
        namespace, name = split(key_of(wanted))
        owner = dig_str(stateful_set, "metadata", "name")
        try:
            made = await self._client.create(PERSISTENTVOLUMECLAIMS, namespace, wanted)
        except AlreadyExists as error:
            return error
        except ApiError as error:
            why = f"Create Claim {name} for Pod {pod} in StatefulSet {owner} failed error: {error.message}"
            await self._controller.tell(stateful_set, WARNING, "FailedCreate", why)
            return type(error)(f"failed to create PVC {name}: {error.message}")
        self._claims.put(made)
        message = f"Create Claim {name} Pod {pod} in StatefulSet {owner} success"
        await self._controller.tell(stateful_set, NORMAL, "SuccessfulCreate", message)
        return None

    async def own_claims(self, stateful_set: JsonObject, pod: PodView, ordinal: int) -> bool:
        """Give the claims of a pod the owners that the retention policy wants; whether that changed one."""
        changed = False
        about: JsonObject = {"metadata": {"name": pod.metadata.name, "uid": pod.metadata.uid}}
        for each in claims_of(stateful_set, ordinal):
            claim = self._claims.objects.get(key_of(each))
            if claim is None:
                continue
            owners = owners_wanted(stateful_set, claim, about, ordinal not in ordinals(stateful_set))
            if owners is None:
                continue
            namespace, name = split(key_of(each))
            if has_conflict(stateful_set, claim, about):
                why = f"PersistentVolumeClaim {name} has a conflicting OwnerReference that acts as a manging controller"
                why += ", the retention policy is ignored for this claim"
                await self._controller.tell(stateful_set, WARNING, "ConflictingController", why)
            listed: list[JsonValue] = [*owners]
            metadata: JsonObject = {
                "uid": dig_str(claim, "metadata", "uid"),
                "resourceVersion": dig_str(claim, "metadata", "resourceVersion"),
                "ownerReferences": listed or None,
            }
            patch: JsonObject = {"metadata": metadata}
            self._claims.put(await self._client.patch(PERSISTENTVOLUMECLAIMS, namespace, name, patch))
            changed = True
        return changed

    async def _tell(
        self, stateful_set: JsonObject, verb: str, pod: str, error: VcrayError | None = None
    ) -> None:
        name = dig_str(stateful_set, "metadata", "name")
        if error is None:
            message = f"{verb} Pod {pod} in StatefulSet {name} successful"
            await self._controller.tell(stateful_set, NORMAL, f"Successful{verb}", message)
        else:
            reason = error.message if isinstance(error, ApiError) else str(error)
            message = f"{verb} Pod {pod} in StatefulSet {name} failed error: {reason}"
            await self._controller.tell(stateful_set, WARNING, f"Failed{verb}", message)
