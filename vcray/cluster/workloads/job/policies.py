"""A job's policies: which pod failures count, what they do to the job, and when some successes are enough."""

from __future__ import annotations

from dataclasses import dataclass

from vcray.api.jsonview import dig, dig_list, dig_object, dig_objects, dig_str
from vcray.api.meta import JsonObject
from vcray.cluster.workloads.job.indexes import parse
from vcray.cluster.workloads.podview import ContainerStatus, PodView


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the failure policy says of a failed pod. `action` is empty when no rule matches."""

    action: str = ""
    message: str = ""

    @property
    def counts(self) -> bool:
        """Whether the failure counts towards the limits."""
        return self.action != "Ignore"


def judge_failure(job: JsonObject, pod: PodView) -> Verdict:
    """The verdict of the first rule that matches."""
    for number, rule in enumerate(dig_objects(job, "spec", "podFailurePolicy", "rules")):
        action = dig_str(rule, "action")
        where = f"matching {action} rule at index {number}"
        if rule.get("onExitCodes"):
            status = _by_exit_code(pod, dig_object(rule, "onExitCodes"))
            if status is not None and status.state is not None and status.state.terminated is not None:
                code = status.state.terminated.exit_code
                who = f"{pod.metadata.namespace}/{pod.metadata.name}"
                return Verdict(
                    action, f"Container {status.name} for pod {who} failed with exit code {code} {where}"
                )
        elif rule.get("onPodConditions"):
            kind = _by_condition(pod, dig_objects(rule, "onPodConditions"))
            if kind:
                who = f"{pod.metadata.namespace}/{pod.metadata.name}"
                return Verdict(action, f"Pod {who} has condition {kind} {where}")
    return Verdict()


def _by_exit_code(pod: PodView, wanted: JsonObject) -> ContainerStatus | None:
    codes, name = dig_list(wanted, "values"), dig(wanted, "containerName")
    for statuses in (pod.status.container_statuses, pod.status.init_container_statuses):
        for status in statuses or ():
            ended = status.state.terminated if status.state else None
            if ended is None or not ended.exit_code or name not in (None, status.name):
                continue
            if (ended.exit_code in codes) == (wanted.get("operator") == "In"):
                return status
    return None


def _by_condition(pod: PodView, patterns: list[JsonObject]) -> str:
    for condition in pod.status.conditions or ():
        for pattern in patterns:
            if (pattern.get("type"), pattern.get("status", "True")) == (condition.type, condition.status):
                return condition.type
    return ""


def judge_success(job: JsonObject, succeeded: set[int], completions: int) -> str:
    """The message of the first success rule that is met; empty if none is."""
    if not succeeded:
        return ""
    for number, rule in enumerate(dig_objects(job, "spec", "successPolicy", "rules")):
        count, listed = rule.get("succeededCount"), rule.get("succeededIndexes")
        enough = count if isinstance(count, int) else None
        if isinstance(listed, str):
            wanted = parse(listed, completions)
            met = succeeded & wanted
            if wanted and (met == wanted or (enough is not None and len(met) >= enough)):
                return f"Matched rules at index {number}"
        elif enough is not None and len(succeeded) >= enough:
            return f"Matched rules at index {number}"
    return ""
