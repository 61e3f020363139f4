"""HyperNodes of a scenario file: `s0: {tier: 1, nodes: [n1, n2]}`, `s3: {tier: 2, children: [s0, s1]}`."""

from __future__ import annotations

from collections.abc import Mapping

from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import HYPERNODES
from vcray.errors import InputError, Problem, did_you_mean

_KEYS = ("tier", "tierName", "nodes", "children", "pattern", "labels")


def hypernode(name: str, spec: Mapping[str, JsonValue], where: str) -> JsonObject:
    """A HyperNode from its tier and its members: node names, HyperNode names, a pattern over node names, labels of nodes.

    InputError VC0302 for a key that is none of these or a list that is none."""
    for key in spec:
        if key not in _KEYS:
            raise InputError(
                Problem("VC0302", f"{where}.{key}", f"unknown key '{key}'{did_you_mean(key, _KEYS)}")
            )
    members: list[JsonValue] = []
    for key, kind in (("nodes", "Node"), ("children", "HyperNode")):
        names = spec.get(key, [])
        if not isinstance(names, list):
            raise InputError(Problem("VC0302", f"{where}.{key}", f"expected a list, got {names!r}"))
        members += [{"type": kind, "selector": {"exactMatch": {"name": str(each)}}} for each in names]
    if "pattern" in spec:
        members.append({"type": "Node", "selector": {"regexMatch": {"pattern": spec["pattern"]}}})
    if "labels" in spec:
        members.append({"type": "Node", "selector": {"labelMatch": {"matchLabels": spec["labels"]}}})
    body: JsonObject = {"tier": spec.get("tier", 1), "members": members}
    if "tierName" in spec:
        body["tierName"] = spec["tierName"]
    return {
        "apiVersion": HYPERNODES.api_version,
        "kind": HYPERNODES.kind,
        "metadata": {"name": name},
        "spec": body,
    }
