"""Which FlowSchema and priority level a request belongs to, as answers tell it. Nobody waits here: nothing is queued."""

from __future__ import annotations

import asyncio
from functools import partial

from vcray.api.jsonview import dig_int, dig_list, dig_objects, dig_str
from vcray.api.meta import JsonObject, JsonValue
from vcray.clock import rfc3339
from vcray.cluster.objects.record import StoredEvent, section
from vcray.cluster.objects.review import User
from vcray.cluster.objects.store import Store
from vcray.cluster.server.attributes import Attributes, attributes_of
from vcray.cluster.server.bootstrap import FLOW, FLOW_SCHEMAS, PRIORITY_LEVELS
from vcray.cluster.server.requests import Request

SCHEMA_HEADER, LEVEL_HEADER = "X-Kubernetes-Pf-Flowschema-Uid", "X-Kubernetes-Pf-Prioritylevel-Uid"
_MASTERS = "system:masters"


class Fairness:
    """Classifies requests by the stored flow schemas, lowest precedence first."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._storage = store.storage
        self._settling = False
        self._schemas: list[tuple[JsonObject, dict[str, str]]] | None = None
        self._masters: dict[str, str] = {}
        self.close = store.storage.listen(self._noticed)

    def headers(self, request: Request) -> dict[str, str]:
        """The headers that tell of a request's class; none if it has none."""
        schemas = self._read()
        if _MASTERS in request.user.groups and self._masters:
            return self._masters
        wish = attributes_of(request)
        for schema, headers in schemas:
            if _matches(schema, request.user, wish):
                return headers
        return {}

    def _noticed(self, event: StoredEvent) -> None:
        if event.record.resource.group == FLOW:
            self._schemas = None
            if not self._settling:
                self._settling = True
                asyncio.get_running_loop().call_soon(self._settle)

    def _settle(self) -> None:
        """Tell on each schema whether its priority level is there."""
        for record in list(self._storage.scan(FLOW_SCHEMAS)):
            schema = record.decode()
            condition = self._condition(dig_str(schema, "spec", "priorityLevelConfiguration", "name"))
            present = dig_objects(schema, "status", "conditions")
            if not any(condition.items() <= each.items() for each in present):
                condition["lastTransitionTime"] = rfc3339(self._store.clock.now())
                self._store.rewrite(record, partial(_put_condition, condition))
        self._settling = False

    def _condition(self, level: str) -> JsonObject:
        there = self._storage.get(PRIORITY_LEVELS, "", level) is not None
        what = f'This FlowSchema references the PriorityLevelConfiguration object named "{level}"'
        return {
            "type": "Dangling",
            "status": "False" if there else "True",
            "reason": "Found" if there else "NotFound",
            "message": f"{what} and it exists" if there else f"{what} but there is no such object",
        }

    def _read(self) -> list[tuple[JsonObject, dict[str, str]]]:
        if self._schemas is None:
            found = []
            for record in self._storage.scan(FLOW_SCHEMAS):
                schema = record.decode()
                name = dig_str(schema, "spec", "priorityLevelConfiguration", "name")
                level = self._storage.get(PRIORITY_LEVELS, "", name)
                headers = {SCHEMA_HEADER: record.uid}
                if level is not None:
                    headers[LEVEL_HEADER] = level.uid
                found.append(
                    (
                        dig_int(schema, "spec", "matchingPrecedence", default=1000),
                        record.name,
                        schema,
                        headers,
                    )
                )
            found.sort(key=lambda each: each[:2])
            self._schemas = [(schema, headers) for _, _, schema, headers in found]
            first = found[0] if found else None
            self._masters = first[3] if first and first[1] == "exempt" else {}
        return self._schemas


def _put_condition(condition: JsonObject, schema: JsonObject) -> bool:
    status = section(schema, "status")
    others: list[JsonValue] = [
        each for each in dig_objects(status, "conditions") if each.get("type") != condition["type"]
    ]
    status["conditions"] = [*others, condition]
    return True


def _matches(schema: JsonObject, user: User, wish: Attributes) -> bool:
    return any(
        any(_is(subject, user) for subject in dig_objects(rule, "subjects")) and _covers(rule, wish)
        for rule in dig_objects(schema, "spec", "rules")
    )


def _is(subject: JsonObject, user: User) -> bool:
    match dig_str(subject, "kind"):
        case "User":
            return dig_str(subject, "user", "name") in ("*", user.name)
        case "Group":
            name = dig_str(subject, "group", "name")
            return name == "*" or name in user.groups
        case "ServiceAccount":
            namespace, name = (
                dig_str(subject, "serviceAccount", "namespace"),
                dig_str(subject, "serviceAccount", "name"),
            )
            if name == "*":
                return user.name.startswith(f"system:serviceaccount:{namespace}:")
            return user.name == f"system:serviceaccount:{namespace}:{name}"
    return False


def _covers(rule: JsonObject, wish: Attributes) -> bool:
    if not wish.resource:
        return any(
            _listed(each, "verbs", wish.verb)
            and any(_path(str(url), wish.path) for url in dig_list(each, "nonResourceURLs"))
            for each in dig_objects(rule, "nonResourceRules")
        )
    return any(_covers_resource(each, wish) for each in dig_objects(rule, "resourceRules"))


def _covers_resource(rule: JsonObject, wish: Attributes) -> bool:
    if not (_listed(rule, "verbs", wish.verb) and _listed(rule, "apiGroups", wish.group)):
        return False
    if not _listed(rule, "resources", wish.full_resource):
        return False
    return _listed(rule, "namespaces", wish.namespace) if wish.namespace else rule.get("clusterScope") is True


def _listed(rule: JsonObject, key: str, word: str) -> bool:
    words = dig_list(rule, key)
    return "*" in words or word in words


def _path(pattern: str, path: str) -> bool:
    return path.startswith(pattern[:-1]) if pattern.endswith("*") else path == pattern
