"""Plain Kubernetes objects in short form: node("n1", cpu=8, gpu=4), gang("train", 4, gpu=1).

Each builder returns the JSON that an API server would serve: status, uid and creation time filled in. What is left out is
ample or absent; `pods` is 110 on a node. Numbers are whole cpus, GPUs and Gi; strings are quantities as written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from vcray.api.meta import JsonObject, JsonValue

Amount = int | float | str
EPOCH = 1_790_000_000
GPU = "nvidia.com/gpu"


def _time(second: int) -> str:
    return datetime.fromtimestamp(EPOCH + second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _resources(
    cpu: Amount | None, memory: Amount | None, gpu: Amount | None, extra: Mapping[str, Amount]
) -> JsonObject:
    found: JsonObject = {}
    if cpu is not None:
        found["cpu"] = str(cpu)
    if memory is not None:
        found["memory"] = memory if isinstance(memory, str) else f"{memory}Gi"
    if gpu is not None:
        found[GPU] = str(gpu)
    return found | {name: str(amount) for name, amount in extra.items()}


def _metadata(
    name: str,
    namespace: str | None,
    created: int,
    version: int | None,
    labels: Mapping[str, str] | None,
    annotations: Mapping[str, str] | None,
    kind: str,
) -> JsonObject:
    metadata: JsonObject = {
        "name": name,
        "uid": f"uid-{kind.lower()}-{namespace}-{name}" if namespace else f"uid-{kind.lower()}-{name}",
        "creationTimestamp": _time(created),
    }
    if namespace is not None:
        metadata["namespace"] = namespace
    if version is not None:
        metadata["resourceVersion"] = str(version)
    if labels:
        metadata["labels"] = dict(labels)
    if annotations:
        metadata["annotations"] = dict(annotations)
    return metadata


def node(
    name: str,
    *,
    cpu: Amount = 64,
    memory: Amount = 256,
    gpu: Amount | None = None,
    pods: int = 110,
    resources: Mapping[str, Amount] | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    taints: Sequence[Mapping[str, str]] = (),
    unschedulable: bool = False,
    ready: bool = True,
    images: Mapping[str, int] | None = None,
    created: int = 0,
    version: int | None = None,
) -> JsonObject:
    """A node; it carries the hostname label as the kubelet writes it."""
    allocatable = _resources(cpu, memory, gpu, resources or {}) | {"pods": str(pods)}
    spec: JsonObject = {}
    if taints:
        spec["taints"] = [dict(taint) for taint in taints]
    if unschedulable:
        spec["unschedulable"] = True
    status: JsonObject = {
        "allocatable": allocatable,
        "capacity": dict(allocatable),
        "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
    }
    if images:
        status["images"] = [{"names": [image], "sizeBytes": size} for image, size in images.items()]
    all_labels = {"kubernetes.io/hostname": name, **(labels or {})}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": _metadata(name, None, created, version, all_labels, annotations, "Node"),
        "spec": spec,
        "status": status,
    }


def taint(key: str, value: str = "", effect: str = "NoSchedule") -> dict[str, str]:
    """A node taint."""
    return {"key": key, "value": value, "effect": effect}


def pod(
    name: str,
    *,
    namespace: str = "default",
    group: str | None = None,
    cpu: Amount | None = None,
    memory: Amount | None = None,
    gpu: Amount | None = None,
    resources: Mapping[str, Amount] | None = None,
    node: str | None = None,
    phase: str | None = None,
    role: str | None = None,
    priority: int | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    scheduler: str = "volcano",
    image: str = "train:1",
    ports: Sequence[int] = (),
    claims: Sequence[str] = (),
    gates: Sequence[str] = (),
    nominated: str | None = None,
    deleting: bool = False,
    owner: tuple[str, str] | None = None,
    spec: Mapping[str, JsonValue] | None = None,
    created: int = 0,
    version: int | None = None,
) -> JsonObject:
    """A pod with one container. With `node` it is Running there, else Pending; `spec` adds or replaces spec fields."""
    notes = dict(annotations or {})
    if group is not None:
        notes["scheduling.k8s.io/group-name"] = group
    if role is not None:
        notes["volcano.sh/task-spec"] = role
    container: JsonObject = {"name": "main", "image": image}
    requests = _resources(cpu, memory, gpu, resources or {})
    if requests:
        devices = {name: amount for name, amount in requests.items() if "/" in name}
        container["resources"] = {"requests": requests, **({"limits": devices} if devices else {})}
    if ports:
        container["ports"] = [{"containerPort": port, "hostPort": port} for port in ports]
    body: JsonObject = {"schedulerName": scheduler, "containers": [container]}
    if node is not None:
        body["nodeName"] = node
    if priority is not None:
        body["priority"] = priority
    if gates:
        body["schedulingGates"] = [{"name": gate} for gate in gates]
    if claims:
        body["volumes"] = [{"name": claim, "persistentVolumeClaim": {"claimName": claim}} for claim in claims]
    status: JsonObject = {"phase": phase or ("Running" if node else "Pending")}
    if nominated is not None:
        status["nominatedNodeName"] = nominated
    metadata = _metadata(name, namespace, created, version, labels, notes, "Pod")
    if deleting:
        metadata["deletionTimestamp"] = _time(created + 1)
    if owner is not None:
        kind, owner_name = owner
        metadata["ownerReferences"] = [
            {
                "apiVersion": "apps/v1",
                "kind": kind,
                "name": owner_name,
                "uid": f"uid-{owner_name}",
                "controller": True,
            }
        ]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": body | dict(spec or {}),
        "status": status,
    }


def podgroup(
    name: str,
    min_member: int = 1,
    *,
    namespace: str = "default",
    queue: str = "default",
    phase: str | None = "Inqueue",
    min_resources: Mapping[str, Amount] | None = None,
    min_task_member: Mapping[str, int] | None = None,
    priority_class: str | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    created: int = 0,
    version: int | None = None,
) -> JsonObject:
    """A PodGroup, admitted (Inqueue) unless another phase is given; None leaves the status out."""
    spec: JsonObject = {"minMember": min_member, "queue": queue}
    if min_resources is not None:
        spec["minResources"] = {resource: str(amount) for resource, amount in min_resources.items()}
    if min_task_member is not None:
        spec["minTaskMember"] = dict(min_task_member)
    if priority_class is not None:
        spec["priorityClassName"] = priority_class
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": _metadata(name, namespace, created, version, labels, annotations, "PodGroup"),
        "spec": spec,
        "status": {"phase": phase} if phase is not None else {},
    }


def gang(
    name: str,
    members: int,
    *,
    min_member: int | None = None,
    namespace: str = "default",
    queue: str = "default",
    phase: str | None = "Inqueue",
    priority_class: str | None = None,
    min_resources: Mapping[str, Amount] | None = None,
    created: int = 0,
    **of_pod: object,
) -> list[JsonObject]:
    """A PodGroup and its pending pods `<name>-worker-<i>`; further arguments are those of `pod`."""
    group = podgroup(
        name,
        members if min_member is None else min_member,
        namespace=namespace,
        queue=queue,
        phase=phase,
        priority_class=priority_class,
        min_resources=min_resources,
        created=created,
    )
    pods = [
        pod(f"{name}-worker-{index}", namespace=namespace, group=name, created=created, **of_pod)  # type: ignore[arg-type]
        for index in range(members)
    ]
    return [group, *pods]


def queue(
    name: str,
    *,
    weight: int = 1,
    parent: str | None = None,
    state: str | None = "Open",
    reclaimable: bool | None = None,
    priority: int | None = None,
    capability: Mapping[str, Amount] | None = None,
    deserved: Mapping[str, Amount] | None = None,
    guarantee: Mapping[str, Amount] | None = None,
    annotations: Mapping[str, str] | None = None,
    created: int = 0,
    version: int | None = None,
) -> JsonObject:
    """A queue, open."""
    spec: JsonObject = {"weight": weight}
    if parent is not None:
        spec["parent"] = parent
    if reclaimable is not None:
        spec["reclaimable"] = reclaimable
    if priority is not None:
        spec["priority"] = priority
    for field, amounts in (("capability", capability), ("deserved", deserved)):
        if amounts is not None:
            spec[field] = {resource: str(amount) for resource, amount in amounts.items()}
    if guarantee is not None:
        spec["guarantee"] = {"resource": {resource: str(amount) for resource, amount in guarantee.items()}}
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": _metadata(name, None, created, version, None, annotations, "Queue"),
        "spec": spec,
        "status": {"state": state} if state is not None else {},
    }


def priority_class(name: str, value: int, *, default: bool = False, version: int | None = None) -> JsonObject:
    """A PriorityClass."""
    built: JsonObject = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": _metadata(name, None, 0, version, None, None, "PriorityClass"),
        "value": value,
    }
    return built | {"globalDefault": True} if default else built


def claim(
    name: str,
    *,
    namespace: str = "default",
    phase: str = "Bound",
    storage_class: str | None = None,
    size: str = "1Gi",
    modes: Sequence[str] = ("ReadWriteOnce",),
    spec: Mapping[str, JsonValue] | None = None,
    annotations: Mapping[str, str] | None = None,
    version: int | None = None,
) -> JsonObject:
    """A PersistentVolumeClaim; Bound to the volume `pv-NAME` unless another phase is given."""
    built: JsonObject = {"accessModes": list(modes), "resources": {"requests": {"storage": size}}}
    if phase == "Bound":
        built["volumeName"] = f"pv-{name}"
    if storage_class is not None:
        built["storageClassName"] = storage_class
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": _metadata(name, namespace, 0, version, None, annotations, "PersistentVolumeClaim"),
        "spec": built | dict(spec or {}),
        "status": {"phase": phase},
    }


def volume(
    name: str,
    *,
    size: str = "1Gi",
    storage_class: str | None = None,
    node: str | None = None,
    zone: str | None = None,
    modes: Sequence[str] = ("ReadWriteOnce",),
    claim: str | None = None,
    driver: str | None = None,
    labels: Mapping[str, str] | None = None,
    spec: Mapping[str, JsonValue] | None = None,
    version: int | None = None,
) -> JsonObject:
    """A PersistentVolume, Available; `node` or `zone` where it can be reached, `claim` (of `default`) that has it."""
    built: JsonObject = {"capacity": {"storage": size}, "accessModes": list(modes)}
    if storage_class is not None:
        built["storageClassName"] = storage_class
    for key, value in (("kubernetes.io/hostname", node), ("topology.kubernetes.io/zone", zone)):
        if value is not None:
            term: JsonObject = {"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}
            built["nodeAffinity"] = {"required": {"nodeSelectorTerms": [term]}}
    if driver is not None:
        built["csi"] = {"driver": driver, "volumeHandle": name}
    if claim is not None:
        built["claimRef"] = {"namespace": "default", "name": claim}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": _metadata(name, None, 0, version, labels, None, "PersistentVolume"),
        "spec": built | dict(spec or {}),
        "status": {"phase": "Available" if claim is None else "Bound"},
    }


def bound(name: str, **facts: str) -> list[JsonObject]:
    """A claim and the volume that it is bound to."""
    return [claim(name), volume(f"pv-{name}", claim=name, **facts)]  # type: ignore[arg-type]


def csi_node(name: str, driver: str, count: int | None = None, *, version: int | None = None) -> JsonObject:
    """A CSINode with one driver, which may say how many volumes it attaches there."""
    offer: JsonObject = {"name": driver, "nodeID": name}
    if count is not None:
        offer["allocatable"] = {"count": count}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": _metadata(name, None, 0, version, None, None, "CSINode"),
        "spec": {"drivers": [offer]},
    }


def resource_claim(
    name: str,
    namespace: str = "default",
    allocated: Sequence[str] | None = None,
    *,
    version: int | None = None,
) -> JsonObject:
    """A ResourceClaim for one device of the class `gpu`; `allocated` are devices that it has."""
    request: JsonObject = {"name": "gpu", "exactly": {"deviceClassName": "gpu"}}
    results: list[JsonValue] = [
        {"request": "gpu", "driver": "gpu.example.com", "pool": "p", "device": each}
        for each in allocated or ()
    ]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": _metadata(name, namespace, 0, version, None, None, "ResourceClaim"),
        "spec": {"devices": {"requests": [request]}},
        "status": {} if allocated is None else {"allocation": {"devices": {"results": results}}},
    }


def service(
    name: str, selector: Mapping[str, str], *, namespace: str = "default", version: int | None = None
) -> JsonObject:
    """A Service."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _metadata(name, namespace, 0, version, None, None, "Service"),
        "spec": {"selector": dict(selector)},
    }


