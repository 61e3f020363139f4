"""Which FlowSchema and priority level a request belongs to, as answers tell it. Nobody waits here: nothing is queued."""

from __future__ import annotations

from vcray.api.jsonview import dig_int, dig_list, dig_objects, dig_str
from vcray.api.meta import JsonObject
from vcray.cluster.objects.record import StoredEvent
from vcray.cluster.objects.review import User
from vcray.cluster.objects.storage import Storage
from vcray.cluster.server.attributes import Attributes, attributes_of
from vcray.cluster.server.bootstrap import FLOW, FLOW_SCHEMAS, PRIORITY_LEVELS
from vcray.cluster.server.requests import Request

SCHEMA_HEADER, LEVEL_HEADER = "X-Kubernetes-Pf-Flowschema-Uid", "X-Kubernetes-Pf-Prioritylevel-Uid"
_MASTERS = "system:masters"


class Fairness:
    """Classifies requests by the stored flow schemas, lowest precedence first."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._schemas: list[tuple[JsonObject, dict[str, str]]] | None = None
        self._masters: dict[str, str] = {}
        self.close = storage.listen(self._noticed)

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
