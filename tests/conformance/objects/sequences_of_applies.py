"""Applies by several managers: each sequence is a function of the namespace."""

from __future__ import annotations

import json
from typing import Any

from tests.conformance.objects.steps import (
    APPLY,
    JSON_PATCH,
    LAST,
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
