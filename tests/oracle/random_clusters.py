"""Small random clusters in which something happens: contention, partial fits, rollbacks, elastic members.

Everything comes from one seeded generator, so a number is a cluster. Each cluster uses only some features; with all of
them at once nothing would ever fit.
"""

from __future__ import annotations

from random import Random

from tests.oracle.configurations import random_configuration
from tests.oracle.facts import Object, amounts, minus, plus, pod_request
from tests.oracle.filters import HOSTNAME, fits
from tests.oracle.random_pods import new_pod, template
from tests.oracle.randomness import FEATURES, GPU, THEMES, ZONE, RandomCluster

CLASSES = {"low": 10, "mid": 100, "high": 1000}


def random_cluster(number: int) -> RandomCluster:
    """Cluster of that number; the same on every machine."""
    rng = Random(number)
    theme = rng.choice(["mixed", "mixed", "mixed", *THEMES])
    if rng.random() < 0.02:
        theme = "wide"
    scale = 1.0 if theme == "mixed" else 0.45
    uses = {name for name, rate in FEATURES.items() if rng.random() < rate * scale}
    cluster = RandomCluster(
        number, rng, theme, uses | THEMES.get(theme, set()), random_configuration(rng, theme)
    )
    sizes = [2, 2, 3] if cluster.tight else [2, 3, 3, 4, 4, 5, 6, 9]
    for row in range(rng.randint(20, 60) if theme == "wide" else rng.choice(sizes)):
        _node(cluster, row)
    for name, value in CLASSES.items():
        cluster.add("PriorityClass", {"name": name}, value=value, globalDefault=False)
    if rng.random() < 0.1:
        cluster.add("PriorityClass", {"name": "usual"}, value=50, globalDefault=True)
    _queues(cluster)
    _hypernodes(cluster)
    _others(cluster)
    for row in range(rng.choice([3, 4, 5, 6] if cluster.tight else [1, 2, 3, 3, 4, 4, 5, 6, 8])):
        add_job(cluster, row)
    return cluster


def _node(cluster: RandomCluster, row: int) -> None:
    rng = cluster.rng
    name = f"n{row}"
    labels = {HOSTNAME: name, "disk": rng.choice(["ssd", "hdd"]), "size": str(rng.choice([1, 2, 3]))}
    if "zones" in cluster.uses and rng.random() < 0.93:
        labels[ZONE] = rng.choice(["a", "b"] if cluster.theme == "spread" else ["a", "b", "c"])
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
        dept: Object = {"weight": 1, "parent": "root"}
        if cluster.chance("deserved", 0.5):
            dept["deserved"] = _limit(cluster, ["3", "6", "9"], ["4Gi", "9Gi"])
        if cluster.chance("capability", 0.5):
            dept["capability"] = _limit(cluster, ["4", "8", "12"], ["8Gi", "16Gi"])
        if cluster.chance("guarantee", 0.5):
            dept["guarantee"] = {"resource": _limit(cluster, ["1", "2", "4"], ["1Gi", "4Gi"])}
        cluster.add("Queue", {"name": "dept"}, spec=dept, status={"state": "Open"})
    for name in names:
        _queue(cluster, name)


def _queue(cluster: RandomCluster, name: str) -> None:
    rng = cluster.rng
    spec: Object = {"weight": rng.choice([1, 1, 1, 2, 3, 7]), "reclaimable": True}
    if "zero weights" in cluster.uses:
        spec["weight"] = 0
    if rng.random() < 0.2:
        spec["priority"] = rng.choice([1, 2, 5])
    if cluster.chance("tree", 0.6):
        spec["parent"] = rng.choice(["dept", "root"])
    if cluster.chance("capability", 0.6):
        spec["capability"] = _limit(cluster, ["2", "3", "5", "8", "1500m"], ["3Gi", "6Gi", "12Gi"])
    if cluster.chance("deserved", 0.7):
        spec["deserved"] = _limit(cluster, ["1", "2", "4", "0"], ["1Gi", "2Gi", "5Gi"])
    if cluster.chance("not reclaimable", 0.4):
        spec["reclaimable"] = False
    if cluster.chance("guarantee", 0.5):
        spec["guarantee"] = {"resource": _limit(cluster, ["1", "2", "4"], ["1Gi", "4Gi"])}
    state = rng.choice(["Closed", "Closing", "Unknown"]) if cluster.chance("closed", 0.4) else "Open"
    meta: Object = {"name": name}
    if cluster.chance("branches", 0.55):
        path = rng.choice(["root/a", "root/a/x", "root/a/y", "root/b", "root/b/x", f"root/{name}"])
        meta["annotations"] = {"volcano.sh/hierarchy": path}
        weights = "/".join(rng.choice(["1", "2", "5", "0"]) for _ in path.split("/"))
        if rng.random() < 0.8:
            meta["annotations"]["volcano.sh/hierarchy-weights"] = weights
    cluster.add("Queue", meta, spec=spec, status={"state": state})


