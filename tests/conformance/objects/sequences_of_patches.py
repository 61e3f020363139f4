"""Patches and replacements: each sequence is a function of the namespace."""

from __future__ import annotations

from typing import Any

from tests.conformance.objects.steps import (
    APPLY,
    JSON_PATCH,
    MAIN,
    MERGE,
    STRATEGIC,
    Step,
    config,
    deployment,
    inside,
    patch,
    pods,
)


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


def replaced_objects(namespace: str) -> list[Step]:
    """Objects are replaced as their writers know them, without what the server added."""
    core, apps = f"/api/v1/namespaces/{namespace}", f"/apis/apps/v1/namespaces/{namespace}"
    amounts = {"cpu": "1", "memory": "1Gi"}
    main = {**MAIN, "resources": {"requests": amounts, "limits": amounts}}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "put"}, "spec": {"containers": [main]}}
    gates = [{"name": "a.b/c"}, {"name": "a.b/d"}]
    gated = {**pod, "metadata": {"name": "gated"}, "spec": {"containers": [main], "schedulingGates": gates}}
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "put"},
        "spec": {"ports": [{"port": 80}]},
    }
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "put"}, "data": {"a": "eA=="}}
    whole = deployment("put", pods(main))
    node_port = {"type": "NodePort", "ports": [{"port": 81, "nodePort": 31555}]}
    named = {"type": "ExternalName", "externalName": "a.b", "clusterIP": None, "clusterIPs": None}
    ready = {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}
    failed = {"phase": "Failed", "conditions": [{"type": "Ready", "status": "False"}]}
    scale = {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": "put", "namespace": namespace},
    }

    def put(path: str, body: Any) -> Step:
        return Step("PUT", f"{path}?fieldManager=m", body)

    return [
        Step("POST", f"{core}/services", service),
        put(f"{core}/services/put", {**service, "spec": {"ports": [{"port": 81}]}}),
        patch(f"{core}/services/put", "m", {"spec": node_port}, MERGE),
        patch(f"{core}/services/put", "m", {"spec": {"type": "ClusterIP", "ports": [{"port": 81}]}}, MERGE),
        patch(f"{core}/services/put", "m", {"spec": named}, MERGE),
        patch(f"{core}/services/put/status", "m", {"status": ready}, MERGE),
        Step("POST", f"{core}/secrets", secret),
        patch(f"{core}/secrets/put", "m", {"stringData": {"b": "y"}}, MERGE),
        put(f"{core}/secrets/put", secret),
        Step("POST", f"{core}/pods", pod),
        put(f"{core}/pods/put", pod),
        put(f"{core}/pods/put", {**pod, "spec": {"containers": [{**main, "image": "j"}]}}),
        patch(
            f"{core}/pods/put",
            "m",
            {"spec": {"tolerations": [{"key": "a", "operator": "Exists"}]}},
            STRATEGIC,
        ),
        patch(f"{core}/pods/put", "m", {"spec": {"activeDeadlineSeconds": 50}}, MERGE),
        patch(f"{core}/pods/put", "m", {"spec": {"activeDeadlineSeconds": 60}}, MERGE),
        patch(f"{core}/pods/put", "m", {"spec": {"containers": [{"name": "d", "image": "x"}]}}, STRATEGIC),
        put(
            f"{core}/pods/put/status",
            {**pod, "metadata": {"name": "put", "labels": {"q": "r"}}, "status": failed},
        ),
        Step("POST", f"{core}/pods", gated),
        patch(f"{core}/pods/gated", "m", {"spec": {"schedulingGates": [{"name": "new/one"}]}}, STRATEGIC),
        patch(f"{core}/pods/gated", "m", {"spec": {"nodeSelector": {"a": "b"}}}, MERGE),
        patch(f"{core}/pods/gated", "m", {"spec": {"schedulingGates": None}}, MERGE),
        Step("POST", f"{apps}/deployments", whole),
        put(f"{apps}/deployments/put", whole),
        put(f"{apps}/deployments/put", deployment("put", pods(main, replicas=3))),
        put(f"{apps}/deployments/put", {**whole, "metadata": {"name": "put", "resourceVersion": "1"}}),
        put(f"{apps}/deployments/put", deployment("other", pods(main))),
        put(f"{apps}/deployments/put/scale", {**scale, "spec": {"replicas": 4}}),
        Step("GET", f"{apps}/deployments/put"),
        patch(f"/api/v1/namespaces/{namespace}", "m", {"metadata": {"labels": {"x": "y"}}}, MERGE),
    ]
