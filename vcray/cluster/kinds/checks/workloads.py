"""Checks of the kinds that make pods from a template, and of what may not change in them."""

from __future__ import annotations

from collections.abc import Iterator

from vcray.api.cron import has_own_zone, load_zone, parse_schedule
from vcray.api.formats import dns_label, forbidden, invalid, required, unsupported
from vcray.api.jsonview import dig, dig_int, dig_object, dig_objects, dig_str
from vcray.api.meta import JsonObject, JsonValue
from vcray.cluster.kinds.checks.labels import selector_faults, selects
from vcray.cluster.kinds.checks.podspecs import template_faults
from vcray.cluster.kinds.checks.words import (
    at_most_whole,
    count_or_percent,
    is_zero,
    named,
    not_negative,
    one_of,
)

_MISMATCH = "`selector` does not match template `labels`"
IMMUTABLE = "field is immutable"


def _selector_faults(spec: JsonObject, what: str) -> Iterator[str]:
    """The selector of a workload, and whether it selects the pods of the template."""
    selector, labels = spec.get("selector"), dig(spec, "template", "metadata", "labels")
    if not isinstance(selector, dict):
        yield required("spec.selector")
        yield invalid("spec.template.metadata.labels", labels, _MISMATCH)
        return
    faults = list(selector_faults(selector, "spec.selector"))
    yield from faults
    if not selector:
        yield invalid("spec.selector", selector, f"empty selector is invalid for {what}")
    elif faults:
        yield invalid("spec.selector", selector, "invalid label selector")
    elif not selects(selector, dig_object(labels)):
        yield invalid("spec.template.metadata.labels", labels, _MISMATCH)


def _always_faults(spec: JsonObject, what: str = "ReplicaSet") -> Iterator[str]:
    """Pods of a workload that goes on must be started anew."""
    pod = dig_object(spec, "template", "spec")
    policy = dig_str(pod, "restartPolicy")
    if policy and policy != "Always":
        yield unsupported("spec.template.spec.restartPolicy", policy, ("Always",))
    if pod.get("activeDeadlineSeconds") is not None:
        yield forbidden(
            "spec.template.spec.activeDeadlineSeconds", f"activeDeadlineSeconds in {what} is not Supported"
        )


def deployment_faults(obj: JsonObject) -> Iterator[str]:
    """A Deployment."""
    spec = dig_object(obj, "spec")
    yield from not_negative(spec, "spec", "replicas")
    yield from _selector_faults(spec, "deployment")
    yield from template_faults(dig_object(spec, "template"), "spec.template")
    yield from _always_faults(spec)
    yield from _strategy_faults(dig_object(spec, "strategy"), "spec.strategy")
    yield from not_negative(spec, "spec", "minReadySeconds", "revisionHistoryLimit")
    seconds = spec.get("progressDeadlineSeconds")
    if seconds is not None:
        yield from not_negative(spec, "spec", "progressDeadlineSeconds")
        if dig_int(spec, "progressDeadlineSeconds") <= dig_int(spec, "minReadySeconds"):
            yield invalid("spec.progressDeadlineSeconds", seconds, "must be greater than minReadySeconds")


def _go_strategy(strategy: JsonObject) -> JsonObject:
    return {"Type": dig_str(strategy, "type"), "RollingUpdate": strategy.get("rollingUpdate")}


def _strategy_faults(strategy: JsonObject, path: str) -> Iterator[str]:
    rolling = strategy.get("rollingUpdate")
    match dig_str(strategy, "type"):
        case "Recreate":
            if rolling is not None:
                why = "may not be specified when strategy `type` is 'Recreate'"
                yield forbidden(f"{path}.rollingUpdate", why)
        case "RollingUpdate":
            if isinstance(rolling, dict):
                yield from _rolling_faults(rolling, f"{path}.rollingUpdate")
            else:
                yield required(f"{path}.rollingUpdate", "this should be defaulted and never be nil")
        case _:
            yield unsupported(path, _go_strategy(strategy), ("Recreate", "RollingUpdate"))


def _rolling_faults(rolling: JsonObject, path: str) -> Iterator[str]:
    surge, missing = rolling.get("maxSurge"), rolling.get("maxUnavailable")
    yield from count_or_percent(missing, f"{path}.maxUnavailable")
    yield from count_or_percent(surge, f"{path}.maxSurge")
    if is_zero(missing) and is_zero(surge):
        yield invalid(f"{path}.maxUnavailable", missing, "may not be 0 when `maxSurge` is 0")
    yield from at_most_whole(missing, f"{path}.maxUnavailable")


