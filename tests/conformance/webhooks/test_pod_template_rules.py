"""The webhook's rules of pod templates against kube-apiserver's own, which it shows for PodTemplates."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.test_podchecks import WRONG_CONTAINERS, WRONG_RESOURCES, WRONG_SPECS
from tests.conformance.harness.client import ApiError
from tests.conformance.harness.server import ControlPlane
from vcray.api.podchecks import template_problems

Object = dict[str, Any]
TEMPLATES = "/api/v1/namespaces/default/podtemplates?dryRun=All"
LONG = "x" * 64
OLD_SOURCES = "`configMapKeyRef` or `secretKeyRef`"
"""The choice that Volcano offers; the server knows `fileKeyRef` besides."""

CONTAINERS: list[Object] = [
    *(wrong for wrong, told in WRONG_CONTAINERS if not told.endswith(OLD_SOURCES)),
    *({"resources": wrong} for wrong, _ in WRONG_RESOURCES),
    {"resources": {"limits": {"memory": "-1"}}},
    {"resources": {"limits": {"nvidia.com/gpu": "500m"}}},
    {"resources": {"requests": {"gpu": "1"}}},
    {"resources": {"limits": {"hugepages-2Mi": "4Mi"}}},
    {"resources": {"requests": {"memory": "2Gi"}, "limits": {"memory": "1024Mi"}}},
    {"name": "Bad_Name"},
    {"resources": {"limits": {"cpu": "1", "hugepages-2Mi": "4Mi"}, "requests": {"hugepages-2Mi": "2Mi"}}},
    {"resources": {"limits": {"example.com/a/b": "1"}}},
    {"name": "a.b"},
    {"name": LONG},
    {"name": "", "image": ""},
    {"volumeMounts": [{"name": "v", "mountPath": ""}]},
    {"name": LONG + "." + LONG},
    {"readinessProbe": {"tcpSocket": {"port": 1}, "httpGet": {"port": 2}}},
]
SPECS: list[Object] = [
    *(wrong for wrong, _ in WRONG_SPECS),
    {"serviceAccountName": "No_Name"},
    {"nodeName": "No_Name"},
    {"priorityClassName": "No_Name"},
    {"subdomain": LONG},
    {"nodeSelector": {"a/b/c": "x"}},
    {"nodeSelector": {"k": "-x"}},
    {"nodeSelector": {"/k": LONG}},
    {"tolerations": [{"key": "-", "operator": "Exists"}]},
    {"tolerations": [{"key": "k", "value": "-"}]},
    {"schedulingGates": [{"name": ""}]},
    {"volumes": [{"name": "Bad.Name", "emptyDir": {}}]},
    {"volumes": [{"name": "v", "emptyDir": {}, "hostPath": {"path": "/a"}}]},
    {"containers": [{"name": "c", "image": "i"}, {"name": "c", "image": "i"}]},
    {
        "containers": [
            {"name": "c", "image": "i", "ports": [{"containerPort": 1, "hostPort": 9}]},
            {"name": "d", "image": "i", "ports": [{"containerPort": 2, "hostPort": 9, "protocol": "TCP"}]},
        ]
    },
    {"initContainers": [{"name": "", "image": "", "lifecycle": {}}]},
    {"initContainers": [{"name": "d", "image": "i", "ports": [{"containerPort": 0}]}]},
]


def told(server: ControlPlane, template: Object, name: str = "t") -> set[str]:
    """The field errors of kube-apiserver."""
    body = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": name}, "template": template}
    try:
        server.client.create(TEMPLATES, body)
    except ApiError as error:
        if error.code != 422:
            raise
        causes = error.status["details"]["causes"]
        return {f"{cause['field']}: {cause['message']}" for cause in causes}
    return set()


@pytest.mark.parametrize("wrong", CONTAINERS, ids=str)
def test_container_is_refused_in_the_servers_words(real_apiserver: ControlPlane, wrong: Object) -> None:
    template = {"spec": {"containers": [{"name": "c", "image": "i", **wrong}]}}

    ours = set(template_problems("t", template))

    assert ours == told(real_apiserver, template)


@pytest.mark.parametrize("wrong", SPECS, ids=str)
def test_spec_is_refused_in_the_servers_words(real_apiserver: ControlPlane, wrong: Object) -> None:
    template = {"spec": {"containers": [{"name": "c", "image": "i"}], **wrong}}

    ours = set(template_problems("t", template))

    assert ours == told(real_apiserver, template)


@pytest.mark.parametrize(
    "metadata",
    [
        {"labels": {"a/b/c": "x"}},
        {"labels": {"k": LONG}},
        {"annotations": {"-": "x"}},
        {"annotations": {"A/b": "x"}},
    ],
    ids=str,
)
def test_metadata_is_refused_in_the_servers_words(real_apiserver: ControlPlane, metadata: Object) -> None:
    template = {"metadata": metadata, "spec": {"containers": [{"name": "c", "image": "i"}]}}

    assert set(template_problems("t", template)) == told(real_apiserver, template)


def test_name_of_a_template_is_refused_in_the_servers_words(real_apiserver: ControlPlane) -> None:
    template = {"spec": {"containers": [{"name": "c", "image": "i"}]}}

    assert set(template_problems("No_Name", template)) == told(real_apiserver, template, "No_Name")
