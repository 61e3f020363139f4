"""What a client can see of a cluster at one moment, in the words of scenario files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from vcray.api.jsonview import dig
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import EVENTS, JOBS, NODES, PODGROUPS, PODS, QUEUES, Resource
from vcray.kube.client import KubeClient

JOB_NAME = "volcano.sh/job-name"
TASK_SPEC = "volcano.sh/task-spec"
GROUP_NAME = "scheduling.k8s.io/group-name"


@dataclass(frozen=True, slots=True)
class Observed:
    """Objects as listed, in name order, the pods evicted so far, and the text of the metrics."""

    pods: Sequence[JsonObject]
    groups: Sequence[JsonObject]
    jobs: Sequence[JsonObject]
    queues: Sequence[JsonObject]
    nodes: Sequence[JsonObject]
    events: Sequence[JsonObject]
    evicted: Sequence[tuple[str, str]]  # (pod, job)
    others: Mapping[Resource, Sequence[JsonObject]] = field(default_factory=dict)
    metrics: str = ""

    def select(self, selector: str) -> list[JsonObject]:
        """Pods of a job, of `job/task`, of a group, or with a matching name; `*` is all."""
        return [pod for pod in self.pods if matches(pod, selector)]

    def named(self, key: str) -> list[JsonObject]:
        """Objects of `job/NAME`, `group/NAME` (also of the vcjob of that name), `pod/NAME`, `queue/NAME`, `node/NAME`."""
        kind, _, name = key.partition("/")
        of_kind = {
            "job": self.jobs,
            "group": self.groups,
            "pod": self.pods,
            "queue": self.queues,
            "node": self.nodes,
        }
        return [obj for obj in of_kind[kind] if belongs(obj, name)]


async def observe(
    client: KubeClient,
    evicted: Sequence[tuple[str, str]],
    others: Iterable[Resource] = (),
    metrics: str = "",
) -> Observed:
    """List everything that expectations read."""
    pages = [(await client.list(each)).items for each in (PODS, PODGROUPS, JOBS, QUEUES, NODES, EVENTS)]
    pods, groups, jobs, queues, nodes, events = (sorted(page, key=_key) for page in pages)
    more = {each: sorted((await client.list(each)).items, key=_key) for each in others}
    return Observed(pods, groups, jobs, queues, nodes, events, tuple(evicted), more, metrics)


def _key(obj: JsonObject) -> tuple[str, str]:
    return text(obj, "metadata", "namespace"), text(obj, "metadata", "name")


def matches(pod: JsonObject, selector: str) -> bool:
    """Does a pod belong to a selector of a scenario file?"""
    labels, annotations = dig(pod, "metadata", "labels"), dig(pod, "metadata", "annotations")
    labels = labels if isinstance(labels, dict) else {}
    annotations = annotations if isinstance(annotations, dict) else {}
    job, _, task = selector.partition("/")
    if task:
        role = labels.get(TASK_SPEC) or annotations.get(TASK_SPEC)
        owner = labels.get(JOB_NAME) or annotations.get(GROUP_NAME)
        return fnmatchcase(str(owner), job) and fnmatchcase(str(role), task)
    return (
        labels.get(JOB_NAME) == selector
        or annotations.get(GROUP_NAME) == selector
        or fnmatchcase(text(pod, "metadata", "name"), selector)
    )


def group_of(pod: JsonObject) -> str:
    """The vcjob of a pod, else its PodGroup, else nothing."""
    labels, annotations = dig(pod, "metadata", "labels"), dig(pod, "metadata", "annotations")
    return text(labels, JOB_NAME) or text(annotations, GROUP_NAME)


def belongs(obj: JsonObject, name: str) -> bool:
    """Is this the object of that name (a glob), or the PodGroup of the vcjob of that name?"""
    owners = dig(obj, "metadata", "ownerReferences")
    owned = isinstance(owners, list) and any(
        isinstance(each, dict) and each.get("kind") == "Job" and each.get("name") == name for each in owners
    )
    return owned or fnmatchcase(text(obj, "metadata", "name"), name)


def text(obj: JsonValue, *path: str) -> str:
    """A nested field as text, empty when it is not there."""
    value = dig(obj, *path)
    return "" if value is None else str(value)
