"""Random pod templates: requests, ports, tolerations, affinity, spread constraints."""

from __future__ import annotations

from random import Random

from tests.oracle.facts import Object
from tests.oracle.filters import HOSTNAME
from tests.oracle.randomness import GPU, ZONE, RandomCluster


def template(cluster: RandomCluster) -> Object:
    """What the pods of a role have in common, labels aside."""
    rng = cluster.rng
    requests = _requests(cluster)
    container: Object = {"name": "main", "image": rng.choice(["app:v1", "app", "hub/base:2", "none"])}
    if requests:
        container["resources"] = {"requests": requests}
    if cluster.chance("ports", 0.5):
        container["ports"] = [_port(rng)]
    spec: Object = {"containers": [container], "schedulerName": "volcano"}
    if cluster.chance("init containers", 0.5) and requests:
        _initialise(rng, spec)
    if rng.random() < 0.4:
        spec["priority"] = rng.choice([0, 10, 100])
    if "taints" in cluster.uses and rng.random() < 0.5:
        spec["tolerations"] = _tolerations(rng)
    if cluster.chance("cordons", 0.1):
        spec["tolerations"] = [{"operator": "Exists", "key": "node.kubernetes.io/unschedulable"}]
    if cluster.chance("claims", 0.3):
        _claim(cluster, spec)
    app = rng.choice(["web", "db"])
    _placement(cluster, spec, app)
    return {"app": app, "spec": spec}


def _requests(cluster: RandomCluster) -> Object:
    rng = cluster.rng
    if cluster.chance("best effort", 0.35):
        return {}
    requests = {
        "cpu": rng.choice(["500m", "1", "1", "1", "2", "2", "3", "250m"]),
        "memory": rng.choice(["256Mi", "512Mi", "1Gi", "1Gi", "2Gi", "3Gi"]),
    }
    if rng.random() < (0.5 if cluster.theme == "overbooked" else 0.1):
        del requests[rng.choice(list(requests))]
    if cluster.chance("gpu", 0.5):
        requests[GPU] = str(rng.choice([1, 1, 2]))
    if cluster.chance("ephemeral", 0.3):
        requests["ephemeral-storage"] = rng.choice(["1Gi", "8Gi"])
    return requests


def _port(rng: Random) -> Object:
    port: Object = {"containerPort": 80, "hostPort": rng.choice([8080, 9090]), "protocol": "TCP"}
    if rng.random() < 0.4:
        port["hostIP"] = rng.choice(["10.0.0.1", "10.0.0.2", "0.0.0.0"])
    if rng.random() < 0.2:
        port["protocol"] = "UDP"
    return port


def _initialise(rng: Random, spec: Object) -> None:
    first: Object = {"name": "first", "image": "app:v1", "resources": {"requests": {"cpu": "1500m"}}}
    if rng.random() < 0.4:
        first["restartPolicy"] = "Always"
    spec["initContainers"] = [first]
    if rng.random() < 0.5:
        spec["containers"] = [*spec["containers"], {"name": "side", "image": "app:v1"}]


def _tolerations(rng: Random) -> list[Object]:
    return rng.choice(
        [
            [{"operator": "Exists"}],
            [{"key": "team", "operator": "Exists"}],
            [{"key": "team", "operator": "Equal", "value": "x", "effect": "NoSchedule"}],
            [
                {"key": "spot", "value": "y"},
                {"key": "old", "operator": "Exists", "effect": "PreferNoSchedule"},
            ],
        ]
    )


def _claim(cluster: RandomCluster, spec: Object) -> None:
    name = f"claim{len(cluster.objects)}"
    phase = cluster.rng.choice(["Pending", "Bound", ""])
    if phase:
        meta = {"name": name, "namespace": "ns"}
        cluster.add("PersistentVolumeClaim", meta, spec={}, status={"phase": phase})
    spec["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": name}}]


def _placement(cluster: RandomCluster, spec: Object, app: str) -> None:
    rng = cluster.rng
    if cluster.chance("selectors", 0.35):
        spec["nodeSelector"] = {"disk": rng.choice(["ssd", "hdd"])}
    affinity: Object = {}
    if cluster.chance("node affinity", 0.6):
        affinity["nodeAffinity"] = _node_affinity(rng)
    if cluster.chance("affinity", 0.6):
        affinity.update(_pod_affinity(rng))
    if affinity:
        spec["affinity"] = affinity
    if cluster.chance("spread", 0.6):
        spec["topologySpreadConstraints"] = [_constraint(cluster, app) for _ in range(rng.choice([1, 1, 2]))]


