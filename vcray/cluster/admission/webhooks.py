"""Mutating and validating webhooks: which are to be asked about a request, in what order, and what their answers mean.

The rules are those of dynamic admission control in the Kubernetes documentation: mutating webhooks one after the other by
the name of their configuration, again once for those that want it when a later one changed the object; validating ones
side by side. Nothing is done for a request when no configuration is stored.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import jsonpatch

from vcray.api.jsonview import dig_int, dig_list, dig_object, dig_objects, dig_str
from vcray.api.meta import JsonObject
from vcray.cluster.admission.calling import Caller, CallError, gathered, wait_limit
from vcray.cluster.admission.matching import GROUP, Matcher, as_version, is_exempt, seen_as
from vcray.cluster.admission.reviews import BadAnswer, NoVersion, Verdict, question, read_answer, version_for
from vcray.cluster.objects.catalog import Catalog
from vcray.cluster.objects.record import StoredEvent
from vcray.cluster.objects.review import Review, Stage
from vcray.cluster.objects.storage import Storage
from vcray.kube.errors import ApiError, BadRequest, ResourceMissing, ServerFailure, error_of_status

_PLURALS = {
    Stage.MUTATE: "mutatingwebhookconfigurations",
    Stage.VALIDATE: "validatingwebhookconfigurations",
}
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Hook:
    """One webhook of a stored configuration; `config` is its entry."""

    identity: str
    name: str
    config: JsonObject


@dataclass(slots=True)
class Remarks:
    """What webhooks told besides their verdict: warnings for the client, annotations for an audit."""

    warnings: list[str] = field(default_factory=list)
    annotations: dict[str, str] = field(default_factory=dict)

    def add(self, hook: str, verdict: Verdict) -> None:
        """Note the remarks of one answer."""
        self.warnings += verdict.warnings
        self.annotations |= {f"{hook}/{key}": value for key, value in verdict.annotations.items()}


class _CallFailed(Exception):
    """A webhook could not be asked; its failure policy decides."""


class Webhooks:
    """Asks the webhooks that are configured in one cluster. Belongs to one event loop; `close` ends its connections."""

    def __init__(self, storage: Storage, catalog: Catalog) -> None:
        self._storage = storage
        self._catalog = catalog
        self._matcher = Matcher(storage, catalog)
        self._caller = Caller(storage, catalog)
        self._hooks: dict[Stage, tuple[Hook, ...]] | None = None
        self._unlisten = storage.listen(self._noticed)

    async def close(self) -> None:
        """Close connections and stop following the configurations."""
        self._unlisten()
        await self._caller.close()

    def concern(self, review: Review) -> bool:
        """Whether any webhook might have to be asked; false at once where none is configured for this stage."""
        return bool(self._configured()[review.stage]) and not is_exempt(review.resource)

    async def ask(self, review: Review, remarks: Remarks | None = None) -> JsonObject | None:
        """The object as the webhooks want it, None if they left it alone. Raises the ApiError of a refusal."""
        if not self.concern(review):
            return None
        noted = remarks if remarks is not None else Remarks()
        if review.stage is Stage.MUTATE:
            return await self._mutate(review, noted)
        await self._validate(review, noted)
        return None

    # -- configurations -----------------------------------------------------------------------------------------

    def _noticed(self, event: StoredEvent) -> None:
        if event.record.resource.group == GROUP:
            self._hooks = None

    def _configured(self) -> dict[Stage, tuple[Hook, ...]]:
        if self._hooks is None:
            self._hooks = {stage: tuple(self._read(plural)) for stage, plural in _PLURALS.items()}
        return self._hooks

    def _read(self, plural: str) -> Iterator[Hook]:
        try:
            resource = self._catalog.at(GROUP, "v1", plural).stored
        except ResourceMissing:
            return
        for record in self._storage.scan(resource):  # in the order of their names
            for index, entry in enumerate(dig_objects(record.decode(), "webhooks")):
                name = dig_str(entry, "name")
                yield Hook(f"{record.name}/{name}/{index}", name, entry)

    # -- asking -------------------------------------------------------------------------------------------------

    def _invocation(self, hook: Hook, review: Review) -> Review | None:
        """The request as this webhook wants to see it; None if it is not to be asked."""
        policy = dig_str(hook.config, "matchPolicy") or "Equivalent"
        found = self._matcher.find(dig_objects(hook.config, "rules"), review, policy)
        if found is None or not self._matcher.selected(hook.config, review):
            return None
        asked = seen_as(review, found)
        if dig_list(hook.config, "matchConditions"):
            from vcray.cluster.admission.expressions import webhook_conditions  # loads the expression library

            return asked if webhook_conditions(hook.config, asked, self._storage) else None
        return asked

    async def _mutate(self, review: Review, remarks: Remarks) -> JsonObject | None:
        current, again = review, dict[str, None]()
        reinvocable: dict[str, None] = {}
        for second_round in (False, True):
            for hook in self._configured()[Stage.MUTATE]:
                if second_round and hook.identity not in again:
                    continue
                asked = self._invocation(hook, current)
                if asked is None:
                    continue
                changed = await self._change(hook, current, asked, remarks)
                if changed is not None:
                    current = replace(current, obj=changed)
                    again |= reinvocable
                if dig_str(hook.config, "reinvocationPolicy") == "IfNeeded":
                    reinvocable[hook.identity] = None
            if not again:
                break
        return None if current is review else current.obj

    async def _change(
        self, hook: Hook, current: Review, asked: Review, remarks: Remarks
    ) -> JsonObject | None:
        """The object as one webhook changed it, None if it did not."""
        verdict = await self._judged(hook, current, asked, remarks)
        if verdict is None or not verdict.patch:
            return None
        if asked.obj is None:
            raise _internal(
                f'admission webhook "{hook.name}" attempted to modify the object, which is not supported for this '
                "operation"
            )
        operations = [item for item in verdict.patch if isinstance(item, dict)]
        try:
            changed = jsonpatch.apply_patch(asked.obj, operations)
        except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException) as error:
            raise _internal(str(error)) from error
        if not isinstance(changed, dict) or changed == asked.obj:
            return None
        result: JsonObject | None = as_version(changed, current.resource) if asked is not current else changed
        return result

    async def _validate(self, review: Review, remarks: Remarks) -> None:
        relevant: list[tuple[Hook, Review]] = []
        for hook in self._configured()[Stage.VALIDATE]:
            asked = self._invocation(hook, review)
            if asked is not None:
                relevant.append((hook, asked))
        if len(relevant) == 1:
            await self._judged(relevant[0][0], review, relevant[0][1], remarks)
            return
        calls = [
            asyncio.ensure_future(self._judged_only(hook, review, asked, remarks)) for hook, asked in relevant
        ]
        failures = await gathered(calls)
        if failures:
            raise failures[0]

    async def _judged_only(self, hook: Hook, review: Review, asked: Review, remarks: Remarks) -> None:
        await self._judged(hook, review, asked, remarks)

    async def _judged(self, hook: Hook, review: Review, asked: Review, remarks: Remarks) -> Verdict | None:
        """The verdict of one webhook that allows the request; None if it failed and may be passed over."""
        try:
            verdict = await self._call(hook, review, asked)
        except _CallFailed as error:
            said = f'failed calling webhook "{hook.name}": {error}'
            if dig_str(hook.config, "failurePolicy") == "Ignore":
                _log.warning("webhook passed over: %s", said)
                return None
            raise _internal(said) from error
        remarks.add(hook.name, verdict)
        if not verdict.allowed:
            raise refusal(hook.name, verdict.status)
        return verdict

    async def _call(self, hook: Hook, review: Review, asked: Review) -> Verdict:
        if review.dry_run and dig_str(hook.config, "sideEffects") not in ("None", "NoneOnDryRun"):
            raise BadRequest(f'admission webhook "{hook.name}" does not support dry run')
        try:
            version = version_for(hook.config)
        except NoVersion as error:
            raise _CallFailed(f"could not create admission objects: {error}") from error
        uid, body = question(review, asked, version)
        try:
            client = dig_object(hook.config, "clientConfig")
            answer = await self._caller.post(client, body, wait_limit(hook.config))
            return read_answer(answer, uid, version, mutating=review.stage is Stage.MUTATE)
        except CallError as error:
            raise _CallFailed(f"failed to call webhook: {error}") from error
        except BadAnswer as error:
            said = str(error)
            opening = "" if said.startswith("received ") else "received invalid webhook response: "
            raise _CallFailed(opening + said) from error


def _internal(why: str) -> ServerFailure:
    causes: JsonObject = {"causes": [{"message": why}]}
    return ServerFailure(f"Internal error occurred: {why}", details=causes)


def refusal(name: str, status: JsonObject) -> ApiError:
    """The error of a request that a webhook denied: its own Status, opened by who denied."""
    denied = f'admission webhook "{name}" denied the request'
    why = dig_str(status, "message") or dig_str(status, "reason")
    message = f"{denied}: {why}" if why else f"{denied} without explanation"
    code = max(dig_int(status, "code"), 400)
    error = error_of_status({**status, "message": message, "code": code}, code)
    error.reason = dig_str(status, "reason")
    return error
