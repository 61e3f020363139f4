"""Small random clusters in which something happens: contention, partial fits, rollbacks, elastic members.

Everything comes from one seeded generator, so a number is a cluster. Each cluster uses only some features; with all of
them at once nothing would ever fit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from tests.oracle.configurations import random_configuration
from tests.oracle.facts import Amounts, Object, amounts, minus, plus, pod_request
from tests.oracle.filters import HOSTNAME, fits

ZONE = "topology.kubernetes.io/zone"
GPU = "nvidia.com/gpu"
FEATURES = {
    "gpu": 0.4,
    "zones": 0.6,
    "taints": 0.3,
    "cordons": 0.25,
    "not ready": 0.15,
    "pod limits": 0.25,
    "lent": 0.1,
    "foreign": 0.3,
    "terminating": 0.5,
    "finished": 0.3,
    "overbooked": 0.1,
    "queues": 0.6,
    "capability": 0.35,
    "guarantee": 0.25,
    "closed": 0.1,
    "zero weights": 0.03,
    "roles": 0.4,
    "best effort": 0.3,
    "gates": 0.15,
    "minimum resources": 0.5,
    "selectors": 0.3,
    "node affinity": 0.3,
    "ports": 0.2,
    "affinity": 0.25,
    "spread": 0.25,
    "images": 0.2,
    "nominations": 0.1,
    "claims": 0.08,
    "namespaces": 0.15,
    "init containers": 0.15,
    "ephemeral": 0.1,
    "missing queue": 0.05,
    "tree": 0.1,
}
CLASSES = {"low": 10, "mid": 100, "high": 1000}


@dataclass(eq=False)
class RandomCluster:
    """The objects of one cluster, its configuration and the seed of its ties."""

    number: int
    rng: Random
    uses: set[str]
    conf: Object
    objects: list[Object] = field(default_factory=list)
    room: dict[str, Amounts] = field(default_factory=dict)
    queues: list[str] = field(default_factory=list)

    @property
    def seed(self) -> int:
        return self.number * 7919 - 5

    def chance(self, feature: str, probability: float) -> bool:
        return feature in self.uses and self.rng.random() < probability

    def add(self, kind: str, meta: Object, **parts: object) -> Object:
        version = {
            "PodGroup": "scheduling.volcano.sh/v1beta1",
            "Queue": "scheduling.volcano.sh/v1beta1",
            "PriorityClass": "scheduling.k8s.io/v1",
        }.get(kind, "v1")
        stamp = f"2026-01-01T00:00:{self.rng.choice([0, 0, 10, 20, 30]):02d}Z"
        meta = {
            "uid": f"{self.rng.getrandbits(64):016x}",
            "resourceVersion": str(len(self.objects) + 1),
            "creationTimestamp": stamp,
            **meta,
        }
        item = {"apiVersion": version, "kind": kind, "metadata": meta, **parts}
        self.objects.append(item)
        return item


def random_cluster(number: int) -> RandomCluster:
    """Cluster of that number; the same on every machine."""
    rng = Random(number)
    uses = {name for name, probability in FEATURES.items() if rng.random() < probability}
    cluster = RandomCluster(number, rng, uses, random_configuration(rng))
    for row in range(rng.choice([2, 3, 3, 4, 4, 5, 6, 9])):
        _node(cluster, row)
    for name, value in CLASSES.items():
        cluster.add("PriorityClass", {"name": name}, value=value, globalDefault=False)
    if rng.random() < 0.1:
        cluster.add("PriorityClass", {"name": "usual"}, value=50, globalDefault=True)
    _queues(cluster)
    _others(cluster)
    for row in range(rng.choice([1, 2, 3, 3, 4, 4, 5, 6, 8])):
        _job(cluster, row)
    return cluster


def _node(cluster: RandomCluster, row: int) -> None:
    rng = cluster.rng
    name = f"n{row}"
    labels = {HOSTNAME: name, "disk": rng.choice(["ssd", "hdd"]), "size": str(rng.choice([1, 2, 3]))}
    if "zones" in cluster.uses and rng.random() < 0.9:
        labels[ZONE] = rng.choice(["a", "b", "c"])
    if rng.random() < 0.04:
        del labels[HOSTNAME]
    allocatable = {
        "cpu": rng.choice(["1", "2", "3", "4", "4", "6", "8", "3500m"]),
        "memory": rng.choice(["2Gi", "4Gi", "8Gi", "8Gi", "16Gi", "7Gi"]),
        "pods": str(rng.choice([1, 2, 3, 4])) if cluster.chance("pod limits", 0.7) else "110",
    }
    if cluster.chance("gpu", 0.6):
        allocatable[GPU] = str(rng.choice([1, 2, 4, 8]))
    if cluster.chance("ephemeral", 0.7):
        allocatable["ephemeral-storage"] = rng.choice(["10Gi", "20Gi", "100Gi"])
    spec: Object = {}
    if cluster.chance("taints", 0.5):
        kinds = ["NoSchedule", "NoExecute", "PreferNoSchedule", "PreferNoSchedule"]
        spec["taints"] = [
            {"key": key, "value": rng.choice(["x", "y"]), "effect": rng.choice(kinds)}
            for key in rng.sample(["team", "spot", "old"], rng.choice([1, 1, 2]))
        ]
    if cluster.chance("cordons", 0.3):
        spec["unschedulable"] = True
    ready = "True" if not cluster.chance("not ready", 0.3) else rng.choice(["False", "Unknown"])
    status: Object = {
        "capacity": dict(allocatable),
        "allocatable": allocatable,
        "conditions": [{"type": "Ready", "status": ready}],
    }
    if cluster.chance("images", 0.7):
        status["images"] = [
            {"names": [image], "sizeBytes": rng.choice([50, 200, 700, 1500]) * 2**20}
            for image in rng.sample(["app:v1", "app:latest", "hub/base:2"], rng.choice([1, 2]))
        ]
    meta: Object = {"name": name, "labels": labels}
    if cluster.chance("lent", 0.5):
        meta["annotations"] = {
            "volcano.sh/oversubscription-cpu": rng.choice(["500", "1000.5", "junk"]),
            "volcano.sh/oversubscription-memory": str(rng.choice([0, 2**30])),
        }
    cluster.add("Node", meta, spec=spec, status=status)
    cluster.room[name] = amounts(allocatable)


def _queues(cluster: RandomCluster) -> None:
    rng = cluster.rng
    names = ["default"]
    if "queues" in cluster.uses:
        names += ["qa", "qb", "qc"][: rng.choice([1, 1, 2, 3])]
    cluster.queues = list(names)
    if rng.random() < 0.7:
        cluster.add("Queue", {"name": "root"}, spec={"weight": 1, "reclaimable": False}, status={})
    if "tree" in cluster.uses:
        cluster.add("Queue", {"name": "dept"}, spec={"weight": 1, "parent": "root"}, status={"state": "Open"})
    for name in names:
        spec: Object = {"weight": rng.choice([1, 1, 1, 2, 3, 7]), "reclaimable": True}
        if "zero weights" in cluster.uses:
            spec["weight"] = 0
        if rng.random() < 0.2:
            spec["priority"] = rng.choice([1, 2, 5])
        if cluster.chance("tree", 0.6):
            spec["parent"] = rng.choice(["dept", "root"])
        if cluster.chance("capability", 0.6):
            spec["capability"] = _limit(cluster, ["2", "3", "5", "8", "1500m"], ["3Gi", "6Gi", "12Gi"])
        if cluster.chance("guarantee", 0.5):
            spec["guarantee"] = {"resource": _limit(cluster, ["1", "2", "4"], ["1Gi", "4Gi"])}
        state = rng.choice(["Closed", "Closing", "Unknown"]) if cluster.chance("closed", 0.4) else "Open"
        cluster.add("Queue", {"name": name}, spec=spec, status={"state": state})


def _limit(cluster: RandomCluster, cpus: list[str], memories: list[str]) -> Object:
    rng = cluster.rng
    limit = {"cpu": rng.choice(cpus), "memory": rng.choice(memories), GPU: rng.choice(["1", "2", "4"])}
    kept = rng.sample(list(limit), rng.choice([1, 2, 3] if "gpu" in cluster.uses else [1, 2]))
    return {name: limit[name] for name in limit if name in kept}


def _others(cluster: RandomCluster) -> None:
    """Pods of other schedulers and loose pods of ours; only what they occupy matters."""
    rng = cluster.rng
    for row in range(rng.choice([1, 2, 4]) if "foreign" in cluster.uses else 0):
        pod = _pod(cluster, f"loose{row}", _namespace(cluster), _template(cluster), {})
        pod["spec"]["schedulerName"] = rng.choice(["default-scheduler", "volcano"])
        if rng.random() < 0.85:
            _start(cluster, pod)


def _namespace(cluster: RandomCluster) -> str:
    return cluster.rng.choice(["ns", "ns2"]) if "namespaces" in cluster.uses else "ns"


def _job(cluster: RandomCluster, row: int) -> None:
    rng = cluster.rng
    name, namespace = f"j{row}", _namespace(cluster)
    roles = [""]
    if "roles" in cluster.uses:
        roles = ["ps", "worker", "chief"][: rng.choice([1, 2, 2, 3])]
    replicas = {
        role: rng.choice([1, 1, 2, 2, 3, 4] if len(roles) > 1 else [1, 1, 2, 3, 4, 6]) for role in roles
    }
    size = sum(replicas.values())
    spec: Object = {"queue": rng.choice(cluster.queues), "minMember": _minimum(rng, size)}
    if cluster.chance("missing queue", 0.3):
        spec["queue"] = "nowhere"
    if roles != [""] and rng.random() < 0.7:
        spec["minTaskMember"] = {
            role: rng.choice([count, count, 1, count + 1 if rng.random() < 0.1 else count])
            for role, count in replicas.items()
            if rng.random() < 0.85
        }
        if rng.random() < 0.6:
            spec["minMember"] = max(sum(spec["minTaskMember"].values()), spec["minMember"])
    if rng.random() < 0.4:
        spec["priorityClassName"] = rng.choice([*CLASSES, "unheard-of"])
    if cluster.chance("minimum resources", 0.7):
        spec["minResources"] = rng.choice(
            [
                {"cpu": str(rng.choice([1, 2, 4, 6, 9])), "memory": rng.choice(["1Gi", "4Gi", "9Gi"])},
                {"cpu": rng.choice(["500m", "3", "5"]), GPU: str(rng.choice([1, 2, 5])), "pods": "3"},
                {},
            ]
        )
    phase = rng.choice(["", "Pending", "Pending", "Inqueue", "Inqueue", "Running"])
    if rng.random() < 0.04:
        phase = rng.choice(["Unknown", "Completed"])
    cluster.add("PodGroup", {"name": name, "namespace": namespace}, spec=spec, status={"phase": phase})
    _members(cluster, name, namespace, replicas, phase)


def _minimum(rng: Random, size: int) -> int:
    if rng.random() < 0.05:
        return rng.choice([0, size + 1])
    return rng.choice([size, size, max(1, size - 1), max(1, size // 2), 1])


def _members(cluster: RandomCluster, job: str, namespace: str, replicas: dict[str, int], phase: str) -> None:
    rng = cluster.rng
    style = rng.choice(["{job}-{role}-{i}", "{job}{role}x{i}"])
    one_template = rng.random() < 0.5
    started = phase in ("Running", "Inqueue", "Unknown", "Completed") and rng.random() < 0.6
    shared = _template(cluster)
    for role, count in replicas.items():
        template = shared if one_template else _template(cluster)
        for i in range(count):
            if rng.random() < 0.08:
                template = _template(cluster)
            notes = {"scheduling.k8s.io/group-name": job}
            labels = {"app": rng.choice(["web", "db"]) if rng.random() < 0.1 else template["app"], "job": job}
            if role:
                (notes if rng.random() < 0.8 else labels)["volcano.sh/task-spec"] = role
            if rng.random() < 0.08:
                notes["volcano.sh/task-priority"] = str(rng.choice([0, 1, 5]))
            pod = _pod(cluster, style.format(job=job, role=role or "r", i=i), namespace, template, notes)
            pod["metadata"]["labels"] = labels
            _fate(cluster, pod, started)


def _fate(cluster: RandomCluster, pod: Object, started: bool) -> None:
    rng = cluster.rng
    if started and rng.random() < 0.7:
        _start(cluster, pod)
        if cluster.chance("finished", 0.3):
            pod["status"]["phase"] = rng.choice(["Succeeded", "Succeeded", "Failed"])
        return
    if cluster.chance("gates", 0.25):
        pod["spec"]["schedulingGates"] = [{"name": rng.choice(["example.com/wait", "example.com/hold"])}]
    elif cluster.chance("terminating", 0.05):
        pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:05:00Z"
    if cluster.chance("nominations", 0.4):
        pod["status"]["nominatedNodeName"] = f"n{rng.randrange(10)}"


def _start(cluster: RandomCluster, pod: Object) -> None:
    """Put a pod on a node where it fits; seldom anywhere."""
    rng = cluster.rng
    request = plus(pod_request(pod["spec"], {}), {"pods": 1})
    places = [name for name, room in cluster.room.items() if fits(request, room)]
    if cluster.chance("overbooked", 0.3):
        places = [*cluster.room, "gone"]
    if not places:
        return
    name = rng.choice(places)
    if name in cluster.room:
        cluster.room[name] = minus(cluster.room[name], request)
    pod["spec"]["nodeName"] = name
    pod["status"]["phase"] = rng.choice(["Running", "Running", "Running", "Pending", "Unknown"])
    if pod["status"]["phase"] == "Unknown" and rng.random() < 0.8:
        pod["status"]["phase"] = "Running"
    if cluster.chance("terminating", 0.5):
        pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:05:00Z"


def _template(cluster: RandomCluster) -> Object:
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
    _placement(cluster, spec)
    return {"app": rng.choice(["web", "db"]), "spec": spec}


def _requests(cluster: RandomCluster) -> Object:
    rng = cluster.rng
    if cluster.chance("best effort", 0.35):
        return {}
    requests = {
        "cpu": rng.choice(["500m", "1", "1", "1", "2", "2", "3", "250m"]),
        "memory": rng.choice(["256Mi", "512Mi", "1Gi", "1Gi", "2Gi", "3Gi"]),
    }
    if rng.random() < 0.1:
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


def _placement(cluster: RandomCluster, spec: Object) -> None:
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
        spec["topologySpreadConstraints"] = [_constraint(rng) for _ in range(rng.choice([1, 1, 2]))]


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


def _constraint(rng: Random) -> Object:
    found: Object = {
        "maxSkew": rng.choice([1, 1, 2, 3]),
        "topologyKey": rng.choice([ZONE, ZONE, HOSTNAME]),
        "whenUnsatisfiable": rng.choice(["DoNotSchedule", "ScheduleAnyway"]),
        "labelSelector": {"matchLabels": {"app": rng.choice(["web", "db"])}},
    }
    if rng.random() < 0.15:
        found["matchLabelKeys"] = ["job"]
    if rng.random() < 0.15 and found["whenUnsatisfiable"] == "DoNotSchedule":
        found["minDomains"] = rng.choice([2, 3])
    if rng.random() < 0.1:
        found["nodeAffinityPolicy"] = "Ignore"
    if rng.random() < 0.1:
        found["nodeTaintsPolicy"] = "Honor"
    return found


def _pod(cluster: RandomCluster, name: str, namespace: str, template: Object, notes: Object) -> Object:
    return cluster.add(
        "Pod",
        {"name": name, "namespace": namespace, "annotations": notes, "labels": {"app": template["app"]}},
        spec=dict(template["spec"]),
        status={"phase": "Pending"},
    )
