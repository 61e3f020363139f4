"""Objects of integrations' tests: a RayCluster, its pods, a world with the keeper of groups."""

from __future__ import annotations

from tests.controllers.world import World
from vcray.api.meta import JsonObject
from vcray.api.resources import NAMESPACES, PODS, RAYCLUSTERS
from vcray.controllers import raw
from vcray.integrations.keeping import GroupKeeper
from vcray.integrations.known import built_in

GROUP = "scheduling.k8s.io/group-name"
TASK = "volcano.sh/task-spec"


def world(**namespace: str) -> World:
    """All integrations, and namespace `ns` with these annotations."""
    w = World([GroupKeeper(built_in())])
    w.put(NAMESPACES, {"metadata": {"name": "ns", "annotations": dict(namespace)}})
    return w


def template(cpu: str = "1", scheduler: str = "", **spec: object) -> JsonObject:
    """A pod template of one container."""
    named = {"schedulerName": scheduler} if scheduler else {}
    container: JsonObject = {"name": "c", "resources": {"requests": {"cpu": cpu}}}
    made: JsonObject = {"spec": {"containers": [container], **named}}
    raw.table(made, "spec").update(spec)  # type: ignore[arg-type]
    return made


def ray_cluster(
    name: str = "r", scheduler: str = "", queue: str = "q", workers: int = 2, **spec: object
) -> JsonObject:
    """A RayCluster with a head of 1 cpu and workers of 2; `queue` by its label."""
    labels: JsonObject = {"volcano.sh/queue-name": queue} if queue else {}
    body: JsonObject = {
        "headGroupSpec": {"template": template("1", scheduler)},
        "workerGroupSpecs": [
            {"groupName": "w", "replicas": workers, "template": template("2", scheduler)},
        ],
    }
    body.update(spec)  # type: ignore[arg-type]
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": name, "namespace": "ns", "labels": labels},
        "spec": body,
    }


def ray_pod(cluster: JsonObject, name: str = "p", group: str = "w", scheduler: str = "volcano") -> JsonObject:
    """A pod as KubeRay makes it."""
    return {
        "metadata": {
            "name": name,
            "namespace": "ns",
            "labels": {
                "ray.io/cluster": raw.name(cluster),
                "ray.io/node-type": "head" if group == "headgroup" else "worker",
                "ray.io/group": group,
            },
            "ownerReferences": [raw.owner_reference("ray.io/v1", "RayCluster", cluster)],
        },
        "spec": {"schedulerName": scheduler, "containers": [{"name": "c"}]},
    }


def put_cluster(w: World, **given: object) -> JsonObject:
    """Create or replace a RayCluster with the head that its operator makes at once, and let the keeper come to rest."""
    made = w.put(RAYCLUSTERS, ray_cluster(**given))  # type: ignore[arg-type]
    head = ray_pod(made, f"{raw.name(made)}-head", "headgroup")
    raw.table(head, "metadata")["annotations"] = {GROUP: f"ray-{raw.name(made)}-pg", TASK: "headgroup"}
    w.put(PODS, head)
    w.settle()
    return made


def put_pod(w: World, cluster: JsonObject, **given: str) -> JsonObject:
    """Create a pod of it, and let the keeper come to rest; the pod as it is then."""
    made = w.put(PODS, ray_pod(cluster, **given))
    w.settle()
    return w.objects[PODS, "ns", raw.name(made)]
