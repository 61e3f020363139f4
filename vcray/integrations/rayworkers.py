"""What it costs to lose a worker of a RayCluster: which pods get which `controller.kubernetes.io/pod-deletion-cost`.

A worker without work costs nothing and has no annotation. One with running tasks costs more, and any with a live actor more than
that: a task is run again, the state of an actor is lost. Tasks come and go by the second, so only their order of magnitude counts,
and a pod is seldom written. Hosts of one replica go together, so each of them costs what all do.

A value of ours stands a second time in `vcray.io/ray-work`. A value without that, or another one, is a user's, and is left alone.
"""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from vcray.api import names
from vcray.api.meta import JsonObject
from vcray.controllers import raw
from vcray.integrations.kuberay import _clusters as ray

PORT: Final = 8265
"""Of a dashboard, where nobody says otherwise."""
AN_ACTOR: Final = 1000
"""What one live actor costs: more than any number of tasks."""
MOST_ACTORS: Final = 2_000_000
"""Actors that count, so that the cost is an int32."""
_NODE_PORTS: Final = ("NodePort", "LoadBalancer")
"""Types of a head's Service for which KubeRay tells the ports of Kubernetes' nodes in place of the head's."""
_DASHBOARD: Final = "dashboard"

Write: TypeAlias = tuple[JsonObject, JsonObject]
"""A pod, and the merge patch for it."""


@dataclass(frozen=True, slots=True)
class NodeWork:
    """A live Ray node, by its IP address: its live actors and running tasks."""

    address: str
    actors: int = 0
    tasks: int = 0


@dataclass(frozen=True, slots=True)
class ClusterWork:
    """All live nodes of a Ray cluster. Not `whole`: there is more work than was told, and nobody knows where."""

    nodes: tuple[NodeWork, ...]
    whole: bool = True


def cost_of(actors: int, tasks: int) -> int:
    """0 for no work, else rising with actors first, then with the order of magnitude (in twos) of tasks."""
    return min(actors, MOST_ACTORS) * AN_ACTOR + min(tasks.bit_length(), AN_ACTOR - 1)


def writes(workers: Sequence[JsonObject], work: ClusterWork | None) -> Iterator[Write]:
    """What is to be changed on the workers of one cluster; `work` None: nothing is known any more, and ours is taken back."""
    actors, tasks = _loads(workers, () if work is None else work.nodes)
    for pod in workers:
        cost = cost_of(actors[_unit(pod)], tasks[_unit(pod)])
        if work is not None and not work.whole:
            cost = max(cost, 1)
        annotations = _changed(raw.annotations_of(pod), str(cost) if cost else None)
        if annotations:
            yield pod, {"metadata": {"uid": raw.uid(pod), "annotations": annotations}}


def workers_of(
    cluster: JsonObject, pods: Sequence[JsonObject], schedulers: Collection[str]
) -> list[JsonObject]:
    """Those of its pods (as its uid owns them) that are workers of these schedulers and are not on their way out."""
    return [
        pod
        for pod in pods
        if raw.labels_of(pod).get(ray.NODE_TYPE) == "worker"
        and raw.labels_of(pod).get(ray.CLUSTER) == raw.name(cluster)
        and raw.text(pod, "spec", "schedulerName") in schedulers
        and not raw.terminating(pod)
    ]


def runs(pod: JsonObject) -> bool:
    """Has it come so far that it may be one of Ray's nodes?"""
    return raw.text(pod, "status", "phase") == "Running"


def dashboard_of(cluster: JsonObject) -> str:
    """The URL of a cluster's dashboard, "" where there is none: suspended, on its way out, or without a head as yet.

    What `status.endpoints` tells is the port of the head's container, so the address of its pod goes before its Service's."""
    if raw.terminating(cluster) or raw.at(cluster, "spec", "suspend") is True:
        return ""
    head = raw.table(cluster, "status", "head")
    host = next(filter(None, (_host(raw.text(head, key)) for key in ("podIP", "serviceIP"))), "")
    return f"http://{host}:{_port(cluster)}" if host else ""


def token_secret(cluster: JsonObject) -> str:
    """The name of the Secret with the token that a dashboard asks for (key `auth_token`), "" where it asks for none."""
    options = raw.table(cluster, "spec", "authOptions")
    if not options or options.get("mode") == "disabled":
        return ""
    return raw.text(options, "secretName") or raw.name(cluster)


def _unit(pod: JsonObject) -> str:
    """What goes as one: a replica of several hosts, or the pod."""
    return raw.labels_of(pod).get(ray.REPLICA_NAME) or raw.uid(pod)


def _loads(workers: Sequence[JsonObject], nodes: Sequence[NodeWork]) -> tuple[Counter[str], Counter[str]]:
    """Live actors and running tasks of each unit: those at its pods' addresses. Pods that share one (hostNetwork) are not told
    apart."""
    there: dict[str, list[NodeWork]] = {}
    for node in nodes:
        there.setdefault(_address(node.address), []).append(node)
    actors, tasks = Counter[str](), Counter[str]()
    for pod in workers:
        told = [raw.text(pod, "status", "podIP")]
        told += [raw.text(each, "ip") for each in raw.tables(pod, "status", "podIPs")]
        for address in {_address(each) for each in told} - {""}:
            for node in there.get(address, ()):
                actors[_unit(pod)] += node.actors
                tasks[_unit(pod)] += node.tasks
    return actors, tasks


def _changed(present: dict[str, str], wanted: str | None) -> JsonObject:
    """Annotations to write, None to remove one; {} where all is as it should be."""
    cost, ours = present.get(names.POD_DELETION_COST), present.get(names.RAY_WORK)
    if cost is not None and cost != ours:
        return {names.RAY_WORK: None} if ours is not None else {}
    target = {names.POD_DELETION_COST: wanted, names.RAY_WORK: wanted}
    return {key: value for key, value in target.items() if present.get(key) != value}


def _port(cluster: JsonObject) -> int:
    head = raw.table(cluster, "spec", "headGroupSpec")
    for container in raw.tables(head, "template", "spec", "containers")[:1]:
        for port in raw.tables(container, "ports"):
            if port.get("name") == _DASHBOARD:
                return raw.number(port, "containerPort") or PORT
    told = raw.text(cluster, "status", "endpoints", _DASHBOARD)
    tells = told.isascii() and told.isdecimal() and 0 < int(told[:6]) < 2**16
    return int(told) if tells and raw.text(head, "serviceType") not in _NODE_PORTS else PORT


def _host(text: str) -> str:
    """An address as a URL has it; "" for what is none, or none of a pod or Service."""
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return ""
    if found.is_link_local or found.is_multicast or found.is_unspecified:
        return ""
    return f"[{found}]" if found.version == 6 else str(found)


def _address(text: str) -> str:
    """One spelling for each address, "" for what is none."""
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        return ""
