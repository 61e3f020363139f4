"""A control plane that joins an installation: webhooks and ConfigMap that somebody else made are used as they are, on both servers."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

from tests.cli.test_reload import BAD, GOOD, SLACK_S, WITHIN_S, running
from tests.conformance.harness.base import Server
from vcray.kube.certificates import new_authority, serving_certificate

HOOKS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
HOOK = "volcano-admission-service-jobs-mutate"
MAP = "integration-scheduler-configmap"


def configmap(text: str) -> dict[str, Any]:
    data = {"volcano-scheduler-ci.conf": text}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": MAP}, "data": data}


def webhook(port: int, namespace: str) -> dict[str, Any]:
    """As another installer has registered it: for one namespace, at a port where somebody is to serve, trusting nobody yet."""
    selector = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    rule = {
        "apiGroups": ["batch.volcano.sh"],
        "apiVersions": ["v1alpha1"],
        "operations": ["CREATE"],
        "resources": ["jobs"],
    }
    entry = {
        "name": "mutatejob.volcano.sh",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"url": f"https://127.0.0.1:{port}/jobs/mutate"},
        "namespaceSelector": selector,
        "rules": [rule],
        "sideEffects": "NoneOnDryRun",
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": HOOK},
        "webhooks": [entry],
    }


def job() -> dict[str, Any]:
    container = {"name": "main", "image": "busybox"}
    task = {"replicas": 1, "template": {"spec": {"containers": [container], "restartPolicy": "Never"}}}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "j"},
        "spec": {"tasks": [task]},
    }


def test_what_an_installation_has_is_used_as_it_is(
    volcano_apiserver: Server, namespace: str, tmp_path: Path, unused_tcp_port: int
) -> None:
    server, where = volcano_apiserver, f"/api/v1/namespaces/{namespace}/configmaps"
    authority = new_authority()
    serving_certificate(authority, ("127.0.0.1",)).write(tmp_path, "tls")
    (tmp_path / "ca.crt").write_bytes(authority.certificate)
    server.client.create(where, configmap(GOOD))
    server.client.create(HOOKS, webhook(unused_tcp_port, namespace))
    release = ("--only", "scheduler,admission", "--namespace", namespace, "--release", "integration")
    serving = (
        "--admission-port",
        unused_tcp_port,
        "--enabled-admission",
        "/jobs/mutate",
        "--metrics-port",
        0,
    )
    files = [
        f"--admission-{kind}-file={tmp_path / name}"
        for kind, name in (("cert", "tls.crt"), ("key", "tls.key"), ("ca", "ca.crt"))
    ]

    try:
        with running(server, namespace, *release, *serving, *files) as vcray:
            made = server.client.create(f"/apis/batch.volcano.sh/v1alpha1/namespaces/{namespace}/jobs", job())
            server.client.replace(f"{where}/{MAP}", configmap(BAD))
            refused = vcray.waits(lambda: not vcray.in_force())
            hook = server.client.get(f"{HOOKS}/{HOOK}")["webhooks"][0]
            vcray.process.terminate()
            vcray.process.wait(20)
            stayed = server.client.get(f"{HOOKS}/{HOOK}")
    finally:
        server.client.delete(f"{HOOKS}/{HOOK}")

    assert made["spec"]["tasks"][0]["name"] == "default0"
    assert refused < WITHIN_S + SLACK_S
    assert base64.b64decode(hook["clientConfig"]["caBundle"]) == authority.certificate
    assert hook["clientConfig"]["url"] == f"https://127.0.0.1:{unused_tcp_port}/jobs/mutate"
    assert hook["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"] == namespace
    assert stayed["webhooks"][0] == hook
