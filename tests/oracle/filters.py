"""The oracle's predicates: may this pod go to this node now? One pod, one node, everything looked up afresh.

Existing pods' required anti-affinity is honoured on every node, not only on those that held such a pod at the
session's start. Terminating pods occupy ports and affinity domains but are not counted by topology spread, as in
kube-scheduler.
"""

from __future__ import annotations

from typing import Any

from tests.oracle.facts import Amounts, Cluster, Node, Object, Pod

HOSTNAME = "kubernetes.io/hostname"
CORDON = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


def fits(request: Amounts, available: Amounts) -> bool:
    """Cpu and memory are always compared, so nothing fits an overcommitted node; the rest as far as requested."""
    names = {"cpu", "memory", *request}
    return all(request.get(name, 0) <= available.get(name, 0) for name in names)


def feasible(cluster: Cluster, arguments: Object, pod: Pod, node: Node) -> bool:
    """All predicates together, without the resource check."""

    def on(name: str) -> bool:
        return arguments.get(f"predicate.{name}Enable", True) not in (False, "false")

    if pod.held or node.allocatable.get("pods", 0) <= len(node.seen()):
        return False
    if node.unschedulable and not tolerated(CORDON, pod):
        return False
    if on("NodeAffinity") and not node_affinity(pod, node):
        return False
    if on("TaintToleration") and untolerated(pod, node):
        return False
    if on("NodePorts") and ports_clash(pod, node):
        return False
    if on("PodAffinity") and not (
        anti_affinity_of_others(cluster, pod, node)
        and own_anti_affinity(cluster, pod, node)
        and own_affinity(cluster, pod, node)
    ):
        return False
    return not on("PodTopologySpread") or spread(cluster, pod, node)


def allowed_by_object(arguments: Object, pod: Pod, node: Node) -> bool:
    """What `feasible` looks at that no pod of the node has a part in."""

    def on(name: str) -> bool:
        return arguments.get(f"predicate.{name}Enable", True) not in (False, "false")

    if pod.held or (node.unschedulable and not tolerated(CORDON, pod)):
        return False
    if on("NodeAffinity") and not node_affinity(pod, node):
        return False
    return not (on("TaintToleration") and untolerated(pod, node))


def reachable(pod: Pod, node: Node) -> bool:
    """Could the pod ever run there, were the node empty? By the rules of node objects, whatever is configured."""
    if node.unschedulable and not tolerated(CORDON, pod):
        return False
    room = all(pod.request.get(name, 0) <= node.allocatable.get(name, 0) for name in pod.request)
    return room and node_affinity(pod, node) and not untolerated(pod, node)


def expression_holds(expression: Object, labels: dict[str, str]) -> bool:
    """One requirement of a label or node selector."""
    key, operator, values = expression["key"], expression["operator"], expression.get("values") or []
    value = labels.get(key)
    if operator == "In":
        return value in values
    if operator == "NotIn":
        return value not in values
    if operator == "Exists":
        return key in labels
    if operator == "DoesNotExist":
        return key not in labels
    try:
        number, bound = int(labels[key]), int(values[0])
    except (KeyError, ValueError):
        return False
    return number > bound if operator == "Gt" else number < bound


def node_term_matches(term: Object, node: Node) -> bool:
    """All expressions and fields of a node selector term; an empty term matches nothing."""
    expressions, fields = term.get("matchExpressions") or [], term.get("matchFields") or []
    return bool(expressions or fields) and (
        all(expression_holds(e, node.labels) for e in expressions)
        and all(expression_holds(e, {"metadata.name": node.name}) for e in fields)
    )


def node_affinity(pod: Pod, node: Node) -> bool:
    """spec.nodeSelector and the required node affinity."""
    selector = pod.spec.get("nodeSelector") or {}
    if any(node.labels.get(key) != value for key, value in selector.items()):
        return False
    required = _affinity(pod, "nodeAffinity").get("requiredDuringSchedulingIgnoredDuringExecution")
    return required is None or any(node_term_matches(t, node) for t in required["nodeSelectorTerms"])


def tolerated(taint: Object, pod: Pod) -> bool:
    """Whether one of the pod's tolerations covers the taint."""
    for toleration in pod.spec.get("tolerations") or []:
        if toleration.get("effect") and toleration["effect"] != taint["effect"]:
            continue
        if toleration.get("key") and toleration["key"] != taint["key"]:
            continue
        exists = toleration.get("operator") == "Exists"
        if exists or (toleration.get("key") and toleration.get("value", "") == taint.get("value", "")):
            return True
    return False


def untolerated(pod: Pod, node: Node) -> bool:
    hard = [taint for taint in node.taints if taint["effect"] in ("NoSchedule", "NoExecute")]
    return any(not tolerated(taint, pod) for taint in hard)


def host_ports(pod: Pod) -> list[tuple[str, str, int]]:
    return [
        (port.get("hostIP") or "0.0.0.0", port.get("protocol") or "TCP", port["hostPort"])
        for container in pod.spec["containers"]
        for port in container.get("ports") or []
        if port.get("hostPort")
    ]


def ports_clash(pod: Pod, node: Node) -> bool:
    taken = [port for other in node.seen() for port in host_ports(other)]
    for ip, protocol, number in host_ports(pod):
        for other_ip, other_protocol, other_number in taken:
            same = protocol == other_protocol and number == other_number
            if same and (ip == other_ip or "0.0.0.0" in (ip, other_ip)):
                return True
    return False


