"""A namespace of one server with a simulated node, and short words for what these tests create and wait for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.conformance.harness.base import Server, wait_until

Object = dict[str, Any]

NODE = "play-0"
"""Every pod names its node, so that no scheduler is needed."""

COLLECTIONS = {
    "pods": "/api/v1",
    "configmaps": "/api/v1",
    "serviceaccounts": "/api/v1",
    "events": "/api/v1",
    "persistentvolumeclaims": "/api/v1",
    "replicationcontrollers": "/api/v1",
    "replicasets": "/apis/apps/v1",
    "deployments": "/apis/apps/v1",
    "statefulsets": "/apis/apps/v1",
    "daemonsets": "/apis/apps/v1",
    "controllerrevisions": "/apis/apps/v1",
    "jobs": "/apis/batch/v1",
    "poddisruptionbudgets": "/apis/policy/v1",
}


def containers(command: str, image: str) -> list[Object]:
    """One container that runs a shell script, or what the image does."""
    container: Object = {"name": "main", "image": image}
    if command:
        container["command"] = ["sh", "-c", command]
    return [container]


def template(
    command: str = "",
    *,
    labels: dict[str, str] | None = None,
    policy: str = "Always",
    image: str = "nginx",
    **spec: Any,
) -> Object:
    """A pod template."""
    return {
        "metadata": {"labels": labels or {}},
        "spec": {
            "nodeName": NODE,
            "restartPolicy": policy,
            "terminationGracePeriodSeconds": 1,
            "containers": containers(command, image),
            **spec,
        },
    }


class Playground:
    """One namespace."""

    def __init__(self, server: Server, namespace: str) -> None:
        self.client = server.client
        self.namespace = namespace

    def path(self, plural: str, name: str = "", sub: str = "") -> str:
        """Where a collection or an object is served."""
        parts = [COLLECTIONS[plural], "namespaces", self.namespace, plural, name, sub]
        return "/".join(filter(None, parts))

    def create(self, plural: str, name: str, spec: Object, **metadata: Any) -> Object:
        """Create an object with a spec."""
        body: Object = {"metadata": {"name": name, **metadata}, "spec": spec}
        return self.client.create(self.path(plural), self.typed(plural, body))

    @staticmethod
    def typed(plural: str, body: Object) -> Object:
        """The object with apiVersion and kind."""
        kinds = {
            "pods": "Pod",
            "configmaps": "ConfigMap",
            "persistentvolumeclaims": "PersistentVolumeClaim",
            "replicasets": "ReplicaSet",
            "replicationcontrollers": "ReplicationController",
            "deployments": "Deployment",
            "statefulsets": "StatefulSet",
            "daemonsets": "DaemonSet",
            "jobs": "Job",
            "poddisruptionbudgets": "PodDisruptionBudget",
        }
        return {
            "apiVersion": COLLECTIONS[plural].split("/", 2)[2].removeprefix("/"),
            "kind": kinds[plural],
            **body,
        }

    def get(self, plural: str, name: str) -> Object:
        """One object."""
        return self.client.get(self.path(plural, name))

    def items(self, plural: str) -> list[Object]:
        """All objects of a collection."""
        items: list[Object] = self.client.get(self.path(plural))["items"]
        return items

    def exists(self, plural: str, name: str) -> bool:
        """Whether an object is there."""
        return self.client.exists(self.path(plural, name))

    def patch(self, plural: str, name: str, body: Object) -> Object:
        """A merge patch."""
        return self.client.patch(self.path(plural, name), body)

    def wait(self, condition: Callable[[], bool], what: str, timeout_s: float = 20.0) -> None:
        """Poll until it holds."""
        wait_until(condition, what, timeout_s)

    def wait_status(self, plural: str, name: str, **wanted: Any) -> Object:
        """Wait until an object's status has these values (None: absent or zero); returns the object."""

        def there() -> bool:
            status = self.get(plural, name).get("status") or {}
            return all((status.get(key) or None) == value for key, value in wanted.items())

        self.wait(there, f"{plural}/{name} to have {wanted}")
        return self.get(plural, name)

    def pods(self, phase: str = "") -> list[Object]:
        """Pods that are not being deleted, on wish of one phase."""
        return [
            pod
            for pod in self.items("pods")
            if "deletionTimestamp" not in pod["metadata"] and phase in ("", pod["status"].get("phase"))
        ]

    def condition(self, plural: str, name: str, kind: str) -> Object:
        """A condition of an object's status; empty if it has none of that kind."""
        conditions = (self.get(plural, name).get("status") or {}).get("conditions") or []
        return next((each for each in conditions if each["type"] == kind), {})

    def wait_condition(self, plural: str, name: str, kind: str, status: str = "True") -> Object:
        """Wait for a condition; returns it."""
        self.wait(lambda: self.condition(plural, name, kind).get("status") == status, f"{kind} of {name}")
        return self.condition(plural, name, kind)

    def reasons(self, name: str) -> list[str]:
        """The reasons of all events about an object of that name."""
        return [each["reason"] for each in self.items("events") if each["involvedObject"]["name"] == name]
