"""What tests of scheduling share: tasks with constraints, changed configurations, and what became of a job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from tests.e2e.arena import GROUPS
from tests.e2e.release.cluster import CI_CONF
from tests.e2e.release.context import Context

Object = dict[str, Any]

WHOLE = 7
"""CPU of a pod of which one fits on each worker; four take the cluster."""
TOPOLOGY = "kubernetes.io/hostname"
PREEMPTABLE = {"volcano.sh/preemptable": "true"}


def conf(
    without: Sequence[str] = (),
    plugins: Mapping[str, Object] | None = None,
    configurations: Sequence[Object] = (),
) -> str:
    """The release's configuration without some actions, with plugins in place of others, and with arguments of actions."""
    made = yaml.safe_load(CI_CONF)
    made["actions"] = ", ".join(each for each in made["actions"].split(", ") if each not in without)
    for tier in made["tiers"]:
        tier["plugins"] = [(plugins or {}).get(each["name"], each) for each in tier["plugins"]]
    if configurations:
        made["configurations"] = list(configurations)
    return yaml.safe_dump(made)


CAPACITY = conf(plugins={"proportion": {"name": "capacity"}})


def task(
    context: Context,
    replicas: int,
    cpu: int | str = WHOLE,
    name: str = "worker",
    labels: Mapping[str, str] = PREEMPTABLE,
    policy: Object | None = None,
    **spec: Any,
) -> Object:
    """A task of servers that may be evicted; `spec` goes to its pods, `policy` is its partitionPolicy."""
    made = context.task(name, replicas, cpu, **({"partitionPolicy": policy} if policy else {}))
    made["template"]["metadata"] = {"labels": dict(labels)}
    made["template"]["spec"] |= spec
    return made


def near(labels: Mapping[str, str], away: bool = False) -> Object:
    """An affinity: on a node with pods of these labels, or on one without them."""
    term = {"labelSelector": {"matchLabels": dict(labels)}, "topologyKey": TOPOLOGY}
    kind = "podAntiAffinity" if away else "podAffinity"
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def group_of(context: Context, owner: str) -> Object:
    """The PodGroup of a job or of another owner of pods; empty while there is none."""
    for group in context.client.get(context.groups)["items"]:
        if owner in [each["name"] for each in group["metadata"].get("ownerReferences", [])]:
            return dict(group)
    return {}


def phase_of_group_of(context: Context, owner: str) -> str:
    """The phase of that PodGroup; empty while there is none."""
    return str((group_of(context, owner).get("status") or {}).get("phase", ""))


def nodes_of(context: Context, job: str) -> list[str]:
    """The nodes of a job's bound pods, sorted, one for each pod."""
    return sorted(pod["spec"]["nodeName"] for pod in context.of(job) if pod["spec"].get("nodeName"))


def evicted(context: Context) -> list[str]:
    """The messages of all evictions of pods so far."""
    return [message for kind, _, reason, message in context.events() if (kind, reason) == ("Pod", "Evict")]


def told(context: Context, job: str) -> bool:
    """Whether the PodGroup of a job was said to be unschedulable."""
    return any(kind == "PodGroup" and reason == "Unschedulable" for kind, _, reason, _ in context.events(job))


def expect_waiting(context: Context, job: str, seconds: float = 2.0) -> None:
    """A job is said to be unschedulable, and goes on without a single bound pod for a while."""
    context.wait(lambda: told(context, job), f"{job} to be unschedulable")
    context.stays(lambda: not nodes_of(context, job), f"no pod of {job} bound", seconds)


def expect_running(context: Context, **jobs: int) -> None:
    """So many pods of each job come to run."""
    for job, count in jobs.items():
        context.running(job, count)


def expect_untouched(context: Context, seconds: float = 0.0, **jobs: int) -> None:
    """So many pods of each job run, and go on for a while; nobody was evicted."""
    expect_running(context, **jobs)
    context.stays(
        lambda: all(len(context.of(job, "Running")) == count for job, count in jobs.items()),
        f"{jobs} running",
        seconds,
    )
    assert not evicted(context)


def ungate(context: Context, *, label: str = "") -> None:
    """Take all scheduling gates off the pods of the namespace (off those with a label, if one is named)."""
    for pod in context.pods():
        if not label or label in pod["metadata"].get("labels", {}):
            context.client.patch(
                f"{context.core}/pods/{pod['metadata']['name']}", {"spec": {"schedulingGates": None}}
            )


def set_queue(context: Context, name: str, **spec: Any) -> None:
    """Change the spec of a queue."""
    context.client.patch(f"{GROUPS}/queues/{name}", {"spec": spec})
