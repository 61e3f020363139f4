"""The PodGroup of Trainer's volcano plugin, with its own arithmetic: every replicatedJob counts, whenever it starts, and limits do not."""

from __future__ import annotations

from vcray.api import names
from vcray.api.meta import JsonObject, JsonValue
from vcray.cluster.operators.amounts import requests_of
from vcray.cluster.operators.trainer.jobsets import with_pods
from vcray.controllers import raw
from vcray.controllers.podusage import Usage, add_usage, usage_json


def spec_of(runtime: JsonObject, jobset: JsonObject, job: JsonObject) -> JsonObject:
    """spec of the PodGroup; `runtime` is the runtime's spec."""
    members, total, priority = 0, Usage(), ""
    for each in raw.tables(jobset, "spec", "replicatedJobs"):
        pods = max(1, raw.number(each, "template", "spec", "parallelism", default=1))
        spec = raw.table(each, "template", "spec", "template", "spec")
        members += pods
        add_usage(total, requests_of(spec), pods)
        priority = raw.text(spec, "priorityClassName") or priority
    found: JsonObject = {"minMember": members, "minResources": usage_json(total)}
    queue = raw.annotation(jobset, names.POD_QUEUE_NAME)
    topology = raw.table(runtime, "podGroupPolicy", "volcano", "networkTopology")
    if queue:
        found["queue"] = queue
    if priority:
        found["priorityClassName"] = priority
    if topology:
        tier: JsonObject = {"highestTierAllowed": 1}
        found["networkTopology"] = {**tier, **topology}
    return found


def marked(jobset: JsonObject, group: str) -> JsonObject:
    """The JobSet with its pods in the group."""

    def mark(pod: JsonObject) -> JsonObject:
        metadata = raw.table(pod, "metadata")
        notes = {**raw.annotations_of(pod), names.GROUP_NAME: group}
        return {**pod, "metadata": {**metadata, "annotations": raw.strings(notes)}}

    spec = raw.table(jobset, "spec")
    jobs: list[JsonValue] = [with_pods(each, mark) for each in raw.tables(spec, "replicatedJobs")]
    return {**jobset, "spec": {**spec, "replicatedJobs": jobs}}