def _limit(cluster: RandomCluster, cpus: list[str], memories: list[str]) -> Object:
    rng = cluster.rng
    limit = {"cpu": rng.choice(cpus), "memory": rng.choice(memories), GPU: rng.choice(["1", "2", "4"])}
    kept = rng.sample(list(limit), rng.choice([1, 2, 3] if "gpu" in cluster.uses else [1, 2]))
    return {name: limit[name] for name in limit if name in kept}


def _hypernodes(cluster: RandomCluster) -> None:
    """Leaves of tier 1 over some nodes, one or two of tier 2 over some leaves."""
    if "hypernodes" not in cluster.uses:
        return
    rng, nodes = cluster.rng, list(cluster.room)
    rng.shuffle(nodes)
    leaves: list[str] = []
    while nodes and len(leaves) < 4:
        size = rng.choice([1, 1, 2, 2, 3])
        members, nodes = nodes[:size], nodes[size:]
        leaves.append(f"leaf{len(leaves)}")
        _hypernode(cluster, leaves[-1], 1, "Node", members)
    rng.shuffle(leaves)
    for number in range(rng.choice([0, 1, 1, 2])):
        members, leaves = leaves[:2], leaves[2:]
        if members:
            _hypernode(cluster, f"spine{number}", 2, "HyperNode", members)


def _hypernode(cluster: RandomCluster, name: str, tier: int, kind: str, members: list[str]) -> None:
    listed = [{"type": kind, "selector": {"exactMatch": {"name": member}}} for member in members]
    spec: Object = {"tier": tier, "tierName": f"tier-{tier}", "members": listed}
    cluster.add("HyperNode", {"name": name}, spec=spec)


def _topology(rng: Random) -> Object:
    if rng.random() < 0.35:
        return {"mode": "soft"}
    if rng.random() < 0.2:
        return {"mode": "hard", "highestTierName": rng.choice(["tier-1", "tier-2", "tier-9"])}
    return {"mode": "hard", "highestTierAllowed": rng.choice([1, 1, 2, 3])}


def _others(cluster: RandomCluster) -> None:
    """Pods of other schedulers and loose pods of ours; only what they occupy matters."""
    rng = cluster.rng
    for row in range(rng.choice([1, 2, 4]) if "foreign" in cluster.uses else 0):
        pod = new_pod(cluster, f"loose{row}", _namespace(cluster), template(cluster), {})
        pod["spec"]["schedulerName"] = rng.choice(["default-scheduler", "volcano"])
        if rng.random() < 0.85:
            _start(cluster, pod)


def _namespace(cluster: RandomCluster) -> str:
    return cluster.rng.choice(["ns", "ns2"]) if "namespaces" in cluster.uses else "ns"


def add_job(cluster: RandomCluster, row: int) -> None:
    """One more PodGroup with its pods, named by the row."""
    rng = cluster.rng
    name, namespace = f"j{row}", _namespace(cluster)
    roles = [""]
    if "roles" in cluster.uses:
        roles = ["ps", "worker", "chief"][: rng.choice([1, 2, 2, 3])]
    replicas = {
        role: rng.choice([1, 1, 2, 2, 3, 4] if len(roles) > 1 else [1, 1, 2, 3, 4, 6]) for role in roles
    }
    holds = "running" in cluster.uses and row < 3
    if holds:
        replicas = {role: count + rng.choice([0, 2, 4]) for role, count in replicas.items()}
    size = sum(replicas.values())
    spec: Object = {"queue": rng.choice(cluster.queues), "minMember": _minimum(cluster, size)}
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
    if rng.random() < (0.8 if cluster.theme == "admission" else 0.4):
        spec["priorityClassName"] = rng.choice([*CLASSES, "unheard-of"])
    if "running" in cluster.uses and rng.random() < 0.6:
        spec["priorityClassName"] = "low" if holds else rng.choice(["mid", "high"])
    if cluster.chance("minimum resources", 0.65):
        spec["minResources"] = _minimum_resources(rng)
    if cluster.chance("hypernodes", 0.45):
        spec["networkTopology"] = _topology(rng)
    phase = _phase(cluster, row)
    meta: Object = {"name": name, "namespace": namespace, "annotations": _released(cluster, row)}
    cluster.add("PodGroup", meta, spec=spec, status={"phase": phase})
    if cluster.theme != "admission" or rng.random() < 0.6:
        _members(cluster, name, namespace, replicas, phase)
        if "networkTopology" in spec and rng.random() < 0.3:
            _mate(cluster, name, namespace)


def _released(cluster: RandomCluster, row: int) -> Object:
    """Annotations of a job: its owner may be suspended. By dice of its own, which leave all else of the cluster as it is."""
    suspended = Random(f"released {cluster.number} {row}").random() < 0.05
    return {"vcray.io/released": "suspended"} if suspended else {}