def namespace(
    name: str, *, labels: Mapping[str, str] | None = None, version: int | None = None
) -> JsonObject:
    """A Namespace."""
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": _metadata(name, None, 0, version, labels, None, "Namespace"),
    }


def storage_class(
    name: str,
    *,
    waits: bool = False,
    provisioner: str = "example.com/disk",
    topology: Mapping[str, Sequence[str]] | None = None,
    version: int | None = None,
) -> JsonObject:
    """A StorageClass; `waits` for the first consumer before it binds volumes."""
    built: JsonObject = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": _metadata(name, None, 0, version, None, None, "StorageClass"),
        "provisioner": provisioner,
        "volumeBindingMode": "WaitForFirstConsumer" if waits else "Immediate",
    }
    if topology is not None:
        expressions = [{"key": key, "values": list(values)} for key, values in topology.items()]
        built["allowedTopologies"] = [{"matchLabelExpressions": expressions}]  # type: ignore[dict-item]
    return built


def replica_set(
    name: str, selector: Mapping[str, str], *, namespace: str = "default", version: int | None = None
) -> JsonObject:
    """A ReplicaSet, as far as its selector goes."""
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": _metadata(name, namespace, 0, version, None, None, "ReplicaSet"),
        "spec": {"selector": {"matchLabels": dict(selector)}},
    }
