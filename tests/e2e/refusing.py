"""A server that refuses to bind one pod, through an admission policy of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

from tests.e2e.arena import Arena

POLICIES = "/apis/admissionregistration.k8s.io/v1"
MESSAGE = "this pod is cursed"


@contextmanager
def binding_refused(arena: Arena, pod: str, node: str) -> Iterator[None]:
    """While this holds, nobody can bind `pod` of the arena; `node` is any node to try it on."""
    name = f"refuse-{arena.namespace}"
    bindings = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["pods/binding"],
    }
    rule = f"request.namespace != '{arena.namespace}' || request.name != '{pod}'"
    policy = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [bindings]},
            "validations": [{"expression": rule, "message": MESSAGE}],
        },
    }
    binding = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name, "validationActions": ["Deny"]},
    }
    arena.client.create(f"{POLICIES}/validatingadmissionpolicies", policy)
    arena.client.create(f"{POLICIES}/validatingadmissionpolicybindings", binding)
    try:
        _wait_until_enforced(arena, pod, node)
        yield
    finally:
        arena.client.delete(f"{POLICIES}/validatingadmissionpolicybindings/{name}")
        arena.client.delete(f"{POLICIES}/validatingadmissionpolicies/{name}")


def _wait_until_enforced(arena: Arena, pod: str, node: str) -> None:
    """The server takes a moment to see a new policy: try it on a pod of that name that is no concern of vcray's."""
    arena.pod(pod, schedulerName="default-scheduler")
    body = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": pod},
        "target": {"kind": "Node", "name": node},
    }
    path = f"{arena.core}/pods/{pod}/binding?dryRun=All"

    def refused() -> bool:
        said = arena.server.kubectl("create", "--raw", path, "-f", "-", stdin=json.dumps(body))
        return MESSAGE in said.stderr

    arena.wait(refused, "the policy to hold")
    arena.client.delete(f"{arena.core}/pods/{pod}", grace_s=0)
