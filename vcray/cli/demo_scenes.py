"""The scenes of the demo, one function each: submit, watch, check. Every check reads the API and nothing else."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from vcray.api.jsonview import dig_objects, dig_str
from vcray.api.meta import JsonObject
from vcray.api.quantity import milli
from vcray.api.resources import CONFIGMAPS, QUEUES, SERVICES, Resource
from vcray.cli.demo_cluster import CPU, GPU
from vcray.cli.demo_stage import Stage, bound, job_phase, running
from vcray.kube.client import KubeClient
from vcray.sim.observed import Observed

NODE_SIZE = {"cpu": CPU, "nvidia.com/gpu": str(GPU)}

ALL_AT_ONCE_S = 5.0
"""Bindings of one gang follow each other within this time; a gang that waits for room would take far longer."""


async def tensorflow(stage: Stage) -> None:
    """A job of two roles: whole or not at all, its pods find each other, done when the workers are."""
    phases: list[str] = []
    most, spread, indices = 0, set[str](), list[str]()

    def note(seen: Observed) -> bool:
        nonlocal most, spread, indices
        phases.append(job_phase(seen, "tf-mnist"))
        if running(seen, "tf-mnist") > most:
            most = running(seen, "tf-mnist")
            spread = {dig_str(pod, "spec", "nodeName") for pod in seen.select("tf-mnist")} - {""}
            indices = sorted(_variable(pod, "VC_TASK_INDEX") for pod in seen.select("tf-mnist/worker"))
        return most == 6 and phases[-1] == "Running"

    await stage.submit("tensorflow.yaml")
    await stage.until(note)
    services = await _names(stage.client, SERVICES, "tf-mnist")
    hosts = await _hosts(stage.client)
    stage.check("all six pods of the TensorFlow gang run", most == 6, f"{len(spread)} nodes")
    stage.check("the svc plugin made a Service", services == ["tf-mnist"], ", ".join(services))
    stage.check("it lists all workers by name", len(hosts) == 4, ", ".join(hosts[:1]) + ", ...")
    stage.check("the env plugin numbers the workers", indices == ["0", "1", "2", "3"], " ".join(indices))

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
    together: list[str] = []

    def first_of(seen: Observed) -> str:
        left, right = bound(seen, "gang-left"), bound(seen, "gang-right")
        if left and right:
            together.append(f"{left} and {right} pods")
        return next((each for each in ("gang-left", "gang-right") if running(seen, each) == 6), "")

    seen = await stage.until(lambda seen: bool(first_of(seen)))
    first = first_of(seen) or "gang-left"
    second = "gang-right" if first == "gang-left" else "gang-left"
    ok = running(seen, first) == 6 and bound(seen, second) == 0
    stage.check("one gang runs whole, the other waits whole", ok, f"{first} first")
    seen = await stage.until(lambda seen: first_of(seen) == second)
    stage.check("the other starts when the first is done", running(seen, second) == 6, f"{second} second")
    seen = await stage.until(lambda seen: job_phase(seen, second) == "Completed")
    done = [job_phase(seen, first), job_phase(seen, second)]
    stage.check("both complete: no deadlock", done == ["Completed", "Completed"], ", ".join(done))
    stage.check("at no moment did both hold nodes", not together, ", ".join(together[:1]))


async def queue_capability(stage: Stage) -> None:
    """Twelve cores wanted in a queue of eight: waits with a reason, starts when the queue is widened."""
    await stage.submit("queue-capability.yaml")
    seen = await stage.until(lambda seen: bool(_reason(seen, "over-quota")))
    waits = bound(seen, "over-quota") == 0 and job_phase(seen, "over-quota") == "Pending"
    stage.check("the job over its queue's capability waits", waits, job_phase(seen, "over-quota"))
    reason = _reason(seen, "over-quota")
    stage.check("its PodGroup says why", bool(reason), reason)
    stage.screen.say("widening queue research from 8 to 16 cores")
    await stage.client.patch(QUEUES, None, "research", {"spec": {"capability": {"cpu": "16"}}})
    seen = await stage.until(lambda seen: running(seen, "over-quota") == 3)
    stage.check("it starts when the queue is widened", running(seen, "over-quota") == 3)
    seen = await stage.until(lambda seen: job_phase(seen, "over-quota") == "Completed")
    stage.check("and completes", job_phase(seen, "over-quota") == "Completed", job_phase(seen, "over-quota"))


async def ray_cluster(stage: Stage) -> None:
    """Plain pods in a PodGroup: the head does not start without its workers."""
    await stage.submit("raycluster.yaml")
    moments: list[float] = []

    def all_run(seen: Observed) -> bool:
        if len(moments) < bound(seen, "ray-cluster-pg"):
            moments.append(stage.seconds)
        return running(seen, "ray-cluster-pg") == 4

    seen = await stage.until(all_run)
    stage.check("head and three workers run", running(seen, "ray-cluster-pg") == 4)
    took = moments[-1] - moments[0] if moments else 0.0
    stage.check("they were bound together", took < ALL_AT_ONCE_S, f"within {took:.2f} s")
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


async def _names(client: KubeClient, resource: Resource, stem: str) -> list[str]:
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