def replica_set_faults(obj: JsonObject) -> Iterator[str]:
    """A ReplicaSet."""
    spec = dig_object(obj, "spec")
    yield from not_negative(spec, "spec", "replicas", "minReadySeconds")
    yield from _selector_faults(spec, "deployment")
    yield from template_faults(dig_object(spec, "template"), "spec.template")
    yield from _always_faults(spec)


def replication_controller_faults(obj: JsonObject) -> Iterator[str]:
    """A ReplicationController, whose selector is plain labels."""
    spec = dig_object(obj, "spec")
    yield from not_negative(spec, "spec", "minReadySeconds")
    selector, template = dig_object(spec, "selector"), spec.get("template")
    if not selector:
        yield required("spec.selector")
    yield from not_negative(spec, "spec", "replicas")
    if not isinstance(template, dict):
        yield required("spec.template")
        return
    labels = dig_object(template, "metadata", "labels")
    if selector and not selects({"matchLabels": selector}, labels):
        yield invalid("spec.template.metadata.labels", labels or None, _MISMATCH)
    yield from template_faults(template, "spec.template")
    yield from _always_faults(spec, "ReplicationController")


def stateful_set_faults(obj: JsonObject) -> Iterator[str]:
    """A StatefulSet."""
    spec = dig_object(obj, "spec")
    policy = dig_str(spec, "podManagementPolicy")
    if policy not in ("OrderedReady", "Parallel"):
        yield invalid("spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'")
    strategy = dig_object(spec, "updateStrategy")
    if dig_str(strategy, "type") not in ("RollingUpdate", "OnDelete"):
        yield invalid("spec.updateStrategy", _go_strategy(strategy), "must be 'RollingUpdate' or 'OnDelete'")
    elif isinstance(strategy.get("rollingUpdate"), dict):
        yield from not_negative(
            dig_object(strategy, "rollingUpdate"), "spec.updateStrategy.rollingUpdate", "partition"
        )
    yield from not_negative(spec, "spec", "replicas", "minReadySeconds")
    if dig_str(spec, "serviceName"):
        yield from named(dig_str(spec, "serviceName"), "spec.serviceName", dns_label)
    yield from _selector_faults(spec, "statefulset")
    claims = [dig_str(claim, "metadata", "name") for claim in dig_objects(spec, "volumeClaimTemplates")]
    yield from template_faults(dig_object(spec, "template"), "spec.template", claims)
    yield from _always_faults(spec, "StatefulSet")


def daemon_set_faults(obj: JsonObject) -> Iterator[str]:
    """A DaemonSet."""
    spec = dig_object(obj, "spec")
    selector, labels = spec.get("selector"), dig(spec, "template", "metadata", "labels")
    faults = list(selector_faults(selector, "spec.selector"))
    yield from faults
    if not isinstance(selector, dict) or (not faults and not selects(selector, dig_object(labels))):
        yield invalid("spec.template.metadata.labels", labels, _MISMATCH)
    elif not selector:
        yield invalid("spec.selector", selector, "empty selector is invalid for daemonset")
    yield from template_faults(dig_object(spec, "template"), "spec.template")
    yield from _always_faults(spec, "DaemonSet")
    yield from not_negative(spec, "spec", "minReadySeconds")
    strategy = dig_object(spec, "updateStrategy")
    if dig_str(strategy, "type") not in ("RollingUpdate", "OnDelete"):
        yield unsupported("spec.updateStrategy", _go_strategy(strategy), ("RollingUpdate", "OnDelete"))
    yield from not_negative(spec, "spec", "revisionHistoryLimit")


# -- jobs ------------------------------------------------------------------------------------------------------


def job_faults(obj: JsonObject) -> Iterator[str]:
    """A Job."""
    metadata, spec = dig_object(obj, "metadata"), dig_object(obj, "spec")
    selector, labels = spec.get("selector"), dig(spec, "template", "metadata", "labels")
    if not isinstance(selector, dict):
        yield required("spec.selector")
    else:
        yield from selector_faults(selector, "spec.selector")
    if not spec.get("manualSelector") and isinstance(selector, dict):
        wanted: JsonObject = {"batch.kubernetes.io/controller-uid": dig_str(metadata, "uid")}
        if dig_object(selector, "matchLabels") != wanted or selector.get("matchExpressions"):
            yield invalid("spec.selector", selector, "`selector` not auto-generated")
    if not isinstance(selector, dict) or not selects(selector, dig_object(labels)):
        yield invalid("spec.template.metadata.labels", labels, _MISMATCH)
    yield from job_spec_faults(spec, "spec")


