"""Which watches feed a part, and in what form objects come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from vcray.actors.runtime import Handle
from vcray.actors.watcher import AnyWatch, Watcher
from vcray.api.resources import CONFIGMAPS, CRONJOBS, NATIVE_GANG_RESOURCES, NODES, PODS, Resource
from vcray.config.deviceconfig import device_config_place
from vcray.kube.client import KubeClient
from vcray.kube.watch import watch_nodes, watch_objects, watch_pods

if TYPE_CHECKING:
    from vcray.actors.parts import Place

OPTIONAL_GROUPS: Final = (
    "resource.k8s.io",
    "topology.volcano.sh",
    "nodeinfo.volcano.sh",
    "shard.volcano.sh",
    "flow.volcano.sh",
    "config.volcano.sh",
)
"""API groups that not every cluster serves in the version that we read: nothing of theirs is there then."""

OPTIONAL_KINDS: Final = (CRONJOBS, *NATIVE_GANG_RESOURCES)
"""Kinds of other groups that older definitions of Volcano's lack, or that an API server serves only where it is told to: there are none
then, and the rest goes on."""


def watch(place: Place, source: AnyWatch, target: Handle) -> None:
    """Let a part hear of what a watch tells, from now on."""
    place.runtime.background(
        f"watch {source.resource.full_name}", Watcher(source, (target,), place.metrics).run
    )


def watch_all(place: Place, client: KubeClient, resources: Sequence[Resource], target: Handle) -> None:
    """Let a part hear of all objects of these resources, as JSON."""
    for resource in resources:
        optional = resource.group in OPTIONAL_GROUPS or resource in OPTIONAL_KINDS
        watch(place, watch_objects(client, resource, optional=optional), target)


def for_scheduler(client: KubeClient, resource: Resource, conf: str) -> AnyWatch:
    """Pods and nodes as structs with the fields that the scheduler reads, all else as JSON.

    Of all ConfigMaps only the device configuration that the scheduler's own names."""
    if resource == PODS:
        return watch_pods(client)
    if resource == CONFIGMAPS:
        return one_object(client, resource, device_config_place(conf))
    if resource == NODES:
        return watch_nodes(client)
    return watch_objects(client, resource, optional=resource.group in OPTIONAL_GROUPS)


def one_object(client: KubeClient, resource: Resource, place: tuple[str, str]) -> AnyWatch:
    """One object alone, by its namespace and name."""
    namespace, name = place
    return watch_objects(client, resource, namespace=namespace, field_selector=f"metadata.name={name}")
