"""`kubectl get` prints the same columns and cells from the embedded server as from the real one."""

from __future__ import annotations

import json
import re

import pytest

from tests.conformance.harness.base import Server
from tests.conformance.harness.definitions import install
from vcray.api.crds import all_crds

KINDS = (
    "pods",
    "nodes",
    "namespaces",
    "services",
    "deployments",
    "replicasets",
    "statefulsets",
    "daemonsets",
    "jobs.batch",
    "cronjobs.batch",
    "configmaps",
    "secrets",
    "serviceaccounts",
    "priorityclasses",
    "persistentvolumeclaims",
    "persistentvolumes",
    "storageclasses",
    "leases",
    "poddisruptionbudgets",
    "networkpolicies",
    "customresourcedefinitions",
    "validatingwebhookconfigurations",
    "mutatingwebhookconfigurations",
    "roles",
    "rolebindings",
    "clusterroles",
    "events",
    "vcjob",
    "pg",
    "queue",
)
SHARED = frozenset(
    {
        "nodes",
        "namespaces",
        "priorityclasses",
        "persistentvolumes",
        "storageclasses",
        "customresourcedefinitions",
        "validatingwebhookconfigurations",
        "mutatingwebhookconfigurations",
        "clusterroles",
        "queue",
    }
)
TEMPLATE = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {"containers": [{"name": "main", "image": "nginx:1"}]},
}
SELECTED = {"selector": {"matchLabels": {"app": "web"}}, "template": TEMPLATE}
ENDING = {**TEMPLATE, "spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}}
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
OBJECTS = (
    ("v1", "Pod", "lonely", {"spec": TEMPLATE["spec"]}),
    (
        "v1",
        "Service",
        "web",
        {"spec": {"selector": {"app": "web"}, "ports": [{"port": 80}], "clusterIP": "None"}},
    ),
    ("apps/v1", "Deployment", "web", {"spec": {"replicas": 2, **SELECTED}}),
    ("apps/v1", "ReplicaSet", "web", {"spec": {"replicas": 2, **SELECTED}}),
    ("apps/v1", "StatefulSet", "web", {"spec": {"serviceName": "web", "replicas": 2, **SELECTED}}),
    ("apps/v1", "DaemonSet", "web", {"spec": SELECTED}),
    ("batch/v1", "Job", "once", {"spec": {"template": ENDING}}),
    (
        "batch/v1",
        "CronJob",
        "daily",
        {"spec": {"schedule": "0 0 * * *", "jobTemplate": {"spec": {"template": ENDING}}}},
    ),
    ("v1", "ConfigMap", "settings", {"data": {"a": "1", "b": "2"}}),
    ("v1", "Secret", "hidden", {"stringData": {"password": "x"}}),
    ("v1", "ServiceAccount", "robot", {}),
    ("v1", "PersistentVolumeClaim", "disk", {"spec": CLAIM}),
    (
        "policy/v1",
        "PodDisruptionBudget",
        "web",
        {"spec": {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}}},
    ),
    ("networking.k8s.io/v1", "NetworkPolicy", "closed", {"spec": {"podSelector": {}}}),
    ("coordination.k8s.io/v1", "Lease", "leader", {"spec": {"holderIdentity": "me"}}),
    (
        "batch.volcano.sh/v1alpha1",
        "Job",
        "train",
        {"spec": {"minAvailable": 1, "tasks": [{"name": "worker", "replicas": 1, "template": ENDING}]}},
    ),
    ("scheduling.volcano.sh/v1beta1", "PodGroup", "gang", {"spec": {"minMember": 2}}),
)
UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
VARYING = re.compile(r"^(\d+[smhdy])+$|^\d{4}-\d\d-\d\dT[0-9:]+Z$|^10\.0\.\d+\.\d+$|^<invalid>$")


@pytest.fixture(scope="module")
def stocked(embedded_apiserver: Server, real_apiserver: Server, kubectl: object) -> list[tuple[Server, str]]:
    """Both servers with a namespace that holds one object of many kinds."""
    found = []
    for server in (embedded_apiserver, real_apiserver):
        install(server.client, all_crds())
        namespace = server.create_namespace("tables")
        items = [
            {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": namespace}, **rest}
            for version, kind, name, rest in OBJECTS
        ]
        done = server.kubectl(
            "create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
        )
        assert done.returncode == 0, done.stderr
        found.append((server, namespace))
    return found


def rows(server: Server, namespace: str, kind: str) -> list[list[str]]:
    """The printed table, cells split, ages and addresses left out."""
    printed = server.kubectl("get", kind, "-n", namespace, "-o", "wide")
    assert printed.returncode == 0, printed.stderr
    lines = [re.split(r"\s{2,}", line.strip()) for line in printed.stdout.splitlines()]
    return [
        ["<varies>" if VARYING.match(cell) else UID.sub("<uid>", cell) for cell in line] for line in lines
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_is_printed_as_by_the_real_server(stocked: list[tuple[Server, str]], kind: str) -> None:
    ours, theirs = (rows(server, namespace, kind) for server, namespace in stocked)

    if kind in SHARED:  # of what the servers bring along themselves, only what both have
        common = {line[0] for line in ours} & {line[0] for line in theirs}
        ours, theirs = ([line for line in each if line[0] in common] for each in (ours, theirs))
    assert ours == theirs
