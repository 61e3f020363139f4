"""The status of ValidatingAdmissionPolicies: whether their expressions fit the kinds that they judge."""

from __future__ import annotations

from contextlib import suppress

from vcray.api.jsonview import dig, dig_int, dig_object, dig_objects, dig_str
from vcray.api.meta import JsonObject
from vcray.api.resources import CUSTOMRESOURCEDEFINITIONS, Resource
from vcray.cluster.kinds.data import kinds_data
from vcray.cluster.workloads.base import Controller, Shared, key_of
from vcray.kube.errors import Conflict, NotFound

_POLICIES = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingAdmissionPolicy",
    "validatingadmissionpolicies",
    False,
    subresources=("status",),
)
_KINDS = "x-kubernetes-group-version-kind"


class PolicyStatusController(Controller):
    """Type-checks every new generation of a policy and writes `status.typeChecking` and `observedGeneration`."""

    name = "validatingadmissionpolicy-status-controller"

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared, workers=1)
        self.policies = shared.objects(_POLICIES)
        self.definitions = shared.objects(CUSTOMRESOURCEDEFINITIONS)
        self.policies.on_change(self._changed)

    def _changed(self, old: JsonObject | None, new: JsonObject | None) -> None:
        if new is not None:
            self.queue.add(key_of(new))

    async def reconcile(self, key: str) -> float | None:
        policy = self.policies.get("", key)
        if policy is None:
            return None
        generation = dig_int(policy, "metadata", "generation")
        if generation <= dig_int(policy, "status", "observedGeneration"):
            return None
        # the expression library is loaded with the first policy
        from vcray.cluster.admission.typecheck import expression_warnings

        kind = dig_object(policy, "spec", "paramKind")
        params = self._schema(dig_str(kind, "apiVersion"), dig_str(kind, "kind")) if kind else None
        warnings = expression_warnings(policy, self._schemas, kinds_data().types, params)
        checking: JsonObject = {"expressionWarnings": [*warnings]} if warnings else {}
        status = {**dig_object(policy, "status"), "observedGeneration": generation, "typeChecking": checking}
        with suppress(Conflict, NotFound):
            self.policies.put(await self.client.update_status(_POLICIES, {**policy, "status": status}))
        return None

    def _schemas(self, group: str, version: str, plural: str) -> list[tuple[str, JsonObject]]:
        for served in kinds_data().groups:
            for one in served.versions if served.group == group else []:
                for row in one.resources if one.version == version else []:
                    if row.get("name") == plural:
                        return self._named(group, version, dig_str(row, "kind"))
        for definition in self.definitions.objects.values():
            if (
                dig_str(definition, "spec", "group") == group
                and dig_str(definition, "spec", "names", "plural") == plural
            ):
                return self._named(group, version, dig_str(definition, "spec", "names", "kind"))
        return []

    def _named(self, group: str, version: str, kind: str) -> list[tuple[str, JsonObject]]:
        schema = self._schema(f"{group}/{version}" if group else version, kind)
        return [] if schema is None else [(f"{group}/{version}, Kind={kind}", schema)]

    def _schema(self, api_version: str, kind: str) -> JsonObject | None:
        group, _, version = api_version.rpartition("/")
        wanted: JsonObject = {"group": group, "version": version, "kind": kind}
        for schema in kinds_data().types.values():
            if wanted in dig_objects(schema, _KINDS):
                return schema
        for definition in self.definitions.objects.values():
            spec = dig_object(definition, "spec")
            if dig_str(spec, "group") == group and dig_str(spec, "names", "kind") == kind:
                for one in dig_objects(spec, "versions"):
                    found = dig(one, "schema", "openAPIV3Schema")
                    if one.get("name") == version and isinstance(found, dict):
                        return found
        return None
