"""The oracle's node scores, one node at a time.

Choices where sums of several kinds meet: scorers of nodeorder that look at one node (least, most, balanced, image) are
exact integers times integer weights; each plugin's own sum is a float added in policy order (nodeorder, binpack as the
configuration lists them) and the sum is rounded once to 1/2**20; scorers that are normalised over the candidates
(node affinity, taints, inter-pod affinity, spread) are integers, truncated (inter-pod affinity from a float64
quotient, as kube-scheduler does), added after that. Resources of
binpack are summed in the order cpu, memory, then by name.
Existing pods' preferred terms count on every node. Scores use the kube-scheduler's reading of a node (pipelined
pods count), binpack Volcano's own.
"""

from __future__ import annotations

from math import floor, log, sqrt
from typing import Any

from tests.oracle import filters
from tests.oracle.facts import Amounts, Cluster, Node, Object, Pod

WEIGHTS = {
    "leastrequested": 1,
    "mostrequested": 0,
    "nodeaffinity": 2,
    "podaffinity": 2,
    "balancedresource": 1,
    "tainttoleration": 3,
    "imagelocality": 1,
    "podtopologyspread": 2,
}
GPU = "nvidia.com/gpu"
MIB = 2**20


def whole_number(arguments: Object, name: str, default: int) -> int:
    """Only a YAML integer counts; anything else leaves the default."""
    value = arguments.get(name, default)
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def best_first(
    cluster: Cluster,
    scorers: list[tuple[str, Object]],
    pod: Pod,
    group: list[Node],
    rank: dict[str, int],
    near: dict[str, float],
) -> list[Node]:
    """The nodes by falling score; ties go to the higher rank."""
    local = {node.name: 0.0 for node in group}
    scaled = {node.name: 0 for node in group}
    for name, arguments in scorers:
        if name == "binpack":
            for node in group:
                local[node.name] += binpack(arguments, pod, node)
        elif name == "nodeorder":
            weight = {key: whole_number(arguments, f"{key}.weight", at) for key, at in WEIGHTS.items()}
            for node in group:
                local[node.name] += float(node_local(cluster, weight, pod, node))
            for score, of in normalised(cluster, pod, group):
                for node in group:
                    scaled[node.name] += weight[of] * score[node.name]
    return sorted(
        group,
        key=lambda node: (
            round(local[node.name] * 2**20)
            + scaled[node.name] * 2**20
            + round(near.get(node.name, 0.0) * 2**20),
            rank[node.name],
        ),
        reverse=True,
    )


def binpack(arguments: Object, pod: Pod, node: Node) -> float:
    weights = {}
    for name in str(arguments.get("binpack.resources", "")).split(","):
        if name.strip():
            weights[name.strip()] = max_or_one(
                whole_number(arguments, f"binpack.resources.{name.strip()}", 1)
            )
    for name in ("cpu", "memory"):
        weights[name] = max_or_one(whole_number(arguments, f"binpack.{name}", 1))
    total, weight_sum, used = 0.0, 0, node.used()
    for name in in_order(pod.request):
        if pod.request[name] <= 0 or name not in weights:
            continue
        weight, capacity = weights[name], node.allocatable.get(name, 0)
        weight_sum += weight
        if weight == 0 or capacity == 0:
            continue
        after = used.get(name, 0) + pod.request[name]
        if after > capacity:
            return 0.0
        total += after * weight / capacity
    plugin_weight = whole_number(arguments, "binpack.weight", 1)
    return total / weight_sum * 100 * plugin_weight if weight_sum else 0.0


def max_or_one(weight: int) -> int:
    return 1 if weight < 0 else weight


def in_order(request: Amounts) -> list[str]:
    first = [name for name in ("cpu", "memory", "pods") if name in request]
    return first + sorted(set(request) - {"cpu", "memory", "pods"})


def node_local(cluster: Cluster, weight: dict[str, int], pod: Pod, node: Node) -> int:
    least, most = least_and_most(pod, node)
    return (
        weight["leastrequested"] * least
        + weight["mostrequested"] * most
        + weight["balancedresource"] * balanced(pod, node)
        + weight["imagelocality"] * image_locality(cluster, pod, node)
    )