_JOB_NUMBERS = (
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
)


def job_spec_faults(spec: JsonObject, path: str) -> Iterator[str]:
    """The spec of a Job, or of a CronJob's template."""
    yield from not_negative(spec, path, *_JOB_NUMBERS, "backoffLimitPerIndex", "maxFailedIndexes")
    mode = dig_str(spec, "completionMode")
    yield from one_of(spec, path, "completionMode", ("NonIndexed", "Indexed"))
    if mode == "Indexed":
        if spec.get("completions") is None:
            yield required(f"{path}.completions", "when completion mode is Indexed")
    elif spec.get("backoffLimitPerIndex") is not None:
        yield required(f"{path}.backoffLimitPerIndex", "requires indexed completion mode")
    yield from _failure_policy_faults(spec, f"{path}.podFailurePolicy")
    known = ("Failed",) if spec.get("podFailurePolicy") else ("Failed", "TerminatingOrFailed")
    yield from one_of(spec, path, "podReplacementPolicy", known)
    template = dig_object(spec, "template")
    yield from template_faults(template, f"{path}.template")
    policy = dig_str(template, "spec", "restartPolicy")
    where = f"{path}.template.spec.restartPolicy"
    if policy in ("", "Always"):
        yield required(where, 'valid values: "OnFailure", "Never"')
    elif policy not in ("OnFailure", "Never"):
        yield unsupported(where, policy, ("OnFailure", "Never"))
    elif spec.get("podFailurePolicy") and policy != "Never":
        yield invalid(where, policy, 'only "Never" is supported when podFailurePolicy is specified')


def _failure_policy_faults(spec: JsonObject, path: str) -> Iterator[str]:
    for index, rule in enumerate(dig_objects(spec, "podFailurePolicy", "rules")):
        here = f"{path}.rules[{index}]"
        action, known = dig_str(rule, "action"), ("Count", "FailIndex", "FailJob", "Ignore")
        if not action:
            yield required(f"{here}.action", f"valid values: {list(known)}")
        elif action not in known:
            yield unsupported(f"{here}.action", action, known)
        if not rule.get("onExitCodes") and not rule.get("onPodConditions"):
            why = "specifying one of OnExitCodes and OnPodConditions is required"
            yield f"{here}: Invalid value: {why}"


def cron_job_faults(obj: JsonObject) -> Iterator[str]:
    """A CronJob."""
    spec = dig_object(obj, "spec")
    schedule = dig_str(spec, "schedule")
    if not schedule:
        yield required("spec.schedule")
    else:
        wrong = schedule_fault(schedule)
        if wrong:
            yield invalid("spec.schedule", schedule, wrong)
    yield from not_negative(spec, "spec", "startingDeadlineSeconds")
    yield from _zone_faults(spec)
    yield from one_of(spec, "spec", "concurrencyPolicy", ("Allow", "Forbid", "Replace"), needed=True)
    yield from not_negative(spec, "spec", "successfulJobsHistoryLimit", "failedJobsHistoryLimit")
    yield from job_spec_faults(dig_object(spec, "jobTemplate", "spec"), "spec.jobTemplate.spec")
    name = dig_str(obj, "metadata", "name")
    if len(name) > 52:
        yield invalid("metadata.name", name, "must be no more than 52 characters")


def _zone_faults(spec: JsonObject) -> Iterator[str]:
    zone = spec.get("timeZone")
    if zone == "":
        yield invalid("spec.timeZone", zone, "timeZone must be nil or non-empty string")
    if isinstance(zone, str):
        try:
            load_zone(zone)
        except ValueError as error:
            yield invalid("spec.timeZone", zone, str(error))


def schedule_fault(schedule: str) -> str:
    """What is wrong with a cron schedule; empty if nothing is."""
    if has_own_zone(schedule):
        return "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
    try:
        parse_schedule(schedule)
    except ValueError as error:
        return str(error)
    return ""


# -- changes ---------------------------------------------------------------------------------------------------


def immutable(old: JsonValue, new: JsonValue, *path: str) -> Iterator[str]:
    """A field that may not change."""
    if dig(old, *path) != dig(new, *path):
        yield invalid(".".join(path), dig(new, *path), IMMUTABLE)
