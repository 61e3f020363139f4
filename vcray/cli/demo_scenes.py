"""The scenes of the demo, one function each: submit, watch, check. Every check reads the API and nothing else."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from vcray.api.jsonview import dig_objects, dig_str
from vcray.api.meta import JsonObject
from vcray.api.resources import CONFIGMAPS, NODES, QUEUES, SERVICES
from vcray.app import in_process
from vcray.cli.demo_stage import Check, Screen, Stage, bound, job_phase, running
from vcray.config.scheduler import HELM_CONF
from vcray.kube.client import KubeClient
from vcray.sim.observed import Observed

NODE_COUNT = 4
NODE_SIZE = {"cpu": "16", "memory": "64Gi", "nvidia.com/gpu": "8", "pods": "110"}


async def play(examples: Path, screen: Screen, pace_s: float) -> list[Check]:
    """All scenes on one cluster; returns their checks."""
    world = in_process()
    stage = Stage(world, screen, examples, pace_s)
    await world.start(HELM_CONF)
    try:
        await _raise_nodes(world.client)
        screen.say(f"a cluster of {NODE_COUNT} simulated nodes with 16 cores, 64Gi and 8 GPUs each")
        for scene in SCENES:
            await scene(stage)
    finally:
        await world.stop()
    return stage.checks


async def tensorflow(stage: Stage) -> None:
    """A job of two roles: whole or not at all, its pods find each other, done when the workers are."""
    await stage.submit("tensorflow.yaml")
    phases = [job_phase(await stage.look(), "tf-mnist")]

    def note(seen: Observed) -> bool:
        phases.append(job_phase(seen, "tf-mnist"))
        return running(seen, "tf-mnist") == 6 and phases[-1] == "Running"

    seen = await stage.until(note)
    nodes = {dig_str(pod, "spec", "nodeName") for pod in seen.select("tf-mnist")} - {""}
    stage.check(
        "all six pods of the TensorFlow gang run", running(seen, "tf-mnist") == 6, f"{len(nodes)} nodes"
    )
    client = stage.world.client
    services = await _names(client, SERVICES, "tf-mnist")
    stage.check("the svc plugin made a Service", services == ["tf-mnist"], ", ".join(services))
    hosts = await _hosts(client)
    stage.check("it lists all workers by name", len(hosts) == 4, ", ".join(hosts[:1]) + ", ...")
    indices = sorted(_variable(pod, "VC_TASK_INDEX") for pod in seen.select("tf-mnist/worker"))
    stage.check("the env plugin numbers the workers", indices == ["0", "1", "2", "3"], " ".join(indices))
    await stage.finish("tf-mnist/worker")

    def completed(seen: Observed) -> bool:
        phases.append(job_phase(seen, "tf-mnist"))
        return phases[-1] == "Completed"

    await stage.until(completed)
    order = list(dict.fromkeys(phase for phase in phases if phase in ("Pending", "Running", "Completed")))
    stage.check(
        "its phases are Pending, Running, Completed",
        order == ["Pending", "Running", "Completed"],
        ", ".join(order),
    )


async def two_gangs(stage: Stage) -> None:
    """24 + 24 GPUs wanted, 32 there: one gang, then the other, never half of each."""
    await stage.submit("two-gangs.yaml")
    halves: list[str] = []
    together: list[int] = []

    def watch(seen: Observed) -> tuple[int, int]:
        left, right = bound(seen, "gang-left"), bound(seen, "gang-right")
        halves.extend(
            name for name, count in (("gang-left", left), ("gang-right", right)) if count not in (0, 6)
        )
        if left and right and running(seen, "gang-left") and running(seen, "gang-right"):
            together.append(stage.cycles)
        return left, right

    def one_runs(seen: Observed) -> bool:
        watch(seen)
        return running(seen, "gang-left") == 6 or running(seen, "gang-right") == 6

    seen = await stage.until(one_runs)
    first, second = (
        ("gang-left", "gang-right") if running(seen, "gang-left") == 6 else ("gang-right", "gang-left")
    )
    ok = running(seen, first) == 6 and bound(seen, second) == 0
    stage.check("one gang runs whole, the other waits whole", ok, f"{first} first")
    await stage.finish(first)

    def other_runs(seen: Observed) -> bool:
        watch(seen)
        return running(seen, second) == 6

    seen = await stage.until(other_runs)
    stage.check("the other starts when the first is done", running(seen, second) == 6, f"{second} second")
    await stage.finish(second)
    seen = await stage.until(lambda seen: job_phase(seen, second) == "Completed")
    done = [job_phase(seen, first), job_phase(seen, second)]
    stage.check("both complete: no deadlock", done == ["Completed", "Completed"], ", ".join(done))
    stage.check(
        "no round left half a gang, or both at once",
        not halves and not together,
        ", ".join(sorted(set(halves))),
    )


async def queue_capability(stage: Stage) -> None:
    """Twelve cores wanted in a queue of eight: waits with a reason, starts when the queue is widened."""
    await stage.submit("queue-capability.yaml")
    for _ in range(3):
        seen = await stage.cycle()
    waits = bound(seen, "over-quota") == 0 and job_phase(seen, "over-quota") == "Pending"
    stage.check("the job over its queue's capability waits", waits, job_phase(seen, "over-quota"))
    reason = _reason(seen, "over-quota")
    stage.check("its PodGroup says why", bool(reason), reason)
    stage.screen.say("widening queue research from 8 to 16 cores")
    await stage.world.client.patch(QUEUES, None, "research", {"spec": {"capability": {"cpu": "16"}}})
    seen = await stage.until(lambda seen: running(seen, "over-quota") == 3)
    stage.check("it starts when the queue is widened", running(seen, "over-quota") == 3)
    await stage.finish("over-quota")
    seen = await stage.until(lambda seen: job_phase(seen, "over-quota") == "Completed")
    stage.check("and completes", job_phase(seen, "over-quota") == "Completed", job_phase(seen, "over-quota"))


async def ray_cluster(stage: Stage) -> None:
    """Plain pods in a PodGroup: the head does not start without its workers."""
    await stage.submit("raycluster.yaml")
    counts: list[int] = []

    def all_run(seen: Observed) -> bool:
        counts.append(bound(seen, "ray-cluster-pg"))
        return running(seen, "ray-cluster-pg") == 4

    seen = await stage.until(all_run)
    stage.check("head and three workers run", running(seen, "ray-cluster-pg") == 4)
    stage.check("they were bound in one round", set(counts) <= {0, 4}, " ".join(map(str, counts)))
    seen = await stage.until(lambda seen: _group_phase(seen, "ray-cluster-pg") == "Running")
    phase = _group_phase(seen, "ray-cluster-pg")
    stage.check("their PodGroup is Running", phase == "Running", phase)
    free = _overbooked(seen)
    stage.check("no node holds more than it has", not free, ", ".join(free))


SCENES: tuple[Callable[[Stage], Awaitable[None]], ...] = (
    tensorflow,
    two_gangs,
    queue_capability,
    ray_cluster,
)


async def _raise_nodes(client: KubeClient) -> None:
    for number in range(1, NODE_COUNT + 1):
        name = f"node-{number}"
        node: JsonObject = {
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
            "status": {
                "allocatable": {**NODE_SIZE},
                "capacity": {**NODE_SIZE},
                "conditions": [{"type": "Ready", "status": "True", "reason": "Simulated"}],
            },
        }
        await client.create(NODES, None, node)
        await client.patch(NODES, None, name, {"status": node["status"]}, subresource="status")


async def _names(client: KubeClient, resource: object, stem: str) -> list[str]:
    from vcray.api.resources import Resource

    assert isinstance(resource, Resource)
    names = [dig_str(each, "metadata", "name") for each in (await client.list(resource, "default")).items]
    return sorted(name for name in names if name.startswith(stem))


async def _hosts(client: KubeClient) -> list[str]:
    config = await client.get(CONFIGMAPS, "default", "tf-mnist-svc")
    return dig_str(config, "data", "worker.host").split()


def _variable(pod: JsonObject, name: str) -> str:
    variables = dig_objects(pod, "spec", "containers", 0, "env")
    return next((dig_str(each, "value") for each in variables if each.get("name") == name), "")


def _group_phase(seen: Observed, name: str) -> str:
    groups = (group for group in seen.groups if dig_str(group, "metadata", "name") == name)
    return next((dig_str(group, "status", "phase") for group in groups), "")


def _reason(seen: Observed, job: str) -> str:
    """The last sentence that the API holds about a job's PodGroup: a condition's, else an event's."""
    groups = [each for each in seen.groups if dig_str(each, "metadata", "name").startswith(job)]
    said = [
        dig_str(condition, "message")
        for group in groups
        for condition in dig_objects(group, "status", "conditions")
        if condition.get("type") == "Unschedulable" and condition.get("status") == "True"
    ]
    names = {dig_str(group, "metadata", "name") for group in groups}
    events = [each for each in seen.events if dig_str(each, "involvedObject", "name") in names]
    said += [dig_str(each, "message") for each in events if dig_str(each, "reason") == "Unschedulable"]
    return said[-1] if said else ""


def _overbooked(seen: Observed) -> list[str]:
    """Nodes whose pods ask for more GPUs or cores than they have."""
    from vcray.api.quantity import milli

    used: dict[tuple[str, str], int] = {}
    for pod in seen.pods:
        if dig_str(pod, "status", "phase") in ("Succeeded", "Failed"):
            continue
        for container in dig_objects(pod, "spec", "containers"):
            asked = container.get("resources")
            for name in ("cpu", "nvidia.com/gpu"):
                amount = dig_str(asked, "requests", name) or dig_str(asked, "limits", name) or "0"
                place = (dig_str(pod, "spec", "nodeName"), name)
                used[place] = used.get(place, 0) + milli(amount)
    return [
        f"{node} {name}" for (node, name), amount in used.items() if node and amount > milli(NODE_SIZE[name])
    ]
