"""The controller of Deployments: one ReplicaSet for each template, and pods moved from old ones to the newest."""

from __future__ import annotations

import copy
from collections.abc import Sequence

from vcray.api.jsonview import dig, dig_int, dig_object, dig_str, dig_strings
from vcray.api.meta import JsonObject
from vcray.api.resources import DEPLOYMENTS, REPLICASETS
from vcray.cluster.workloads.base import Controller, Shared, key_of, owner_reference
from vcray.cluster.workloads.deployment import progress
from vcray.cluster.workloads.deployment.revisions import (
    REVISION,
    annotations_for,
    new_set,
    newest,
    revision,
    same_template,
    size_notes,
    sort_by_age,
)
from vcray.cluster.workloads.deployment.sizes import (
    DESIRED,
    available,
    new_size,
    proportional,
    replicas,
    rolls,
    shrunk,
)
from vcray.cluster.workloads.podview import PodView
from vcray.cluster.workloads.selection import selects
from vcray.kube.client import PatchType
from vcray.kube.errors import AlreadyExists, ApiError, Conflict, NotFound
from vcray.kube.events import NORMAL, WARNING

Sets = list[JsonObject]


class DeploymentController(Controller):
    """Deployments. Each turn makes one step; the ReplicaSets' changes bring the next."""

    name = "deployment-controller"

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self.deployments = shared.objects(DEPLOYMENTS)
        self.sets = shared.objects(REPLICASETS)
        self.deployments.on_change(self._deployment_changed)
        self.sets.on_change(self._set_changed)
        shared.pods.on_change(self._pod_changed)

    def _deployment_changed(self, old: JsonObject | None, new: JsonObject | None) -> None:
        found = new or old
        if found is not None:
            self.queue.add(key_of(found))

    def _set_changed(self, old: JsonObject | None, new: JsonObject | None) -> None:
        for each in filter(None, (old, new)):
            namespace = dig_str(each, "metadata", "namespace")
            owners = dig_object(each, "metadata").get("ownerReferences")
            if owners:
                for owner in owners if isinstance(owners, list) else []:
                    if dig_str(owner, "kind") == DEPLOYMENTS.kind:
                        self.queue.add(f"{namespace}/{dig_str(owner, 'name')}")
                continue
            for deployment in self.deployments.in_namespace(namespace):
                if selects(dig(deployment, "spec", "selector"))(dig_strings(each, "metadata", "labels")):
                    self.queue.add(key_of(deployment))

    def _pod_changed(self, old: PodView | None, new: PodView | None) -> None:
        """A Recreate deployment waits for its last old pod."""
        gone = old if new is None or new.finished else None
        owner = gone.controller if gone is not None else None
        if gone is None or owner is None or owner.kind != REPLICASETS.kind:
            return
        found = self.sets.get(gone.metadata.namespace, owner.name)
        if found is not None:
            self._set_changed(None, found)

    # -- one deployment ---------------------------------------------------------------------------------------

    async def reconcile(self, key: str) -> float | None:
        deployment = self.deployments.objects.get(key)
        if deployment is None:
            self.queue.forget(key)
            return None
        sets = await self._claim(deployment)
        if dig_str(deployment, "metadata", "deletionTimestamp"):
            await self._report(deployment, sets, newest(deployment, sets), judged=False)
            return None
        deployment = await self._note_pause(deployment)
        paused = dig(deployment, "spec", "paused") is True
        if paused or self._was_scaled(deployment, sets):
            new = await self._prepare(deployment, sets, create=False)
            deployment = self.deployments.objects.get(key, deployment)
            sets = self._own(deployment)
            await self._scale(deployment, sets, new)
            if paused:
                await self._clean(deployment, self._own(deployment), new)
            return await self._report(deployment, self._own(deployment), new, judged=False)
        if rolls(deployment):
            return await self._roll(deployment, sets)
        return await self._recreate(deployment, sets)

    async def _claim(self, deployment: JsonObject) -> Sets:
        """The deployment's sets, after letting go those it selects no longer and adopting orphans."""
        test, uid = selects(dig(deployment, "spec", "selector")), dig_str(deployment, "metadata", "uid")
        deleting = bool(dig_str(deployment, "metadata", "deletionTimestamp"))
        for each in list(self.sets.owned(uid)):
            if not deleting and not test(dig_strings(each, "metadata", "labels")):
                await self._reown(each, {"$patch": "delete", "uid": uid})
        for each in list(self.sets.orphans(dig_str(deployment, "metadata", "namespace"))):
            going = deleting or bool(dig_str(each, "metadata", "deletionTimestamp"))
            if not going and test(dig_strings(each, "metadata", "labels")):
                await self._reown(each, owner_reference(DEPLOYMENTS, deployment))
        return self._own(deployment)

    def _own(self, deployment: JsonObject) -> Sets:
        test = selects(dig(deployment, "spec", "selector"))
        owned = self.sets.owned(dig_str(deployment, "metadata", "uid"))
        return sort_by_age([each for each in owned if test(dig_strings(each, "metadata", "labels"))])

    async def _reown(self, replica_set: JsonObject, reference: JsonObject) -> None:
        metadata: JsonObject = {
            "uid": dig_str(replica_set, "metadata", "uid"),
            "ownerReferences": [reference],
        }
        await self._patch_set(replica_set, {"metadata": metadata})

    async def _patch_set(self, replica_set: JsonObject, patch: JsonObject) -> JsonObject:
        namespace, name = (
            dig_str(replica_set, "metadata", "namespace"),
            dig_str(replica_set, "metadata", "name"),
        )
        try:
            answer = await self.client.patch(REPLICASETS, namespace, name, patch, PatchType.STRATEGIC)
        except NotFound:
            return replica_set
        self.sets.put(answer)
        return answer

    # -- the newest set ---------------------------------------------------------------------------------------

    async def _prepare(self, deployment: JsonObject, sets: Sets, create: bool) -> JsonObject | None:
        """The set of the present template, made if `create`; its and the deployment's revision are brought up to date."""
        found = newest(deployment, sets)
        old = [each for each in sets if each is not found]
        if found is None:
            return await self._create(deployment, old) if create else None
        annotations = annotations_for(deployment, found, old)
        ready_s = dig_int(deployment, "spec", "minReadySeconds")
        if annotations != dig_strings(found, "metadata", "annotations") or ready_s != dig_int(
            found, "spec", "minReadySeconds"
        ):
            metadata: JsonObject = {"annotations": {**annotations}}
            found = await self._patch_set(found, {"metadata": metadata, "spec": {"minReadySeconds": ready_s}})
        name = dig_str(found, "metadata", "name")
        await self._note(
            deployment, found, "FoundNewReplicaSet", f'Found new replica set "{name}"', once=True
        )
        return found

    async def _create(self, deployment: JsonObject, old: Sets) -> JsonObject | None:
        size = new_size(deployment, old, 0)
        wanted = new_set(deployment, old, size)
        namespace, name = dig_str(deployment, "metadata", "namespace"), dig_str(wanted, "metadata", "name")
        try:
            made = await self.client.create(REPLICASETS, namespace, wanted)
        except AlreadyExists:
            return await self._collide(deployment, await self.client.get(REPLICASETS, namespace, name))
        except ApiError as error:
            if "being terminated" not in error.message:
                why = f'Failed to create new replica set "{name}": {error.message}'
                await self._note_failure(deployment, why)
            raise
        self.sets.put(made)
        if size:
            await self.tell(
                deployment, NORMAL, "ScalingReplicaSet", f"Scaled up replica set {name} from 0 to {size}"
            )
        await self._note(deployment, made, "NewReplicaSetCreated", f'Created new replica set "{name}"')
        return made

    async def _collide(self, deployment: JsonObject, present: JsonObject) -> JsonObject | None:
        """A set of that name is there: ours and only unknown so far, or another's, upon which the name changes."""
        self.sets.put(present)
        uid = dig_str(deployment, "metadata", "uid")
        template = dig_object(deployment, "spec", "template")
        ours = any(dig_str(owner, "uid") == uid for owner in _owners(present))
        if ours and same_template(dig_object(present, "spec", "template"), template):
            return present
        status = copy.deepcopy(dig_object(deployment, "status"))
        status["collisionCount"] = dig_int(status, "collisionCount") + 1
        await self._write(deployment, status)
        self.queue.add(key_of(deployment))
        return None

    async def _note(
        self, deployment: JsonObject, new: JsonObject, reason: str, message: str, once: bool = False
    ) -> None:
        """Take over the newest set's revision, and tell that it is there."""
        status = copy.deepcopy(dig_object(deployment, "status"))
        first = progress.condition(status, progress.PROGRESSING) is None
        if progress.deadline_s(deployment) is not None and (first or not once):
            progress.put(status, progress.PROGRESSING, "True", reason, message, self.time.now())
        await self._write(deployment, status, str(revision(new)))

    async def _note_failure(self, deployment: JsonObject, message: str) -> None:
        status = copy.deepcopy(dig_object(deployment, "status"))
        if progress.deadline_s(deployment) is not None:
            progress.put(
                status, progress.PROGRESSING, "False", "ReplicaSetCreateError", message, self.time.now()
            )
            await self._write(deployment, status)
        await self.tell(deployment, WARNING, "ReplicaSetCreateError", message)

    async def _note_pause(self, deployment: JsonObject) -> JsonObject:
        if progress.deadline_s(deployment) is None:
            return deployment
        status = copy.deepcopy(dig_object(deployment, "status"))
        current = progress.condition(status, progress.PROGRESSING)
        reason = current.get("reason") if current is not None else None
        paused = dig(deployment, "spec", "paused") is True
        if reason == progress.TIMED_OUT or paused == (reason == progress.PAUSED):
            return deployment
        word = progress.PAUSED if paused else progress.RESUMED
        why = "Deployment is paused" if paused else "Deployment is resumed"
        progress.put(status, progress.PROGRESSING, "Unknown", word, why, self.time.now())
        return await self._write(deployment, status)

    # -- strategies -------------------------------------------------------------------------------------------

    async def _roll(self, deployment: JsonObject, sets: Sets) -> float | None:
        new = await self._prepare(deployment, sets, create=True)
        deployment = self.deployments.objects.get(key_of(deployment), deployment)
        if new is None:
            return None
        sets = self._own(deployment)
        old = [each for each in sets if not _same(each, new)]
        size = new_size(deployment, sets, replicas(new))
        if size != replicas(new):
            new = await self._resize(deployment, new, size)
        else:
            for name, wanted in shrunk(deployment, old, new).items():
                found = self.sets.get(dig_str(deployment, "metadata", "namespace"), name)
                if found is not None:
                    await self._resize(deployment, found, wanted)
        if progress.is_complete(deployment, dig_object(deployment, "status")):
            await self._clean(deployment, self._own(deployment), new)
        return await self._report(deployment, self._own(deployment), new)

    async def _recreate(self, deployment: JsonObject, sets: Sets) -> float | None:
        new = await self._prepare(deployment, sets, create=False)
        deployment = self.deployments.objects.get(key_of(deployment), deployment)
        old = [each for each in self._own(deployment) if new is None or not _same(each, new)]
        busy = [each for each in old if replicas(each)]
        for each in busy:
            await self._resize(deployment, each, 0)
        if busy or self._runs(old):
            return await self._report(deployment, self._own(deployment), new)
        if new is None:
            new = await self._prepare(deployment, self._own(deployment), create=True)
            deployment = self.deployments.objects.get(key_of(deployment), deployment)
        if new is not None and replicas(new) != replicas(deployment):
            new = await self._resize(deployment, new, replicas(deployment))
        if progress.is_complete(deployment, dig_object(deployment, "status")):
            await self._clean(deployment, self._own(deployment), new)
        return await self._report(deployment, self._own(deployment), new)

    def _runs(self, sets: Sequence[JsonObject]) -> bool:
        """Whether a pod of these sets has not ended."""
        return any(
            dig_int(each, "status", "replicas")
            or any(not pod.finished for pod in self.shared.pods.owned(dig_str(each, "metadata", "uid")))
            for each in sets
        )

    # -- scaling ----------------------------------------------------------------------------------------------

    @staticmethod
    def _was_scaled(deployment: JsonObject, sets: Sequence[JsonObject]) -> bool:
        noted = (dig_strings(each, "metadata", "annotations").get(DESIRED) for each in sets if replicas(each))
        return any(text is not None and text != str(replicas(deployment)) for text in noted)

    async def _scale(self, deployment: JsonObject, sets: Sets, new: JsonObject | None) -> None:
        """Bring the sets to a deployment's new size without furthering its rollout."""
        wanted = replicas(deployment)
        active = [each for each in sets if replicas(each)]
        if len(active) <= 1:
            target = active[0] if active else new or (sets[-1] if sets else None)
            if target is not None and (replicas(target) != wanted or active):
                await self._resize(deployment, target, wanted)
            return
        if new is not None and replicas(new) == wanted == available(new):
            for each in active:
                if not _same(each, new):
                    await self._resize(deployment, each, 0)
        elif rolls(deployment):
            for name, size in proportional(deployment, active).items():
                found = self.sets.get(dig_str(deployment, "metadata", "namespace"), name)
                if found is not None:
                    await self._resize(deployment, found, size)

    async def _resize(self, deployment: JsonObject, replica_set: JsonObject, size: int) -> JsonObject:
        before, name = replicas(replica_set), dig_str(replica_set, "metadata", "name")
        notes = size_notes(deployment)
        present = dig_strings(replica_set, "metadata", "annotations")
        if before == size and all(present.get(each) == value for each, value in notes.items()):
            return replica_set
        metadata: JsonObject = {"uid": dig_str(replica_set, "metadata", "uid"), "annotations": {**notes}}
        answer = await self._patch_set(replica_set, {"metadata": metadata, "spec": {"replicas": size}})
        if before != size:
            word = "up" if size > before else "down"
            why = f"Scaled {word} replica set {name} from {before} to {size}"
            await self.tell(deployment, NORMAL, "ScalingReplicaSet", why)
        return answer

    async def _clean(self, deployment: JsonObject, sets: Sets, new: JsonObject | None) -> None:
        """Delete old sets beyond the history limit, the oldest revisions first."""
        limit = dig(deployment, "spec", "revisionHistoryLimit")
        old = [e for e in sets if not _same(e, new) and not dig_str(e, "metadata", "deletionTimestamp")]
        if not isinstance(limit, int) or len(old) <= limit:
            return
        for each in sorted(old, key=revision)[: len(old) - limit]:
            seen = dig_int(each, "metadata", "generation") <= dig_int(each, "status", "observedGeneration")
            if replicas(each) or dig_int(each, "status", "replicas") or not seen:
                continue
            namespace, name = dig_str(each, "metadata", "namespace"), dig_str(each, "metadata", "name")
            uid = dig_str(each, "metadata", "uid")
            try:
                await self.client.delete(REPLICASETS, namespace, name, uid=uid)
            except (NotFound, Conflict):
                continue

    # -- status -----------------------------------------------------------------------------------------------

    async def _report(
        self, deployment: JsonObject, sets: Sets, new: JsonObject | None, judged: bool = True
    ) -> float | None:
        now = self.time.now()
        new = next((each for each in sets if _same(each, new)), new)
        status = progress.counted(deployment, sets, new, dig_object(deployment, "status"), now)
        if judged:
            progress.judge(deployment, new, status, now)
            progress.move_failure(status, [*filter(None, (new,)), *sets])
        written = await self._write(deployment, status)
        return progress.next_check(written, dig_object(written, "status"), now) if judged else None

    async def _write(self, deployment: JsonObject, status: JsonObject, number: str = "") -> JsonObject:
        """Replace the status, and on wish the revision, if that changes anything. Conflict if somebody was faster."""
        wanted: JsonObject = {
            name: value for name, value in status.items() if value is not None and value != []
        }
        metadata = dig_object(deployment, "metadata")
        annotations = dig_strings(metadata, "annotations")
        if number:
            annotations[REVISION] = number
        unchanged = annotations == dig_strings(metadata, "annotations")
        if unchanged and wanted == dig_object(deployment, "status"):
            return deployment
        body: JsonObject = {**deployment, "status": wanted}
        if not unchanged:
            body["metadata"] = {**metadata, "annotations": {**annotations}}
        answer = await self.client.update_status(DEPLOYMENTS, body)
        self.deployments.put(answer)
        return answer


def _owners(obj: JsonObject) -> list[JsonObject]:
    found = dig_object(obj, "metadata").get("ownerReferences")
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _same(left: JsonObject, right: JsonObject | None) -> bool:
    return right is not None and dig_str(left, "metadata", "uid") == dig_str(right, "metadata", "uid")
