"""Who may do what: role-based access control over the stored roles and bindings; `system:masters` may do all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from vcray.api.jsonview import dig_list, dig_object, dig_objects, dig_str
from vcray.api.meta import JsonObject
from vcray.api.resources import Resource
from vcray.cluster.objects.record import Record
from vcray.cluster.objects.review import User
from vcray.cluster.objects.storage import Storage
from vcray.cluster.server.attributes import Attributes
from vcray.kube.errors import Forbidden

GROUP = "rbac.authorization.k8s.io"
MASTERS = "system:masters"
_ACCOUNT = "system:serviceaccount:"


def _resource(kind: str, plural: str, namespaced: bool) -> Resource:
    return Resource(GROUP, "v1", kind, plural, namespaced)


ROLES = _resource("Role", "roles", True)
ROLE_BINDINGS = _resource("RoleBinding", "rolebindings", True)
CLUSTER_ROLES = _resource("ClusterRole", "clusterroles", False)
CLUSTER_ROLE_BINDINGS = _resource("ClusterRoleBinding", "clusterrolebindings", False)


class Authority:
    """Decides by the roles of one storage."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._decoded: dict[str, tuple[int, JsonObject]] = {}

    def check(self, user: User, wish: Attributes) -> None:
        """Refuse (Forbidden) what a user may not do."""
        if not self.may(user, wish):
            raise forbidden(user, wish)

    def may(self, user: User, wish: Attributes) -> bool:
        """Whether a user may do something."""
        if MASTERS in user.groups:
            return True
        return any(_allows(rule, wish) for rule in self.rules(user, wish.namespace))

    def rules(self, user: User, namespace: str) -> Iterator[JsonObject]:
        """The rules that hold for a user, for the whole cluster and in a namespace."""
        for binding in self._bindings(CLUSTER_ROLE_BINDINGS, ""):
            if _names(binding, user, ""):
                yield from self._rules_of(binding, "")
        if namespace:
            for binding in self._bindings(ROLE_BINDINGS, namespace):
                if _names(binding, user, namespace):
                    yield from self._rules_of(binding, namespace)

    def _bindings(self, resource: Resource, namespace: str) -> Iterator[JsonObject]:
        for record in self._storage.scan(resource, namespace):
            yield self._decode(record)

    def _rules_of(self, binding: JsonObject, namespace: str) -> Iterable[JsonObject]:
        name = dig_str(binding, "roleRef", "name")
        own = dig_str(binding, "roleRef", "kind") == "Role"
        record = self._storage.get(ROLES if own else CLUSTER_ROLES, namespace if own else "", name)
        return dig_objects(self._decode(record), "rules") if record is not None else ()

    def _decode(self, record: Record) -> JsonObject:
        """A role or binding, decoded once for each of its versions."""
        version, decoded = self._decoded.get(record.uid, (0, {}))
        if version != record.version:
            decoded = record.decode()
            self._decoded[record.uid] = (record.version, decoded)
        return decoded


def _names(binding: JsonObject, user: User, namespace: str) -> bool:
    for subject in dig_objects(binding, "subjects"):
        name = dig_str(subject, "name")
        match dig_str(subject, "kind"):
            case "User" if name == user.name or name == "*":
                return True
            case "Group" if name in user.groups:
                return True
            case "ServiceAccount":
                if user.name == f"{_ACCOUNT}{dig_str(subject, 'namespace') or namespace}:{name}":
                    return True
    return False


def _allows(rule: JsonObject, wish: Attributes) -> bool:
    if not _listed(dig_list(rule, "verbs"), wish.verb):
        return False
    if not wish.resource:
        return any(_path_matches(str(path), wish.path) for path in dig_list(rule, "nonResourceURLs"))
    resources = dig_list(rule, "resources")
    named = _listed(resources, wish.full_resource) or (
        bool(wish.subresource) and f"*/{wish.subresource}" in resources
    )
    names = dig_list(rule, "resourceNames")
    return named and _listed(dig_list(rule, "apiGroups"), wish.group) and (not names or wish.name in names)


def _listed(words: Iterable[object], word: str) -> bool:
    return any(each in ("*", word) for each in words)


def _path_matches(pattern: str, path: str) -> bool:
    return path.startswith(pattern[:-1]) if pattern.endswith("*") else path == pattern


def forbidden(user: User, wish: Attributes) -> Forbidden:
    """403 with the sentence of a kube-apiserver."""
    if not wish.resource:
        return Forbidden(f'forbidden: User "{user.name}" cannot {wish.verb} path "{wish.path}"')
    full_name = f"{wish.resource}.{wish.group}" if wish.group else wish.resource
    what = f'{full_name} "{wish.name}"' if wish.name else full_name
    where = f'in the namespace "{wish.namespace}"' if wish.namespace else "at the cluster scope"
    details: JsonObject = {"name": wish.name} if wish.name else {}
    if wish.group:
        details["group"] = wish.group
    details["kind"] = wish.resource
    return Forbidden(
        f'{what} is forbidden: User "{user.name}" cannot {wish.verb} resource "{wish.full_resource}" in API group '
        f'"{wish.group}" {where}',
        details=details,
    )


def wish_of(spec: JsonObject) -> Attributes:
    """The wish that an access review asks about."""
    wanted = dig_object(spec, "resourceAttributes")
    if not wanted:
        path = dig_object(spec, "nonResourceAttributes")
        return Attributes(dig_str(path, "verb"), dig_str(path, "path"))
    names = ("group", "version", "resource", "subresource", "namespace", "name")
    return Attributes(dig_str(wanted, "verb"), "", *(dig_str(wanted, name) for name in names))
