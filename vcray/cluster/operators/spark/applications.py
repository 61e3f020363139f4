"""SparkApplications: a driver pod, then the executors that a running driver makes, until the driver ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Final

from vcray.api import names
from vcray.api.meta import JsonObject, JsonValue, seconds_of
from vcray.api.resources import PODGROUPS, PODS, SPARKAPPLICATIONS, Resource
from vcray.clock import rfc3339
from vcray.cluster.operators.base import SCRIPT, Follow, Operator, phase, pod_of
from vcray.cluster.operators.spark import gangs
from vcray.controllers import raw
from vcray.controllers.base import Again, Change, Create, Effects, Request, Seen, Steps, must
from vcray.integrations.spark import _pods as spark

_ENDED: Final = ("Succeeded", "Failed")
_FINISHED: Final = ("COMPLETED", "FAILED")


class SparkApplications(Operator):
    """Operator, spark-submit and driver in one. Without a script (`base.SCRIPT`) a driver runs on.

    Spark's load is not played: with dynamicAllocation a running driver has `initialExecutors` executors, within the limits, and a
    change of that number while it runs is taken for a change of its load."""

    resource: ClassVar[Resource] = SPARKAPPLICATIONS

    def requests(self, change: Change, seen: Seen) -> Sequence[Request]:
        found = list(super().requests(change, seen))
        label = raw.labels_of(change.object).get(spark.OPERATOR_APP)
        if change.resource == PODS and label:
            found.append(Follow(raw.namespace(change.object), label))
        return list(dict.fromkeys(found))

    def follow(self, obj: JsonObject, seen: Seen, now: float) -> Effects:
        """One turn of an application."""
        state = raw.text(obj, "status", "applicationState", "state")
        pods = self._pods(obj, seen)
        if raw.at(obj, "spec", "suspend") is True and state not in _FINISHED:
            yield from self.remove(PODS, pods)
            gone = not self._all_pods(obj, seen)
            yield from self._to(obj, "SUSPENDED" if gone else "SUSPENDING")
        elif state in _FINISHED:
            yield from self.remove(PODS, [each for each in pods if spark.role(each) == spark.EXECUTOR])
            yield from self.remove(PODGROUPS, self.owned(PODGROUPS, obj, seen))
        elif state in ("", "NEW", "RESUMING"):
            yield from self._submit(obj, seen, now)
        elif state in ("SUSPENDED", "SUSPENDING"):
            yield from self._to(obj, "RESUMING")
        elif state == "PENDING_RERUN":
            yield from self._rerun(obj, seen, now)
        else:
            yield from self._running(obj, pods, now)

    # -- runs -----------------------------------------------------------------------------------------------------------

    def _submit(self, app: JsonObject, seen: Seen, now: float) -> Steps[None]:
        if self._all_pods(app, seen):
            return  # the last run's pods are still going
        name = raw.name(app)
        if self._is_grouped(app):
            yield from self.keep_group(
                app, gangs.group_name(name), gangs.spec_of(app), gangs.GROUP_FIELDS, seen
            )
        attempt = raw.number(app, "status", "executionAttempts") + 1
        labels = {spark.APP_ID: f"spark-{raw.uid(app)[:8]}-{attempt}"}
        pod = self._pod(app, spark.DRIVER, labels, name=f"{name}-driver")
        yield from self.make(PODS, app, pod)
        yield from self._to(
            app,
            "SUBMITTED",
            executionAttempts=attempt,
            lastSubmissionAttemptTime=rfc3339(now),
            executorState=None,
            terminationTime=None,
            sparkApplicationId=labels[spark.APP_ID],
        )

    def _running(self, app: JsonObject, pods: Sequence[JsonObject], now: float) -> Steps[None]:
        driver = next((each for each in pods if spark.role(each) == spark.DRIVER), None)
        running = [each for each in pods if spark.role(each) == spark.EXECUTOR]
        if driver is None or phase(driver) in _ENDED:
            yield from self.remove(PODS, running)
            yield from self._ended(app, driver is not None and phase(driver) == "Succeeded", now)
        elif phase(driver) == "Running":
            yield from self._executors(app, driver, running)
            yield from self._to(app, "RUNNING", executorState=_executor_states(app, running))

    def _ended(self, app: JsonObject, well: bool, now: float) -> Steps[None]:
        policy = raw.table(app, "spec", "restartPolicy")
        kind = raw.text(policy, "type") or "Never"
        retries = raw.number(policy, "onFailureRetries")
        tries = raw.number(app, "status", "executionAttempts")
        again = kind == "Always" or (kind == "OnFailure" and not well and tries <= retries)
        state = "PENDING_RERUN" if again else "COMPLETED" if well else "FAILED"
        yield from self._to(app, state, terminationTime=rfc3339(now))

    def _rerun(self, app: JsonObject, seen: Seen, now: float) -> Steps[None]:
        yield from self.remove(PODS, self._pods(app, seen))
        wait_s = raw.number(app, "spec", "restartPolicy", "onFailureRetryInterval", default=5)
        ended = seconds_of(raw.at(app, "status", "terminationTime"))
        left_s = (now if ended is None else ended) + wait_s - now
        if left_s > 0:
            yield Again(left_s, Follow(raw.namespace(app), raw.name(app)))
        else:
            yield from self._submit(app, seen, now)

    # -- pods -----------------------------------------------------------------------------------------------------------

    def _executors(self, app: JsonObject, driver: JsonObject, running: Sequence[JsonObject]) -> Steps[None]:
        ended = [each for each in running if phase(each) in _ENDED]
        alive = [each for each in running if each not in ended]
        yield from self.remove(PODS, ended)
        wanted = _wanted(app)
        yield from self.remove(PODS, sorted(alive, key=_number)[wanted:])
        past = [int(each.rpartition("-")[2]) for each in raw.table(app, "status", "executorState")]
        first = max([0, *past, *map(_number, running)]) + 1
        for number in range(first, first + wanted - len(alive)):
            labels = {
                spark.APP_ID: raw.labels_of(driver).get(spark.APP_ID, ""),
                "spark-exec-id": str(number),
            }
            pod = self._pod(app, spark.EXECUTOR, labels, name=f"{raw.name(app)}-exec-{number}")
            head = raw.table(pod, "metadata")
            owner = raw.owner_reference(PODS.api_version, PODS.kind, driver)
            head |= {"namespace": raw.namespace(app), "ownerReferences": [owner]}
            outcome = yield Create(PODS, {"apiVersion": "v1", "kind": "Pod", **pod, "metadata": head})
            must(outcome, "create Pod")

    def _pod(self, app: JsonObject, part: str, labels: Mapping[str, str], name: str) -> JsonObject:
        marks = {
            spark.ROLE: part,
            spark.OPERATOR_APP: raw.name(app),
            "sparkoperator.k8s.io/launched-by-spark-operator": "true",
            **labels,
        }
        pod = pod_of(spark.pod_template(app, part), marks, name=name)
        if self._is_grouped(app):
            raw.table(pod, "metadata", "annotations")[names.GROUP_NAME] = gangs.group_name(raw.name(app))
        spec = raw.table(pod, "spec")
        for field in ("schedulerName", "priorityClassName"):
            if not spec.get(field):
                spec.pop(field, None)
        image = raw.text(app, "spec", part, "image") or raw.text(app, "spec", "image")
        container = raw.tables(spec, "containers")[0]
        container["image"] = image or "spark"
        script = raw.annotation(app, SCRIPT)
        if part == spark.DRIVER and script:
            container["command"] = ["sh", "-c", script]
        spec["restartPolicy"] = "Never"
        return pod

    def _pods(self, app: JsonObject, seen: Seen) -> list[JsonObject]:
        return [each for each in self._all_pods(app, seen) if not raw.terminating(each)]

    def _all_pods(self, app: JsonObject, seen: Seen) -> list[JsonObject]:
        """Its drivers, and the executors that they own."""
        drivers = list(seen.owned(PODS, raw.uid(app)))
        return drivers + [each for driver in drivers for each in seen.owned(PODS, raw.uid(driver))]

    def _is_grouped(self, app: JsonObject) -> bool:
        """The operator's volcano scheduler serves applications that name it."""
        named = raw.text(app, "spec", "batchScheduler") == names.SCHEDULER_NAME
        mode = raw.text(app, "spec", "mode") or "cluster"
        given = raw.text(app, "spec", "driver", "annotations", names.GROUP_NAME)
        return self.gang and named and mode in ("cluster", "client") and not given

    def _to(self, app: JsonObject, state: str, **status: JsonValue) -> Steps[None]:
        yield from self.report(app, {"applicationState": {"state": state}, **status})


def _wanted(app: JsonObject) -> int:
    dynamic = raw.table(app, "spec", "dynamicAllocation")
    if dynamic.get("enabled") is not True:
        return raw.number(app, "spec", "executor", "instances", default=2)
    most = raw.number(dynamic, "maxExecutors", default=2**31 - 1)
    return min(max(raw.number(dynamic, "initialExecutors"), raw.number(dynamic, "minExecutors")), most)


def _number(executor: JsonObject) -> int:
    return int(raw.labels_of(executor).get("spark-exec-id", "0"))


def _executor_states(app: JsonObject, running: Sequence[JsonObject]) -> JsonObject:
    spoken = {"Running": "RUNNING", "Succeeded": "COMPLETED", "Failed": "FAILED"}
    return {
        **raw.table(app, "status", "executorState"),
        **{raw.name(each): spoken.get(phase(each), "PENDING") for each in running},
    }
