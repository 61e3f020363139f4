"""What is done to objects one after the other: each sequence is a function of the namespace."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
LAST = "kubectl.kubernetes.io/last-applied-configuration"


@dataclass(frozen=True)
class Step:
    """One request."""

    method: str
    path: str
    body: Any = None
    media: str = "application/json"
    serves: str = ""
    """The collection that is served after it."""


def patch(path: str, manager: str, body: Any, media: str) -> Step:
    """A patch by a field manager, which may carry further parameters."""
    return Step("PATCH", f"{path}?fieldManager={manager}", body, media)


def config(name: str, data: Any = None, **metadata: Any) -> dict[str, Any]:
    """A ConfigMap."""
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}}
    return body if data is None else {**body, "data": data}


def deployment(name: str, spec: Any) -> dict[str, Any]:
    """A Deployment."""
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def pods(*containers: Any, **spec: Any) -> dict[str, Any]:
    """The spec of a Deployment of such pods."""
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": list(containers)}}
    return {"selector": {"matchLabels": {"a": "b"}}, "template": template, **spec}


def inside(*containers: Any, **pod: Any) -> dict[str, Any]:
    """A part of the pods of a Deployment."""
    return {"template": {"spec": {"containers": list(containers), **pod}}}


MAIN = {"name": "c", "image": "i"}


def owners_of_a_map(namespace: str) -> list[Step]:
    """Several appliers and writers share, take and give up the entries of a map."""
    a = f"/api/v1/namespaces/{namespace}/configmaps/owners"
    return [
        patch(a, "one", config("owners", {"x": "1", "y": "2"}, labels={"l": "1"}), APPLY),
        patch(a, "one", config("owners", {"x": "1", "y": "2"}, labels={"l": "1"}), APPLY),
        patch(a, "two", config("owners", {"x": "9"}), APPLY),
        patch(a, "two", config("owners", {"x": "1", "z": "3"}), APPLY),
        patch(a, "one", config("owners"), APPLY),
        patch(a, "two&force=true", config("owners", {"x": "9"}), APPLY),
        patch(a, "three", {"data": {"x": "10", "n": "1"}}, MERGE),
        patch(a, "three", {"data": {"x": "11"}}, MERGE),
        patch(a, "four", {"data": {"x": "11"}}, MERGE),
        patch(a, "two", config("owners", {"x": "9", "n": "2"}), APPLY),
        patch(a, "two&force=true", config("owners", {"x": "9", "n": "2"}), APPLY),
    ]


def cleared_owners(namespace: str) -> list[Step]:
    """Managers are cleared, and what was there before the first apply gets one."""
    a = f"/api/v1/namespaces/{namespace}/configmaps/cleared"
    return [
        patch(a, "one", config("cleared", {"x": "1"}), APPLY),
        patch(a, "three", {"metadata": {"managedFields": [{}]}}, MERGE),
        patch(a, "three", {"data": {"q": "1"}}, MERGE),
        patch(a, "five", config("cleared", {"q": "1"}), APPLY),
        patch(a, "six", config("cleared", {"q": "2"}), APPLY),
        patch(a, "three", {"metadata": {"managedFields": []}}, MERGE),
        patch(a, "three", [{"op": "add", "path": "/data/k", "value": "v"}], JSON_PATCH),
    ]


def lists_in_pods(namespace: str) -> list[Step]:
    """Entries of keyed lists come from several appliers and go with them."""
    d = f"/apis/apps/v1/namespaces/{namespace}/deployments/lists"
    env = [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]
    named = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "lists"}}
    return [
        patch(d, "one", deployment("lists", pods(MAIN, replicas=2)), APPLY),
        patch(d, "one", deployment("lists", pods(MAIN, replicas=2)), APPLY),
        patch(
            d,
            "two",
            deployment("lists", inside({"name": "c", "env": env, "ports": [{"containerPort": 80}]})),
            APPLY,
        ),
        patch(d, "three", deployment("lists", inside({"name": "s", "image": "j"})), APPLY),
        patch(d, "two", deployment("lists", inside({"name": "c", "env": env[:1]})), APPLY),
        patch(d, "one", deployment("lists", pods(MAIN)), APPLY),
        patch(d, "three", deployment("lists", {}), APPLY),
        patch(d, "one", deployment("lists", pods(MAIN, replicas=5)), APPLY),
        patch(d, "ctl", {"spec": {"replicas": 3}}, MERGE),
        patch(d, "one", deployment("lists", pods(MAIN, replicas=5)), APPLY),
        patch(
            f"{d}/status",
            "ctl",
            {"status": {"replicas": 3, "conditions": [{"type": "Available", "status": "True"}]}},
            MERGE,
        ),
        patch(f"{d}/status", "st", {**named, "status": {"readyReplicas": 2}}, APPLY),
        patch(d, "ctl", {"status": {"replicas": 9}, "metadata": {"labels": {"z": "1"}}}, MERGE),
        patch(f"{d}/scale", "sc", {"spec": {"replicas": 7}}, MERGE),
        Step("GET", d),
    ]


def strategic_patches(namespace: str) -> list[Step]:
    """Strategic merges with their directives, good and bad."""
    d = f"/apis/apps/v1/namespaces/{namespace}/deployments/strategic"
    order = [{"name": "n"}, {"name": "c"}]
    extra = [{"name": "n", "image": "k"}, {"name": "c", "env": [{"name": "C", "value": "3"}]}]
    whole = {"name": "c", "env": [{"$patch": "replace"}, {"name": "Z", "value": "1"}]}
    specs = [
        inside(*extra, **{"$setElementOrder/containers": order}),
        inside({"name": "n", "$patch": "delete"}),
        inside(whole),
        {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}},
        {"strategy": {"$retainKeys": ["type"], "type": "Recreate", "rollingUpdate": {"maxSurge": 1}}},
        inside({"name": "q", "image": "x"}, **{"$setElementOrder/containers": [{"name": "c"}]}),
        inside({"image": "x"}),
        inside("x"),
        {"template": {"$patch": "bogus"}},
        inside({"name": "c", "$patch": "bogus"}),
        inside({"name": "c", "env": None, "ports": None}),
    ]
    create = Step("POST", d.rpartition("/")[0], deployment("strategic", pods(MAIN)))
    return [create, *(patch(d, "sm", {"spec": spec}, STRATEGIC) for spec in specs)]


def lists_of_words(namespace: str) -> list[Step]:
    """Finalizers are a set: merged, ordered, taken out of, owned word by word."""
    a = f"/api/v1/namespaces/{namespace}/configmaps/words"
    words = [f"example.com/{letter}" for letter in "abcde"]
    return [
        Step("POST", a.rpartition("/")[0], config("words")),
        patch(a, "f", {"metadata": {"finalizers": words[:2]}}, STRATEGIC),
        patch(a, "f", {"metadata": {"finalizers": words[2:3]}}, STRATEGIC),
        patch(a, "f", {"metadata": {"$deleteFromPrimitiveList/finalizers": words[:1]}}, STRATEGIC),
        patch(
            a,
            "f",
            {"metadata": {"$setElementOrder/finalizers": [words[2], words[1]], "finalizers": words[2:3]}},
            STRATEGIC,
        ),
        patch(a, "g", config("words", finalizers=words[3:4]), APPLY),
        patch(a, "g", config("words", finalizers=words[4:]), APPLY),
    ]


def applies_that_do_not_fit(namespace: str) -> list[Step]:
    """Documents that the type cannot hold, and identities that do not fit the address."""
    d = f"/apis/apps/v1/namespaces/{namespace}/deployments/unfit"
    specs = [
        {"zz": 1},
        {"replicas": "x"},
        inside({"name": "x"}, {"name": "x"}),
        {"template": {"spec": {"containers": "x"}}},
    ]
    other = [
        {**deployment("unfit", {}), "kind": "Pod"},
        {**deployment("unfit", {}), "apiVersion": "v1"},
        deployment("another", {}),
        {**deployment("unfit", {}), "metadata": {"name": "unfit", "namespace": "elsewhere"}},
        {**deployment("unfit", {}), "metadata": {"name": "unfit", "managedFields": [{"manager": "x"}]}},
        {**deployment("unfit", {}), "metadata": {"name": "unfit", "resourceVersion": "1"}},
    ]
    create = Step("POST", d.rpartition("/")[0], deployment("unfit", pods(MAIN)))
    documents = [*(deployment("unfit", spec) for spec in specs), *other]
    return [create, *(patch(d, "m", document, APPLY) for document in documents)]


def from_client_side_apply(namespace: str) -> list[Step]:
    """kubectl goes over from client-side to server-side apply."""
    many = f"/api/v1/namespaces/{namespace}/configmaps"

    def before(name: str) -> Step:
        last = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name},
            "data": {"a": "1", "b": "2"},
        }
        body = config(name, {"a": "1", "b": "2"}, annotations={LAST: json.dumps(last)})
        return Step("POST", f"{many}?fieldManager=kubectl-client-side-apply", body)

    return [
        before("k1"),
        patch(f"{many}/k1", "kubectl", config("k1", {"a": "5", "b": "2"}), APPLY),
        before("k2"),
        patch(f"{many}/k2", "other", {"data": {"a": "7"}}, MERGE),
        patch(f"{many}/k2", "kubectl", config("k2", {"a": "5", "b": "3"}), APPLY),
    ]


def two_versions(namespace: str) -> list[Step]:
    """Managers write one autoscaler through two versions."""
    two = f"/apis/autoscaling/v2/namespaces/{namespace}/horizontalpodautoscalers/h"
    one = two.replace("/v2/", "/v1/")

    def scaler(version: str, **spec: Any) -> dict[str, Any]:
        target = {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}
        body = {"apiVersion": f"autoscaling/{version}", "kind": "HorizontalPodAutoscaler"}
        return {**body, "metadata": {"name": "h"}, "spec": {"scaleTargetRef": target, **spec}}

    return [
        patch(one, "one", scaler("v1", maxReplicas=5, targetCPUUtilizationPercentage=50), APPLY),
        Step("GET", two),
        patch(two, "two", scaler("v2", maxReplicas=6, minReplicas=2), APPLY),
        patch(two, "three", {"spec": {"maxReplicas": 9}}, MERGE),
        Step("GET", one),
        patch(one, "one", scaler("v1", maxReplicas=5, targetCPUUtilizationPercentage=60), APPLY),
    ]


def statuses(namespace: str) -> list[Step]:
    """Statuses of pods and nodes are written by several managers."""
    p = f"/api/v1/namespaces/{namespace}/pods/p"
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}
    running = {
        "phase": "Running",
        "podIP": "10.0.0.1",
        "podIPs": [{"ip": "10.0.0.1"}],
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    n = f"/api/v1/nodes/{namespace}"
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": namespace, "labels": {"a": "b"}}}
    ready = {
        "capacity": {"cpu": "4"},
        "allocatable": {"cpu": "4000m"},
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    return [
        Step(
            "POST",
            p.rpartition("/")[0],
            {
                **pod,
                "spec": {
                    "containers": [
                        {
                            **MAIN,
                            "resources": {
                                "requests": {"cpu": "1", "memory": "1Gi"},
                                "limits": {"cpu": "1", "memory": "1Gi"},
                            },
                        }
                    ]
                },
            },
        ),
        patch(f"{p}/status", "k", {"status": running}, STRATEGIC),
        patch(
            f"{p}/status",
            "s",
            {**pod, "status": {"conditions": [{"type": "Custom", "status": "False"}]}},
            APPLY,
        ),
        patch(f"{p}/status", "s", {**pod, "status": {}}, APPLY),
        patch(p, "i", {"spec": {"containers": [{"name": "c", "image": "other"}]}}, STRATEGIC),
        Step("POST", "/api/v1/nodes?fieldManager=k", node),
        patch(f"{n}/status", "k", {"status": ready}, STRATEGIC),
        patch(
            n,
            "k",
            {"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}], "unschedulable": True}},
            STRATEGIC,
        ),
        Step("GET", n),
    ]


def what_stays_as_it_is(namespace: str) -> list[Step]:
    """Fields that may not change."""
    core, apps, batch = (
        f"/api/v1/namespaces/{namespace}",
        f"/apis/apps/v1/namespaces/{namespace}",
        f"/apis/batch/v1/namespaces/{namespace}",
    )
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "fixed"},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [MAIN]}}},
    }
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "fixed"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "slow",
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    stateful = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "fixed"},
        "spec": {**pods(MAIN), "serviceName": "s"},
    }
    return [
        Step("POST", f"{core}/configmaps", {**config("fixed", {"a": "1"}), "immutable": True}),
        patch(f"{core}/configmaps/fixed", "m", {"data": {"a": "2"}}, MERGE),
        patch(f"{core}/configmaps/fixed", "m", {"immutable": None}, MERGE),
        Step(
            "POST", f"{core}/secrets", {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "fixed"}}
        ),
        patch(f"{core}/secrets/fixed", "m", {"type": "other"}, MERGE),
        Step("POST", f"{apps}/deployments", deployment("fixed", pods(MAIN))),
        patch(
            f"{apps}/deployments/fixed",
            "m",
            {
                "spec": {
                    "selector": {"matchLabels": {"a": "c"}},
                    "template": {"metadata": {"labels": {"a": "c"}}},
                }
            },
            MERGE,
        ),
        Step("POST", f"{apps}/statefulsets", stateful),
        patch(f"{apps}/statefulsets/fixed", "m", {"spec": {"serviceName": "t"}}, MERGE),
        patch(f"{apps}/statefulsets/fixed", "m", {"spec": {"replicas": 3}}, MERGE),
        Step("POST", f"{batch}/jobs", job),
        patch(f"{batch}/jobs/fixed", "m", {"spec": {"completions": 4}}, MERGE),
        patch(f"{batch}/jobs/fixed", "m", {"spec": {"parallelism": 4}}, MERGE),
        Step(
            "POST",
            f"{core}/services",
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": "fixed"},
                "spec": {"ports": [{"port": 80}]},
            },
        ),
        patch(f"{core}/services/fixed", "m", {"spec": {"ports": [{"port": 81}]}}, MERGE),
        Step("POST", f"{core}/persistentvolumeclaims", claim),
        Step(
            "POST",
            f"{core}/pods",
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": "fixed"},
                "spec": {
                    "containers": [
                        {
                            **MAIN,
                            "resources": {
                                "requests": {"cpu": "1", "memory": "1Gi"},
                                "limits": {"cpu": "1", "memory": "1Gi"},
                            },
                        }
                    ]
                },
            },
        ),
        patch(f"{core}/pods/fixed", "m", {"metadata": {"labels": {"new": "label"}}}, MERGE),
    ]


def patches_that_fail(namespace: str) -> list[Step]:
    """JSON and merge patches that cannot be done or read."""
    d = f"/apis/apps/v1/namespaces/{namespace}/deployments/failing"
    operations = [
        {"op": "remove", "path": "/spec/zz"},
        {"op": "replace", "path": "/spec/zz/y", "value": 1},
        {"op": "test", "path": "/spec/replicas", "value": 9},
        {"op": "bogus", "path": "/spec/replicas", "value": 9},
        {"op": "add", "value": 9},
        {"op": "add", "path": "/spec/replicas"},
        {"op": "add", "path": "/spec/template/spec/containers/9", "value": {}},
        {"op": "move", "from": "/spec/zz", "path": "/spec/replicas"},
        {"op": "copy", "from": "/spec/zz", "path": "/spec/replicas"},
    ]
    return [
        Step("POST", d.rpartition("/")[0], deployment("failing", pods(MAIN))),
        *(patch(d, "m", [operation], JSON_PATCH) for operation in operations),
        patch(d, "m", {"op": "add"}, JSON_PATCH),
        patch(d, "m", [], MERGE),
        patch(d, "m", "a", MERGE),
        patch(d, "m&fieldValidation=Strict", {"spec": {"zz": 1}, "metadata": {"foo": 1}}, STRATEGIC),
        patch(d, "m&fieldValidation=Strict", b'{"spec":{"paused":true,"paused":false,"zz":3}}', STRATEGIC),
        patch(d, "m&fieldValidation=Warn", {"spec": {"zz": 1}}, MERGE),
        patch(d, "m&fieldValidation=Ignore", {"spec": {"zz": 2}}, MERGE),
    ]


def custom_objects(namespace: str) -> list[Step]:
    """Applies, patches and statuses of a custom kind with lists and maps of every sort."""
    group = f"{namespace}.example.com"
    many = f"/apis/{group}/v1/namespaces/{namespace}/things"
    t = f"{many}/t"
    text, number = {"type": "string"}, {"type": "integer"}
    entry = {"type": "object", "required": ["n"], "properties": {"n": {**text, "default": "d"}, "v": number}}
    fields = {
        "replicas": number,
        "a": number,
        "m": {"type": "object", "additionalProperties": text},
        "am": {"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"x": number, "y": number}},
        "s": {"type": "array", "x-kubernetes-list-type": "set", "items": text},
        "l": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["n"],
            "items": entry,
        },
        "al": {"type": "array", "items": {"type": "object", "properties": {"q": number}}},
        "raw": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "ios": {"x-kubernetes-int-or-string": True},
        "def": {**text, "default": "dd"},
    }
    status = {"type": "object", "properties": {"x": text, "replicas": number}}
    schema = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": fields}, "status": status},
    }
    paths = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "things", "kind": "Thing"}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"things.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": names,
            "versions": [{**version, "subresources": {"status": {}, "scale": paths}}],
        },
    }

    def thing(spec: Any, name: str = "t", **metadata: Any) -> dict[str, Any]:
        body = {"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": {"name": name, **metadata}}
        return {**body, "spec": spec}

    first = {
        "a": 1,
        "m": {"k": "1"},
        "am": {"x": 1},
        "s": ["a", "b"],
        "l": [{"n": "p", "v": 1}, {"v": 2}],
        "al": [{"q": 1}],
        "raw": {"deep": {"er": 1}},
        "ios": "5",
    }
    reported = {**{key: value for key, value in thing({}).items() if key != "spec"}, "status": {"x": "2"}}
    wrong = {"a": "x", "l": [{"n": "a"}, {"n": "a"}], "s": ["a", "a"]}
    return [
        Step("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition, serves=many),
        patch(t, "one", thing(first), APPLY),
        patch(
            t,
            "two",
            thing({"m": {"k2": "1"}, "s": ["c", "a"], "l": [{"n": "z", "v": 3}], "raw": {"other": {"b": 2}}}),
            APPLY,
        ),
        *(
            patch(t, "two", thing(spec), APPLY)
            for spec in ({"am": {"y": 1}}, {"al": [{"q": 2}]}, {"raw": {"deep": {"er": 2}}})
        ),
        patch(t, "two&force=true", thing({"am": {"y": 1}, "raw": {"deep": {"er": 2}}}), APPLY),
        patch(t, "one", thing({"a": 1, "s": ["b"]}), APPLY),
        patch(t, "u", {"spec": {"m": {"n": "1"}, "s": ["a", "q"], "l": [{"n": "p", "v": 5}]}}, MERGE),
        patch(
            f"{t}/status",
            "st",
            {"status": {"x": "1"}, "spec": {"a": 99}, "metadata": {"labels": {"a": "b"}}},
            MERGE,
        ),
        patch(f"{t}/status", "sta", reported, APPLY),
        patch(f"{t}/status", "sta&force=true", reported, APPLY),
        patch(f"{t}/scale", "sc", {"spec": {"replicas": 4}}, MERGE),
        Step("GET", t),
        patch(t, "two", thing({"s": ["a", "a"]}), APPLY),
        patch(t, "two", thing({"zz": 1}), APPLY),
        Step("PUT", f"{t}?fieldManager=p", thing({"a": 3})),
        Step(
            "POST",
            f"{many}?fieldManager=c",
            {**thing({"m": {}, "s": [], "l": [{"v": 1}]}, "n"), "status": {"x": "no"}},
        ),
        Step("POST", f"{many}?fieldManager=c", thing(wrong, "wrong", labels={"bad key!": "b"})),
        Step(
            "POST",
            f"{many}?fieldValidation=Strict",
            thing({"zz": 1, "l": [{"n": "a", "u": 2}]}, "unknown", foo=1),
        ),
        patch(f"{many}/n", "c", {"spec": {"def": None, "m": None}}, MERGE),
        patch(f"{many}/n", "j", [{"op": "add", "path": "/spec/s/-", "value": "end"}], JSON_PATCH),
    ]


SEQUENCES: dict[str, Callable[[str], list[Step]]] = {
    each.__name__: each
    for each in (
        owners_of_a_map,
        cleared_owners,
        lists_in_pods,
        strategic_patches,
        lists_of_words,
        applies_that_do_not_fit,
        from_client_side_apply,
        two_versions,
        statuses,
        what_stays_as_it_is,
        patches_that_fail,
        custom_objects,
    )
}
