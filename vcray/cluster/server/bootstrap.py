"""Objects that a kube-apiserver itself puts into a new cluster: default roles, fairness, its own service."""

from __future__ import annotations

from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import SERVICES, Resource
from vcray.cluster.objects.store import Store
from vcray.cluster.objects.write import Write
from vcray.cluster.server.authorization import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, GROUP, MASTERS

FLOW = "flowcontrol.apiserver.k8s.io"
FLOW_SCHEMAS = Resource(FLOW, "v1", "FlowSchema", "flowschemas", False, subresources=("status",))
PRIORITY_LEVELS = Resource(
    FLOW, "v1", "PriorityLevelConfiguration", "prioritylevelconfigurations", False, subresources=("status",)
)
_WRITE = Write(manager="kube-apiserver")
_EVERYBODY, _NOBODY = "system:authenticated", "system:unauthenticated"
_READ: list[JsonValue] = ["get", "list", "watch"]
_CHANGE: list[JsonValue] = ["create", "delete", "deletecollection", "patch", "update"]
_DOCUMENTS: list[JsonValue] = [
    "/api",
    "/api/*",
    "/apis",
    "/apis/*",
    "/healthz",
    "/livez",
    "/openapi",
    "/openapi/*",
    "/readyz",
    "/version",
    "/version/",
]
_PUBLIC: list[JsonValue] = ["/healthz", "/livez", "/readyz", "/version", "/version/"]
_WORKLOADS: list[JsonValue] = [
    "configmaps",
    "endpoints",
    "events",
    "persistentvolumeclaims",
    "pods",
    "pods/*",
    "replicationcontrollers",
    "replicationcontrollers/*",
    "serviceaccounts",
    "services",
]
_GROUPS: list[JsonValue] = ["apps", "autoscaling", "batch", "networking.k8s.io", "policy"]


def _on(groups: list[JsonValue], resources: list[JsonValue], verbs: list[JsonValue]) -> JsonObject:
    return {"verbs": verbs, "apiGroups": groups, "resources": resources}


def _reading(paths: list[JsonValue]) -> JsonObject:
    return {"verbs": ["get"], "nonResourceURLs": paths}


_VIEW = [_on([""], [*_WORKLOADS, "namespaces"], _READ), _on(_GROUPS, ["*"], _READ)]
_EDIT = [*_VIEW, _on([""], [*_WORKLOADS, "secrets"], [*_READ, *_CHANGE]), _on(_GROUPS, ["*"], _CHANGE)]
_ADMIN = [*_EDIT, _on([GROUP], ["roles", "rolebindings"], [*_READ, *_CHANGE])]

_ROLES: dict[str, tuple[list[JsonObject], tuple[str, ...]]] = {
    "cluster-admin": ([_on(["*"], ["*"], ["*"]), {"verbs": ["*"], "nonResourceURLs": ["*"]}], (MASTERS,)),
    "system:basic-user": (
        [
            _on(
                ["authorization.k8s.io"], ["selfsubjectaccessreviews", "selfsubjectrulesreviews"], ["create"]
            ),
            _on(["authentication.k8s.io"], ["selfsubjectreviews"], ["create"]),
        ],
        (_EVERYBODY,),
    ),
    "system:discovery": ([_reading(_DOCUMENTS)], (_EVERYBODY,)),
    "system:public-info-viewer": ([_reading(_PUBLIC)], (_EVERYBODY, _NOBODY)),
    "admin": (_ADMIN, ()),
    "edit": (_EDIT, ()),
    "view": (_VIEW, ()),
}


def bootstrap(store: Store, port: int = 443) -> None:
    """Create what is missing."""
    meta: JsonObject = {
        "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"},
        "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "true"},
    }
    for name, (rules, groups) in _ROLES.items():
        _ensure(store, CLUSTER_ROLES, name, {"metadata": {**meta, "name": name}, "rules": [*rules]})
        if groups:
            subjects: list[JsonValue] = [
                {"kind": "Group", "apiGroup": GROUP, "name": group} for group in groups
            ]
            role: JsonObject = {"apiGroup": GROUP, "kind": "ClusterRole", "name": name}
            binding: JsonObject = {"metadata": {**meta, "name": name}, "subjects": subjects, "roleRef": role}
            _ensure(store, CLUSTER_ROLE_BINDINGS, name, binding)
    _fairness(store)
    _service(store, port)


def _fairness(store: Store) -> None:
    for name in ("exempt", "catch-all", "global-default"):
        spec: JsonObject = {"type": "Exempt", "exempt": {"nominalConcurrencyShares": 0, "lendablePercent": 0}}
        if name != "exempt":
            limited: JsonObject = {"nominalConcurrencyShares": 5 if name == "catch-all" else 20}
            limited |= {"lendablePercent": 0, "limitResponse": {"type": "Reject"}}
            spec = {"type": "Limited", "limited": limited}
        _ensure(store, PRIORITY_LEVELS, name, {"metadata": {"name": name}, "spec": spec})
    for name, precedence, groups in (
        ("exempt", 1, (MASTERS,)),
        ("global-default", 9900, (_EVERYBODY, _NOBODY)),
        ("catch-all", 10000, (_EVERYBODY, _NOBODY)),
    ):
        subjects: list[JsonValue] = [{"kind": "Group", "group": {"name": group}} for group in groups]
        everything: JsonObject = {
            "subjects": subjects,
            "resourceRules": [
                {
                    "verbs": ["*"],
                    "apiGroups": ["*"],
                    "resources": ["*"],
                    "clusterScope": True,
                    "namespaces": ["*"],
                }
            ],
            "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
        }
        spec = {
            "priorityLevelConfiguration": {"name": name},
            "matchingPrecedence": precedence,
            "rules": [everything],
        }
        if name != "exempt":
            spec["distinguisherMethod"] = {"type": "ByUser"}
        _ensure(store, FLOW_SCHEMAS, name, {"metadata": {"name": name}, "spec": spec})


def _service(store: Store, port: int) -> None:
    labels: JsonObject = {"component": "apiserver", "provider": "kubernetes"}
    spec: JsonObject = {
        "ports": [{"name": "https", "protocol": "TCP", "port": 443, "targetPort": port}],
        "clusterIP": "10.96.0.1",
        "clusterIPs": ["10.96.0.1"],
        "type": "ClusterIP",
        "sessionAffinity": "None",
        "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack",
        "internalTrafficPolicy": "Cluster",
    }
    _ensure(
        store, SERVICES, "kubernetes", {"metadata": {"name": "kubernetes", "labels": labels}, "spec": spec}
    )


def _ensure(store: Store, resource: Resource, name: str, obj: JsonObject) -> None:
    served = store.catalog.at(resource.group, resource.version, resource.plural).resource
    namespace = "default" if served.namespaced else ""
    if store.storage.get(served, namespace, name) is None:
        store.create(served, namespace, obj, _WRITE)
