"""Installing CustomResourceDefinitions on a test server and waiting until their kinds are served."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.conformance.harness.base import wait_until
from tests.conformance.harness.client import Client

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def conditions(client: Client, name: str) -> dict[str, str]:
    """The conditions of the definition `name`: type -> status."""
    status = client.get(f"{DEFINITIONS}/{name}").get("status") or {}
    return {c["type"]: c["status"] for c in status.get("conditions") or []}


def condition_messages(client: Client, name: str) -> dict[str, str]:
    """The conditions of the definition `name`: type -> message."""
    status = client.get(f"{DEFINITIONS}/{name}").get("status") or {}
    return {c["type"]: c.get("message", "") for c in status.get("conditions") or []}


def collection(definition: dict[str, Any], namespace: str | None = None) -> str:
    """The path under which the objects of `definition` are served; `namespace` only for namespaced kinds."""
    spec = definition["spec"]
    group = f"/apis/{spec['group']}/{spec['versions'][0]['name']}"
    inside = f"/namespaces/{namespace}" if namespace else ""
    return f"{group}{inside}/{spec['names']['plural']}"


def install(client: Client, definitions: Iterable[dict[str, Any]], timeout_s: float = 30.0) -> None:
    """Apply every definition and return when all are established and answer a list. Raises TimeoutError."""
    installed = list(definitions)
    for definition in installed:
        client.apply(f"{DEFINITIONS}/{definition['metadata']['name']}", definition)
    for definition in installed:
        name = definition["metadata"]["name"]

        def established(name: str = name) -> bool:
            return conditions(client, name).get("Established") == "True"

        def served(path: str = collection(definition)) -> bool:
            return client.exists(path)

        wait_until(established, f"{name} to be established", timeout_s)
        wait_until(served, f"{name} to be served", timeout_s)
