"""Good and bad objects with what is told of them, for whoever judges: the webhooks' rules, and the policies that stand for them.

A row: what it is, the resource, the object, the object before for an update, a part of what the webhooks say (empty: let in), and a
part of what the policies say where they use other words; None where no expression can tell.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass

from vcray.api import names
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import CRONJOBS, HYPERNODES, JOBFLOWS, JOBS, PODGROUPS, PODS, QUEUES, Resource

SAME = "the same"
TIERS: JsonObject = {"mode": "hard", "highestTierAllowed": 1, "highestTierName": "rack"}
POD: JsonObject = {"containers": [{"name": "c", "image": "i"}]}
CODES = "must not specify event and exitCode simultaneously"
DAG = "form a directed acyclic graph(DAG)"
FIXED = "job updates may not change fields other than"


@dataclass(frozen=True)
class Row:
    """One object and its verdict."""

    about: str
    resource: Resource
    new: JsonObject
    told: str = ""
    policies: str | None = SAME
    old: JsonObject | None = None

    @property
    def by_policies(self) -> str | None:
        """What the policies say."""
        return self.told if self.policies == SAME else self.policies

    def __str__(self) -> str:
        return f"{self.resource.plural}: {self.about}"


def obj(resource: Resource, spec: JsonObject, name: str = "n", **metadata: JsonValue) -> JsonObject:
    """An object of that kind."""
    namespace: JsonObject = {"namespace": "team"} if resource.namespaced else {}
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": name, **namespace, **metadata},
        "spec": deepcopy(spec),
    }


def task(name: str = "t", replicas: int = 1, **fields: JsonValue) -> JsonObject:
    return {"name": name, "replicas": replicas, "template": {"spec": POD}, **fields}


def job(*tasks: JsonValue, name: str = "j", **spec: JsonValue) -> JsonObject:
    return obj(JOBS, {"queue": "q", "minAvailable": 1, "tasks": list(tasks) or [task()], **spec}, name)


def on(*policies: JsonObject) -> JsonObject:
    """A job with these policies."""
    return job(policies=list(policies))


def reacting(event: str, action: str = "RestartJob", **fields: JsonValue) -> JsonObject:
    return {"event": event, "action": action, **fields}


def waiting(*tasks: tuple[str, list[str]]) -> JsonObject:
    listed = [task(name, dependsOn={"name": [*needs]}) if needs else task(name) for name, needs in tasks]
    return job(*listed)


def chain(length: int) -> list[tuple[str, list[str]]]:
    return [(f"t{each}", [f"t{each - 1}"] if each else []) for each in range(length)]


def partitioned(total: int, size: int, least: int = 0, **fields: JsonValue) -> JsonObject:
    policy: JsonObject = {"totalPartitions": total, "partitionSize": size, "minPartitions": least}
    return job(task("t", 4, partitionPolicy=policy, **fields))


def queue(name: str = "new", annotations: JsonObject | None = None, **spec: JsonValue) -> JsonObject:
    return obj(QUEUES, {"weight": 1, "reclaimable": True, **spec}, name, annotations=annotations or {})


def placed(path: str, weights: str) -> JsonObject:
    return queue(annotations={names.HIERARCHY: path, names.HIERARCHY_WEIGHTS: weights})


def pod(scheduler: str = "volcano", **budgets: str) -> JsonObject:
    marks: JsonObject = {
        {"least": names.JDB_MIN_AVAILABLE, "most": names.JDB_MAX_UNAVAILABLE}[key]: value
        for key, value in budgets.items()
    }
    return obj(PODS, {**POD, "schedulerName": scheduler}, annotations=marks)


def flow(*flows: tuple[str, list[str]]) -> JsonObject:
    listed: list[JsonValue] = [
        {"name": name, **({"dependsOn": {"targets": [*needs]}} if needs else {})} for name, needs in flows
    ]
    return obj(JOBFLOWS, {"flows": listed, "jobRetainPolicy": "retain"})


def members(*selectors: JsonObject) -> JsonObject:
    return obj(HYPERNODES, {"tier": 1, "members": [{"type": "Node", "selector": each} for each in selectors]})


def cron(schedule: str = "* * * * *", name: str = "c", **spec: JsonValue) -> JsonObject:
    return obj(CRONJOBS, {"schedule": schedule, "jobTemplate": {"spec": job()["spec"]}, **spec}, name)


def changed(**spec: JsonValue) -> JsonObject:
    """The job of updates with fields set."""
    after = deepcopy(FORMER)
    after["spec"].update(spec)  # type: ignore[union-attr]
    return after


FORMER = job(
    task("t", 2, minAvailable=1),
    maxRetry=3,
    volumes=[{"mountPath": "/d", "volumeClaim": {"accessModes": ["ReadWriteOnce"]}}],
)
CLAIMED = [{"mountPath": "/d", "volumeClaimName": "x", "volumeClaim": {"accessModes": ["ReadWriteOnce"]}}]
MOVED = [{"mountPath": "/e", "volumeClaim": {"accessModes": ["ReadWriteOnce"]}}]

CREATED_JOBS = (
    Row("good", JOBS, job()),
    Row("all of it", JOBS, job(task("master", 2, minAvailable=1, policies=[reacting("TaskCompleted", "CompleteJob")]), task("w"), plugins={"mpi": [], "svc": [], "ssh": []})),
    Row("no task", JOBS, obj(JOBS, {"queue": "q"}), "No task specified in job spec"),
    Row("no master", JOBS, job(plugins={"mpi": []}), "The specified mpi master task was not found"),
    Row("another master", JOBS, job(task("chief"), plugins={"mpi": ["--master=chief"]})),
    Row("master that is not there", JOBS, job(task("master"), plugins={"mpi": ["--master=chief"]}), "The specified mpi master task was not found"),
    Row("no head", JOBS, job(plugins={"ray": []}), "The specified ray head task was not found"),
    Row("both tiers", JOBS, job(networkTopology=TIERS), "must not specify 'highestTierAllowed' and 'highestTierName'"),
    Row("both tiers of a partition", JOBS, job(task("t", 4, partitionPolicy={"totalPartitions": 2, "partitionSize": 2, "networkTopology": TIERS})), "must not specify 'highestTierAllowed' and 'highestTierName'"),
    Row("task's minimum", JOBS, job(task(minAvailable=2)), "'minAvailable' is greater than 'replicas' in task: t, job: j"),
    Row("duplicate", JOBS, job(task("a"), task("a")), "duplicated task name"),
    Row("job's minimum", JOBS, job(minAvailable=2), "job 'minAvailable' should not be greater than total replicas in tasks"),
    Row("too many pods", JOBS, job(task("a", 150_000), task("b")), "add up to 150001, more than the 150000 pods that a job may have", "add up to more than the 150000 pods"),
    Row("long name", JOBS, job(name="j" * 60), "create pod with name", "create pod validate failed"),
    Row("plugin", JOBS, job(plugins={"typo": []}), "unable to find job plugin"),
    Row("event and code", JOBS, on(reacting("PodFailed", exitCode=1)), CODES),
    Row("events and code", JOBS, on({"events": ["PodFailed"], "action": "AbortJob", "exitCode": 1}), CODES),
    Row("neither", JOBS, on({"action": "AbortJob"}), "either event and exitCode should be specified"),
    Row("every event", JOBS, on(*(reacting(each) for each in ("PodFailed", "PodEvicted", "PodPending", "Unknown", "TaskCompleted", "TaskFailed", "JobUpdated")))),
    Row("internal event", JOBS, on({"events": ["PodFailed", "CommandIssued"], "action": "AbortJob"}), "invalid policy event"),
    Row("internal action", JOBS, on(reacting("PodFailed", "SyncJob")), "invalid policy action"),
    Row("partition restarts", JOBS, on(reacting("PodFailed", "RestartPartition"))),
    Row("code with any action", JOBS, on({"exitCode": 3, "action": "SyncJob"})),
    Row("code without action", JOBS, on({"exitCode": 3})),
    Row("event twice", JOBS, on(reacting("PodFailed"), {"events": ["PodEvicted", "PodFailed"], "action": "AbortJob"}), "duplicate event"),
    Row("event twice in one policy", JOBS, on(reacting("PodFailed", events=["PodFailed", "PodEvicted"]))),
    Row("code zero", JOBS, on({"exitCode": 0, "action": "AbortJob"}), "0 is not a valid error code"),
    Row("code twice", JOBS, on({"exitCode": 3}, {"exitCode": 3}), "duplicate exitCode"),
    Row("star alone", JOBS, on(reacting("*"), {"exitCode": 3})),
    Row("star and more", JOBS, on(reacting("*"), reacting("PodFailed")), "if there's * here, no other policy should be here"),
    Row("star in events", JOBS, on({"events": ["*", "PodFailed"], "action": "AbortJob"}), "if there's * here, no other policy should be here"),
    Row("task's event", JOBS, job(task(policies=[reacting("PodRunning")])), "invalid policy event"),
    Row("task's action", JOBS, job(task(policies=[reacting("PodFailed", "EnqueueJob")])), "invalid policy action"),
    Row("task and job react alike", JOBS, job(task(policies=[reacting("PodFailed")]), policies=[reacting("PodFailed")])),
    Row("volume", JOBS, job(volumes=[{"mountPath": "/a", "volumeClaimName": "c"}])),
    Row("no path", JOBS, job(volumes=[{"mountPath": "", "volumeClaimName": "c"}]), "mountPath is required", "in body should be"),
    Row("path twice", JOBS, job(volumes=[{"mountPath": "/a", "volumeClaimName": "c"}, {"mountPath": "/a", "volumeClaimName": "d"}]), "duplicated mountPath"),
    Row("no claim", JOBS, job(volumes=[{"mountPath": "/a"}]), "either VolumeClaim or VolumeClaimName must be specified"),
    Row("two claims", JOBS, job(volumes=[{"mountPath": "/a", "volumeClaimName": "c", "volumeClaim": {}}]), "conflict: If you want to use an existing PVC"),
    Row("root", JOBS, job(queue="root"), "can not submit job to root queue"),
    Row("queue that is not there", JOBS, job(queue="gone"), "unable to find job queue", ""),
    Row("template", JOBS, job(task(template={"spec": {"containers": [{"name": "c"}]}})), "spec.task[0].template.spec.containers[0].image: Required value", ""),
    Row("no partitions", JOBS, partitioned(0, 2), "'TotalPartitions' must be greater than 0", "in body should be"),
    Row("empty partitions", JOBS, partitioned(2, 0), "'PartitionSize' must be greater than 0", "in body should be"),
    Row("partitions too many", JOBS, partitioned(2, 3), "'Replicas' are not equal to TotalPartitions*PartitionSize"),
    Row("partitions' minimum", JOBS, partitioned(2, 2, 1, minAvailable=4), "'MinAvailable' is not equal to MinPartitions*PartitionSize"),
    Row("partitions", JOBS, partitioned(2, 2, 1, minAvailable=2)),
    Row("diamond", JOBS, waiting(("d", ["b", "c"]), ("b", ["a"]), ("c", ["a"]), ("a", []))),
    Row("long chain", JOBS, waiting(*chain(12))),
    Row("itself", JOBS, waiting(("a", ["a"])), DAG),
    Row("ring", JOBS, waiting(("s", []), ("a", ["c", "s"]), ("b", ["a"]), ("c", ["b"])), DAG),
    Row("ring behind a long chain", JOBS, waiting(*chain(12), ("x", ["t11", "y"]), ("y", ["x"])), DAG, ""),
    Row("nobody to wait for", JOBS, waiting(("a", []), ("b", ["z"])), DAG),
    Row("waiting twice", JOBS, waiting(("a", []), ("b", ["a", "a"])), DAG),
)  # fmt: skip

UPDATED_JOBS = (
    Row("minimum", JOBS, changed(minAvailable=2), old=FORMER),
    Row("priority", JOBS, changed(priorityClassName="high"), old=FORMER),
    Row("replicas", JOBS, changed(tasks=[task("t", 5, minAvailable=2)]), old=FORMER),
    Row("as many as can be", JOBS, changed(tasks=[task("t", 150_000, minAvailable=2)]), old=FORMER),
    Row("too many pods", JOBS, changed(tasks=[task("t", 150_001, minAvailable=2)]), "add up to 150001, more than the 150000 pods that a job may have", "add up to more than the 150000 pods", old=FORMER),
    Row("claim that was made", JOBS, changed(volumes=CLAIMED), old=FORMER),
    Row("minimum beyond", JOBS, changed(minAvailable=3), "job 'minAvailable' must not be greater than total replicas", old=FORMER),
    Row("task's minimum beyond", JOBS, changed(tasks=[task("t", 2, minAvailable=3)]), "'minAvailable' must be <= 'replicas' in", old=FORMER),
    Row("one more task", JOBS, changed(tasks=[task("t", 2, minAvailable=1), task("u")]), "job updates may not add or remove tasks", old=FORMER),
    Row("queue", JOBS, changed(queue="other"), FIXED, old=FORMER),
    Row("retries", JOBS, changed(maxRetry=5), FIXED, old=FORMER),
    Row("policies", JOBS, changed(policies=[reacting("PodFailed")]), FIXED, old=FORMER),
    Row("name of a task", JOBS, changed(tasks=[task("u", 2, minAvailable=1)]), FIXED, old=FORMER),
    Row("template", JOBS, changed(tasks=[task("t", 2, minAvailable=1, template={"spec": {"containers": [{"name": "c", "image": "other"}]}})]), FIXED, old=FORMER),
    Row("path", JOBS, changed(volumes=MOVED), FIXED, old=FORMER),
)  # fmt: skip

QUEUE_ROWS = (
    Row("good", QUEUES, queue(capability={"cpu": "4"}, deserved={"cpu": "2", "memory": "1Gi"}, guarantee={"resource": {"cpu": "1"}})),
    Row("guarantee alone", QUEUES, queue(guarantee={"resource": {"cpu": "1"}}), "must be >= guarantee"),
    Row("guarantee beyond", QUEUES, queue(guarantee={"resource": {"cpu": "2"}}, deserved={"cpu": "1500m"}), "must be >= guarantee"),
    Row("deserved beyond", QUEUES, queue(deserved={"memory": "2Gi"}, capability={"memory": "1Gi"}), "must be <= capability"),
    Row("as much", QUEUES, queue(deserved={"cpu": "1"}, capability={"cpu": "1000m"})),
    Row("negative", QUEUES, queue(capability={"cpu": "-1"}), "must be greater than or equal to 0"),
    Row("hierarchy", QUEUES, placed("root/sci", "1/2.5")),
    Row("path without weights", QUEUES, placed("root/sci", "1"), "volcano.sh/hierarchy must have the same length"),
    Row("no number", QUEUES, placed("root/sci", "1/x"), "invalid number"),
    Row("no weight", QUEUES, placed("root/sci", "1/0"), "must be larger than 0"),
    Row("negative weight", QUEUES, placed("root/sci", "1/-2"), "must be larger than 0"),
    Row("own parent", QUEUES, queue(parent="new"), "cannot use itself as parent"),
    Row("parent that is not there", QUEUES, queue(parent="gone"), "failed to get parent queue", ""),
    Row("root grows", QUEUES, queue("root", capability={"cpu": "9"}), "root queue's resource attributes", old=queue("root")),
    Row("root weighs more", QUEUES, queue("root", weight=2), old=queue("root")),
)  # fmt: skip

OTHER_ROWS = (
    Row("good", PODGROUPS, obj(PODGROUPS, {"queue": "q", "minMember": 1})),
    Row("both tiers", PODGROUPS, obj(PODGROUPS, {"queue": "q", "networkTopology": TIERS}), "must not specify 'highestTierAllowed'"),
    Row("both tiers of a sub-group", PODGROUPS, obj(PODGROUPS, {"queue": "q", "subGroupPolicy": [{"name": "s", "networkTopology": TIERS}]}), "in subGroupPolicy"),
    Row("queue that is not there", PODGROUPS, obj(PODGROUPS, {"queue": "gone"}), "unable to find queue", ""),
    *(Row(f"budget {each}", PODS, pod(least=each)) for each in ("1", "+5", "99%", "1%")),
    *(Row(f"budget {each}", PODS, pod(most=each), "invalid value") for each in ("0", "-3", "0%", "100%", "many", "")),
    Row("two budgets", PODS, pod(least="1", most="5%"), "not allow configure multiple annotations"),
    Row("another scheduler's", PODS, pod("default-scheduler", least="many")),
    Row("chain", JOBFLOWS, flow(*chain(12))),
    Row("fan", JOBFLOWS, flow(("a", []), ("b", ["a"]), ("c", ["a"]), ("d", ["b", "c"]))),
    Row("nothing", JOBFLOWS, flow()),
    Row("no such flow", JOBFLOWS, flow(("a", []), ("b", ["x"])), "jobflow Flow is not DAG: vertex is not defined"),
    Row("itself", JOBFLOWS, flow(("a", ["a"])), "jobflow Flow is not DAG"),
    Row("ring", JOBFLOWS, flow(("s", []), ("a", ["s", "c"]), ("b", ["a"]), ("c", ["b"])), "jobflow Flow is not DAG"),
    Row("pattern", HYPERNODES, members({"regexMatch": {"pattern": "^node-[0-9]+$"}}, {"exactMatch": {"name": "n"}})),
    Row("no pattern", HYPERNODES, members({"exactMatch": {"name": "n"}}, {"regexMatch": {"pattern": "["}}), "missing", "resulted in error"),
    *(Row(each, CRONJOBS, cron(each)) for each in ("*/5 * * * *", "0 9-17/2 1,15 JAN-mar Mon", "@hourly", "@every 1h30m")),
    Row("zone in the schedule", CRONJOBS, cron("TZ=UTC * * * * *"), "schedule should not contain TZ or CRON_TZ"),
    *(Row(each, CRONJOBS, cron(each), "schedule is not a valid cron expression") for each in ("* * * *", "* * * * * *", "@never", "monday")),
    Row("minute that is not", CRONJOBS, cron("61 * * * *"), "schedule is not a valid cron expression", ""),
    Row("zone", CRONJOBS, cron(timeZone="Asia/Shanghai")),
    Row("local", CRONJOBS, cron(timeZone="Local"), "timeZone can't be Local"),
    Row("path as a zone", CRONJOBS, cron(timeZone="../UTC"), "unknown timeZone"),
    Row("zone that is not", CRONJOBS, cron(timeZone="Mars/Phobos"), "invalid timeZone", ""),
    Row("long name", CRONJOBS, cron(name="c" * 53), "cronJob name must be no more than 52 characters"),
)  # fmt: skip

ROWS = (*CREATED_JOBS, *UPDATED_JOBS, *QUEUE_ROWS, *OTHER_ROWS)