def _mate(cluster: RandomCluster, job: str, namespace: str) -> None:
    """A pod of the job that requests nothing and may not be on every node."""
    container: Object = {"name": "main", "image": "none"}
    spec: Object = {"containers": [container], "schedulerName": "volcano"}
    spec["nodeSelector"] = {"disk": cluster.rng.choice(["ssd", "hdd"])}
    notes = {"scheduling.k8s.io/group-name": job}
    new_pod(cluster, f"{job}-mate", namespace, {"app": "web", "spec": spec}, notes)


def _phase(cluster: RandomCluster, row: int) -> str:
    rng = cluster.rng
    phases = ["", "Pending", "Pending", "Inqueue", "Inqueue", "Running"]
    if cluster.theme == "admission":
        phases = ["", "Pending", "Pending", "Inqueue", "Running"]
    elif cluster.theme == "leaving":
        phases = ["Running"] if row < 2 else ["Pending", "Inqueue"]
    elif "running" in cluster.uses:
        phases = ["Running", "Running", "Inqueue"] if row < 3 else ["Inqueue", "Inqueue", "Pending"]
    return rng.choice(["Unknown", "Completed"]) if rng.random() < 0.04 else rng.choice(phases)


def _minimum_resources(rng: Random) -> Object:
    return rng.choice(
        [
            {"cpu": str(rng.choice([1, 2, 4, 6, 9])), "memory": rng.choice(["1Gi", "4Gi", "9Gi"])},
            {"cpu": rng.choice(["1", "2", "3", "5", "2500m"])},
            {"memory": rng.choice(["1Gi", "3Gi", "6Gi"]), "pods": "2"},
            {"cpu": rng.choice(["500m", "3", "5"]), GPU: str(rng.choice([1, 2, 5])), "pods": "3"},
            {},
        ]
    )


def _minimum(cluster: RandomCluster, size: int) -> int:
    rng = cluster.rng
    if rng.random() < 0.05:
        return rng.choice([0, size + 1])
    if cluster.theme in ("leaving", "fairness", "preempting", "reclaiming", "family"):
        return rng.choice([1, 1, max(1, size - 1), size])
    return rng.choice([size, size, max(1, size - 1), max(1, size // 2), 1])


def _members(cluster: RandomCluster, job: str, namespace: str, replicas: dict[str, int], phase: str) -> None:
    rng = cluster.rng
    style = rng.choice(["{job}-{role}-{i}", "{job}{role}x{i}"])
    one_template = rng.random() < 0.5
    started = phase in ("Running", "Unknown") or (phase in ("Inqueue", "Completed") and rng.random() < 0.5)
    if cluster.theme == "leaving":
        started = phase == "Running"
    elif rng.random() < (0.05 if "running" in cluster.uses else 0.15):
        started = not started
    shared = template(cluster)
    for role, count in replicas.items():
        pattern = shared if one_template else template(cluster)
        for i in range(count):
            if rng.random() < 0.08:
                pattern = template(cluster)
            notes = {"scheduling.k8s.io/group-name": job}
            labels = {"app": rng.choice(["web", "db"]) if rng.random() < 0.1 else pattern["app"], "job": job}
            if role:
                (notes if rng.random() < 0.8 else labels)["volcano.sh/task-spec"] = role
            if rng.random() < 0.08:
                notes["volcano.sh/task-priority"] = str(rng.choice([0, 1, 5]))
            pod = new_pod(cluster, style.format(job=job, role=role or "r", i=i), namespace, pattern, notes)
            pod["metadata"]["labels"] = labels
            if cluster.chance("stays", 0.4):
                pod["metadata"].setdefault("annotations", {})["volcano.sh/preemptable"] = "false"
            if cluster.chance("never", 0.4):
                pod["spec"]["preemptionPolicy"] = "Never"
            _fate(cluster, pod, started)


def _fate(cluster: RandomCluster, pod: Object, started: bool) -> None:
    rng = cluster.rng
    often = cluster.theme == "leaving" or "running" in cluster.uses
    if started and rng.random() < (0.95 if often else 0.7):
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
    if cluster.chance("overbooked", 0.35):
        places = [*cluster.room, "gone"]
    if not places:
        return
    name = rng.choice(places)
    if name in cluster.room:
        cluster.room[name] = minus(cluster.room[name], request)
    pod["spec"]["nodeName"] = name
    others = [] if "running" in cluster.uses else ["Pending", "Unknown"]
    pod["status"]["phase"] = rng.choice(["Running", "Running", "Running", *others])
    if pod["status"]["phase"] == "Unknown" and rng.random() < 0.8:
        pod["status"]["phase"] = "Running"
    if cluster.chance("terminating", 0.5):
        pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:05:00Z"