def _node_affinity(rng: Random) -> Object:
    terms = [
        {"matchExpressions": [{"key": "disk", "operator": "In", "values": [rng.choice(["ssd", "hdd"])]}]},
        {"matchExpressions": [{"key": "size", "operator": "Gt", "values": ["1"]}]},
        {"matchExpressions": [{"key": "size", "operator": "Lt", "values": ["3"]}]},
        {"matchExpressions": [{"key": ZONE, "operator": "Exists"}]},
        {"matchExpressions": [{"key": ZONE, "operator": "NotIn", "values": ["a", "b"]}]},
        {"matchExpressions": [{"key": ZONE, "operator": "DoesNotExist"}]},
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [f"n{rng.randrange(4)}"]}]},
    ]
    found: Object = {}
    if rng.random() < 0.4:
        found["requiredDuringSchedulingIgnoredDuringExecution"] = {
            "nodeSelectorTerms": rng.sample(terms, rng.choice([1, 2]))
        }
    if rng.random() < 0.8:
        found["preferredDuringSchedulingIgnoredDuringExecution"] = [
            {"weight": rng.choice([1, 10, 33, 100]), "preference": term}
            for term in rng.sample(terms, rng.choice([1, 2, 3]))
        ]
    return found


def _pod_term(rng: Random) -> Object:
    selector: Object = {"matchLabels": {"app": rng.choice(["web", "db"])}}
    if rng.random() < 0.2:
        selector = {"matchExpressions": [{"key": "app", "operator": "In", "values": ["web", "db"]}]}
    term: Object = {"labelSelector": selector, "topologyKey": rng.choice([ZONE, HOSTNAME])}
    roll = rng.random()
    if roll < 0.1:
        term["namespaces"] = ["ns", "ns2"]
    elif roll < 0.2:
        term["namespaceSelector"] = {}
    return term


def _pod_affinity(rng: Random) -> Object:
    found: Object = {}
    for kind in rng.sample(["podAffinity", "podAntiAffinity"], rng.choice([1, 1, 2])):
        part: Object = {}
        if rng.random() < 0.5:
            part["requiredDuringSchedulingIgnoredDuringExecution"] = [
                _pod_term(rng) for _ in range(rng.choice([1, 1, 1, 2]))
            ]
        if not part or rng.random() < 0.4:
            part["preferredDuringSchedulingIgnoredDuringExecution"] = [
                {"weight": rng.choice([1, 7, 50, 100]), "podAffinityTerm": _pod_term(rng)}
                for _ in range(rng.choice([1, 1, 2]))
            ]
        found[kind] = part
    return found


def _constraint(cluster: RandomCluster, app: str) -> Object:
    rng = cluster.rng
    often, hard = (0.35, 0.65) if cluster.theme == "spread" else (0.12, 0.5)
    found: Object = {
        "maxSkew": rng.choice([1, 1, 1, 2, 3]),
        "topologyKey": rng.choice([ZONE, ZONE, HOSTNAME]),
        "whenUnsatisfiable": "DoNotSchedule" if rng.random() < hard else "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"app": app if rng.random() < 0.7 else "web"}},
    }
    if rng.random() < often:
        found["matchLabelKeys"] = ["job"]
    if rng.random() < often and found["whenUnsatisfiable"] == "DoNotSchedule":
        found["minDomains"] = rng.choice([2, 3, 4])
    if rng.random() < often:
        found["nodeAffinityPolicy"] = rng.choice(["Ignore", "Ignore", "Honor"])
    if rng.random() < often:
        found["nodeTaintsPolicy"] = "Honor"
    return found


def new_pod(cluster: RandomCluster, name: str, namespace: str, template: Object, notes: Object) -> Object:
    """What it costs to delete it is said by dice of its own, which leave all else of the cluster as it is."""
    dice = Random(f"cost {cluster.number} {namespace} {name}")
    if dice.random() < 0.1:
        notes = {
            **notes,
            "controller.kubernetes.io/pod-deletion-cost": dice.choice(["-5", "7", "100", "much"]),
        }
    return cluster.add(
        "Pod",
        {"name": name, "namespace": namespace, "annotations": notes, "labels": {"app": template["app"]}},
        spec=dict(template["spec"]),
        status={"phase": "Pending"},
    )
