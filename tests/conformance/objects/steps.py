"""One request of a sequence, and the objects that sequences are about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
LAST = "kubectl.kubernetes.io/last-applied-configuration"
MAIN = {"name": "c", "image": "i"}


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