def selects(selector: Object | None, labels: dict[str, str]) -> bool:
    """A label selector; none selects nothing."""
    if selector is None:
        return False
    wanted = selector.get("matchLabels") or {}
    return all(labels.get(key) == value for key, value in wanted.items()) and all(
        expression_holds(e, labels) for e in selector.get("matchExpressions") or []
    )


def term_selects(term: Object, owner: Pod, other: Pod) -> bool:
    """Whether a pod (anti-)affinity term of `owner` selects `other`."""
    everywhere = term.get("namespaceSelector") == {}
    spaces = term.get("namespaces") or []
    if not spaces and term.get("namespaceSelector") is None:
        spaces = [owner.namespace]
    return (everywhere or other.namespace in spaces) and selects(term.get("labelSelector"), other.labels)


def required_terms(pod: Pod, kind: str) -> list[Any]:
    return _affinity(pod, kind).get("requiredDuringSchedulingIgnoredDuringExecution") or []


def preferred_terms(pod: Pod) -> list[tuple[int, Object]]:
    """(weight, term), negative for anti-affinity."""
    name = "preferredDuringSchedulingIgnoredDuringExecution"
    pro = _affinity(pod, "podAffinity").get(name) or []
    contra = _affinity(pod, "podAntiAffinity").get(name) or []
    return [(t["weight"], t["podAffinityTerm"]) for t in pro] + [
        (-t["weight"], t["podAffinityTerm"]) for t in contra
    ]


def anti_affinity_of_others(cluster: Cluster, pod: Pod, node: Node) -> bool:
    for place in cluster.nodes.values():
        for other in place.seen():
            for term in required_terms(other, "podAntiAffinity"):
                if term_selects(term, other, pod) and _same_domain(term["topologyKey"], place, node):
                    return False
    return True


def own_anti_affinity(cluster: Cluster, pod: Pod, node: Node) -> bool:
    for term in required_terms(pod, "podAntiAffinity"):
        for place in cluster.nodes.values():
            if _same_domain(term["topologyKey"], place, node) and any(
                term_selects(term, pod, other) for other in place.seen()
            ):
                return False
    return True


def own_affinity(cluster: Cluster, pod: Pod, node: Node) -> bool:
    """Every term needs, in the node's domain, a pod that matches all terms; the first of a group that matches
    itself may go to any node that has the keys."""
    terms = required_terms(pod, "podAffinity")
    if not terms:
        return True
    if any(term["topologyKey"] not in node.labels for term in terms):
        return False
    companions = [
        (term, place)
        for place in cluster.nodes.values()
        for other in place.seen()
        if all(term_selects(term, pod, other) for term in terms)
        for term in terms
        if term["topologyKey"] in place.labels
    ]
    if not companions:
        return all(term_selects(term, pod, pod) for term in terms)
    return all(
        any(term is own and _same_domain(own["topologyKey"], place, node) for term, place in companions)
        for own in terms
    )


def constraints(pod: Pod, when: str) -> list[Object]:
    listed = pod.spec.get("topologySpreadConstraints") or []
    return [c for c in listed if c["whenUnsatisfiable"] == when]


def spread_selects(constraint: Object, pod: Pod, other: Pod) -> bool:
    """Same namespace, selected, and equal in the constraint's matchLabelKeys; terminating pods do not count."""
    if other.status == "Releasing" or other.namespace != pod.namespace:
        return False
    keys = [key for key in constraint.get("matchLabelKeys") or [] if key in pod.labels]
    return selects(constraint["labelSelector"], other.labels) and all(
        other.labels.get(key) == pod.labels[key] for key in keys
    )


def spread_includes(constraint: Object, pod: Pod, node: Node) -> bool:
    """The constraint's nodeAffinityPolicy (default Honor) and nodeTaintsPolicy (default Ignore)."""
    if constraint.get("nodeAffinityPolicy", "Honor") == "Honor" and not node_affinity(pod, node):
        return False
    return constraint.get("nodeTaintsPolicy", "Ignore") == "Ignore" or not untolerated(pod, node)


def spread(cluster: Cluster, pod: Pod, node: Node) -> bool:
    hard = constraints(pod, "DoNotSchedule")
    for constraint in hard:
        key = constraint["topologyKey"]
        if key not in node.labels:
            return False
        found: dict[str, int] = {}
        for place in cluster.nodes.values():
            if all(c["topologyKey"] in place.labels for c in hard) and spread_includes(
                constraint, pod, place
            ):
                matching = sum(spread_selects(constraint, pod, other) for other in place.seen())
                found[place.labels[key]] = found.get(place.labels[key], 0) + matching
        least = min(found.values(), default=2**31 - 1)
        if len(found) < constraint.get("minDomains", 1):
            least = 0
        own = int(spread_selects(constraint, pod, pod))
        if found.get(node.labels[key], 0) + own - least > constraint["maxSkew"]:
            return False
    return True


def _affinity(pod: Pod, kind: str) -> Object:
    return (pod.spec.get("affinity") or {}).get(kind) or {}


def _same_domain(key: str, left: Node, right: Node) -> bool:
    return key in left.labels and key in right.labels and left.labels[key] == right.labels[key]
