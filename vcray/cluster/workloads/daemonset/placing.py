"""Where a DaemonSet's pods belong, and the pod of a node: tolerations that all have, an affinity that names the node. Pure."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import msgspec

from vcray.api import wire
from vcray.api.jsonview import dig, dig_object, dig_objects, dig_str, dig_strings
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import DAEMONSETS
from vcray.cache.podspec import waiting_form
from vcray.cluster.kinds.computed import TEMPLATE_GENERATION
from vcray.cluster.workloads.history import HASH_LABEL
from vcray.cluster.workloads.nodes import NOT_READY, UNREACHABLE, UNSCHEDULABLE
from vcray.cluster.workloads.podcontrol import pod_from
from vcray.cluster.workloads.scheduling.fitting import taints_of, tolerated, wanted
from vcray.core.selectors import BLOCKING

GENERATION_LABEL = "pod-template-generation"
_OVERLOOKED = (
    (NOT_READY, "NoExecute"),
    (UNREACHABLE, "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    (UNSCHEDULABLE, "NoSchedule"),
)
"""Taints that keep no daemon away."""
_NO_NETWORK = ("node.kubernetes.io/network-unavailable", "NoSchedule")
"""Nor does this one, if the daemon uses the node's network."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a node should get a pod, and whether one that is there may stay."""

    run: bool
    stay: bool


def tolerations(spec: JsonObject) -> list[JsonObject]:
    """A pod's own tolerations and those of every daemon; one that is there already stays in its place."""
    found = dig_objects(spec, "tolerations")
    for key, effect in (*_OVERLOOKED, *((_NO_NETWORK,) if spec.get("hostNetwork") is True else ())):
        made: JsonObject = {"key": key, "operator": "Exists", "effect": effect}
        same = [index for index, each in enumerate(found) if _bare(each) == made]
        for index in same:
            found[index] = made
        if not same:
            found.append(made)
    return found


def _bare(toleration: JsonObject) -> JsonObject:
    """A toleration without its patience."""
    return {name: value for name, value in toleration.items() if name != "tolerationSeconds" and value}


class Placing:
    """The nodes of one DaemonSet, as far as its template tells."""

    def __init__(self, daemon_set: JsonObject) -> None:
        spec = dig_object(daemon_set, "spec", "template", "spec")
        listed: list[JsonValue] = [*tolerations(spec)]
        pod: JsonObject = {"metadata": {}, "spec": {**spec, "tolerations": listed}}
        self._node = dig_str(spec, "nodeName")
        self._form = waiting_form(wire.decode_pod(msgspec.json.encode(pod)))

    def verdict(self, node: JsonObject) -> Verdict:
        """What this node is to the set: a pod that tolerates a node's NoExecute taints stays where it is."""
        if self._node not in ("", dig_str(node, "metadata", "name")) or not wanted(self._form, node):
            return Verdict(False, False)
        against = {taint.effect for taint in taints_of(node) if not tolerated(self._form, taint)}
        return Verdict(against.isdisjoint(BLOCKING), "NoExecute" not in against)


def generation(daemon_set: JsonObject) -> str:
    """How often the template changed, as the deprecated annotation tells; empty if it is no number."""
    text = dig_strings(daemon_set, "metadata", "annotations").get(TEMPLATE_GENERATION, "")
    return text if text.isascii() and text.isdigit() else ""


def daemon_for(daemon_set: JsonObject, mark: str, node: str) -> JsonObject:
    """The pod of a node. Its affinity names the node, in the place of what the template requires."""
    template = copy.deepcopy(dig_object(daemon_set, "spec", "template"))
    pod = pod_from(DAEMONSETS, daemon_set, template)
    labels, spec = dig_object(pod, "metadata", "labels"), dig_object(pod, "spec")
    if generation(daemon_set):
        labels[GENERATION_LABEL] = generation(daemon_set)
    labels[HASH_LABEL] = mark
    listed: list[JsonValue] = [*tolerations(spec)]
    spec["tolerations"] = listed
    field: JsonObject = {"key": "metadata.name", "operator": "In", "values": [node]}
    required: JsonObject = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    affinity = {**dig_object(spec, "affinity")}
    affinity["nodeAffinity"] = {
        **dig_object(dig(affinity, "nodeAffinity")),
        "requiredDuringSchedulingIgnoredDuringExecution": required,
    }
    spec["affinity"] = affinity
    return pod
