"""Pods that do not exist, as rows: for whoever asks what would become of them if they came now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

import msgspec

from vcray.api.wire import Pod
from vcray.cache.groups import job_of, role_of
from vcray.cache.labels import labels_of
from vcray.cache.rows import PodRow, PriorityClassRow
from vcray.cache.translate import pod_row


class Wanted(msgspec.Struct, frozen=True):
    """Pods alike that somebody wants: `count` of them, those that exist among them.

    `pod` shows what they are: namespace, labels, the annotations that name its group and task, spec. Each `hosts` of them are a
    replica; where the label `unit` tells replicas apart, it is named."""

    pod: Pod
    count: int
    hosts: int = 1
    unit: str = ""

    @property
    def job(self) -> str:
        """namespace/name of their group."""
        return job_of(self.pod)

    @property
    def role(self) -> str:
        """Their task in it."""
        return role_of(self.pod)


Supposed: TypeAlias = tuple[Wanted, int]
"""So many pods of a kind beside those that exist."""


def supposed_rows(pods: Supposed, classes: Mapping[str, PriorityClassRow], created: int) -> Iterator[PodRow]:
    """Their rows, always under the same names. `classes`: priority classes by name. Raises QuantityError."""
    wanted, count = pods
    pod = _with_priority(wanted.pod, classes)
    first = pod_row(pod)._replace(created=created, version=0)
    labels = dict(pod.metadata.labels)
    for number in range(count):
        name = f"{wanted.job}~{wanted.role}~{number}"
        row = first._replace(key=name, uid=name)
        if wanted.unit:
            row = row._replace(labels=labels_of({**labels, wanted.unit: f"~{number // wanted.hosts}"}))
        yield row


def _with_priority(pod: Pod, classes: Mapping[str, PriorityClassRow]) -> Pod:
    """The pod with the priority that an API server gives it: by its class, else by the default one."""
    spec = pod.spec
    if spec.priority is not None:
        return pod
    defaults = (each for each in classes.values() if each.default)
    found = classes.get(spec.priority_class_name) or min(
        defaults, key=lambda each: (each.value, each.name), default=None
    )
    if found is None:
        return msgspec.structs.replace(pod, spec=msgspec.structs.replace(spec, priority=0))
    policy = "Never" if found.never else spec.preemption_policy
    given = msgspec.structs.replace(
        spec, priority=found.value, priority_class_name=found.name, preemption_policy=policy
    )
    return msgspec.structs.replace(pod, spec=given)