def least_and_most(pod: Pod, node: Node) -> tuple[int, int]:
    """Over cpu and memory, with 100m and 200Mi for containers that state none; dimensions without capacity left out."""
    least = most = counted = 0
    for row, name in enumerate(("cpu", "memory")):
        capacity = int(node.kube_allocatable.get(name, 0))
        if capacity == 0:
            continue
        after = sum(other.floor[row] for other in node.seen()) + pod.floor[row]
        counted += 1
        least += 0 if after > capacity else (capacity - after) * 100 // capacity
        most += min(after, capacity) * 100 // capacity
    return (least * 50 // (counted * 50), most // counted) if counted else (0, 0)


def balanced(pod: Pod, node: Node) -> int:
    if not any(pod.request.get(name, 0) for name in ("cpu", "memory", GPU)):
        return 0
    names = ["cpu", "memory"] + ([GPU] if pod.request.get(GPU, 0) else [])
    names = [name for name in names if node.kube_allocatable.get(name, 0) > 0]
    requested = node.requested()
    before = [requested.get(n, 0) / node.kube_allocatable[n] for n in names]
    after = [(requested.get(n, 0) + pod.request.get(n, 0)) / node.kube_allocatable[n] for n in names]
    return 50 + (50 + evenness(after) - evenness(before)) // 2


def evenness(fractions: list[float]) -> int:
    capped = [min(fraction, 1.0) for fraction in fractions]
    deviation = 0.0
    if len(capped) == 2:
        deviation = abs(capped[0] - capped[1]) / 2
    elif len(capped) > 2:
        mean = sum(capped) / len(capped)
        deviation = sqrt(sum((f - mean) * (f - mean) for f in capped) / len(capped))
    return int((1 - deviation) * 100)


def image_locality(cluster: Cluster, pod: Pod, node: Node) -> int:
    containers = [*(pod.spec.get("initContainers") or []), *pod.spec["containers"]]
    total = 0
    for container in containers:
        image = container.get("image", "")
        if image.rfind(":") <= image.rfind("/"):
            image += ":latest"
        if image in node.images:
            having = sum(image in other.images for other in cluster.nodes.values())
            total += int(node.images[image] * (having / len(cluster.nodes)))
    low, high = 23 * MIB, 1000 * MIB * len(containers)
    return 100 * (min(max(total, low), high) - low) // (high - low)


def normalised(cluster: Cluster, pod: Pod, group: list[Node]) -> list[tuple[dict[str, int], str]]:
    """Scores 0..100 of the nodes of one candidate group, with the name of their weight."""
    affinity = {
        node.name: sum(
            term["weight"] for term in preferred_nodes(pod) if matches_preference(term["preference"], node)
        )
        for node in group
    }
    top = max(affinity.values())
    affinity = {name: 100 * s // top if top else 0 for name, s in affinity.items()}
    taints = {node.name: repelled(pod, node) for node in group}
    top = max(taints.values())
    taints = {name: 100 - 100 * c // top if top else 100 for name, c in taints.items()}
    near = {node.name: inter_pod(cluster, pod, node) for node in group}
    low, top = min(near.values()), max(near.values())
    near = {name: int(100.0 * ((s - low) / (top - low))) if top > low else 0 for name, s in near.items()}
    return [
        (affinity, "nodeaffinity"),
        (taints, "tainttoleration"),
        (near, "podaffinity"),
        (spread(cluster, pod, group), "podtopologyspread"),
    ]


def preferred_nodes(pod: Pod) -> list[Any]:
    affinity = (pod.spec.get("affinity") or {}).get("nodeAffinity") or {}
    return affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or []


def matches_preference(preference: Object, node: Node) -> bool:
    return filters.node_term_matches(preference, node)


def repelled(pod: Pod, node: Node) -> int:
    soft = [taint for taint in node.taints if taint["effect"] == "PreferNoSchedule"]
    return sum(not filters.tolerated(taint, pod) for taint in soft)


def inter_pod(cluster: Cluster, pod: Pod, node: Node) -> int:
    """Own preferred terms against the pods there, and theirs against this pod; required ones weigh nothing."""
    total = 0
    for place in cluster.nodes.values():
        for other in place.seen():
            for owner, target in ((pod, other), (other, pod)):
                for weight, term in filters.preferred_terms(owner):
                    key = term["topologyKey"]
                    here = key in node.labels and place.labels.get(key) == node.labels[key]
                    if here and filters.term_selects(term, owner, target):
                        total += weight
    return total


def spread(cluster: Cluster, pod: Pod, group: list[Node]) -> dict[str, int]:
    soft = filters.constraints(pod, "ScheduleAnyway")
    if not soft:
        return {node.name: 0 for node in group}

    def has_keys(node: Node) -> bool:
        return all(c["topologyKey"] in node.labels for c in soft)

    scored = [node for node in group if has_keys(node)]
    raw = {node.name: 0.0 for node in scored}
    for constraint in soft:
        key = constraint["topologyKey"]
        values = {node.labels[key] for node in scored}
        size = len(scored) if key == filters.HOSTNAME else len(values)
        for node in scored:
            places = [node]
            if key != filters.HOSTNAME:
                places = [
                    place
                    for place in cluster.nodes.values()
                    if has_keys(place)
                    and place.labels[key] == node.labels[key]
                    and filters.spread_includes(constraint, pod, place)
                ]
            count = sum(filters.spread_selects(constraint, pod, o) for place in places for o in place.seen())
            raw[node.name] += count * log(size + 2) + constraint["maxSkew"] - 1
    rounded = {name: floor(value + 0.5) for name, value in raw.items()}
    low, top = min(rounded.values(), default=0), max(rounded.values(), default=0)
    scores = {name: 100 * (top + low - s) // top if top else 100 for name, s in rounded.items()}
    return {node.name: scores.get(node.name, 0) for node in group}
