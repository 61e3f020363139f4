"""How many pods one Job may ask for.

A number in a spec costs its writer nothing, while each pod costs the control plane an object: `replicas: 2147483647`
would hold it up for hours. So there is an end, beyond what any cluster could run.
"""

from __future__ import annotations

from typing import Final

from vcray.api.jsontypes import JsonObject
from vcray.api.jsonview import dig_int, dig_objects, dig_str

MOST_PODS: Final = 150_000
"""Pods of the largest cluster that Kubernetes supports (its documentation, "Considerations for large clusters")."""


def asked_pods(job: JsonObject) -> int:
    """Pods that the tasks of a raw Job ask for: of each its replicas, or its partitions times their size if that is more."""
    return sum(
        max(
            dig_int(task, "replicas"),
            dig_int(task, "partitionPolicy", "totalPartitions")
            * dig_int(task, "partitionPolicy", "partitionSize"),
        )
        for task in dig_objects(job, "spec", "tasks")
    )


def too_many_pods(job: JsonObject) -> str:
    """What to tell of a raw Job that asks for more than MOST_PODS; empty when it does not."""
    asked = asked_pods(job)
    if asked <= MOST_PODS:
        return ""
    return (
        f"'replicas' of all tasks add up to {asked}, more than the {MOST_PODS} pods that a job may have, "
        f"in job: {dig_str(job, 'metadata', 'name')}; lower them or divide the job"
    )
