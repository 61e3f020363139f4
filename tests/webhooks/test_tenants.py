"""Tenants kept apart: queues, gangs, and what controllers own."""

from __future__ import annotations

import pytest

from tests.webhooks.seen import Seen, ask, queue
from vcray.api import names
from vcray.api.meta import JsonObject, JsonValue
from vcray.webhooks.base import Request, User
from vcray.webhooks.tenants import commands, cronjobs, jobs, podgroups, pods

ALICE = User("alice", ("physics", "system:authenticated"))
RUNNER = User("system:serviceaccount:ci:runner", ("system:serviceaccounts",))
CONTROLLER = User("system:serviceaccount:volcano-system:volcano-controllers")
REPLICASETS = User("system:serviceaccount:kube-system:replicaset-controller")
KUBERAY = User("system:serviceaccount:kuberay:operator")
MASTER = User("admin", ("system:masters",))

GROUP, QUEUE = names.GROUP_NAME, names.POD_QUEUE_NAME
VCJOB: JsonObject = {
    "apiVersion": "batch.volcano.sh/v1alpha1",
    "kind": "Job",
    "name": "train",
    "uid": "job-1",
}
CRONJOB: JsonObject = {
    "apiVersion": "batch.volcano.sh/v1alpha1",
    "kind": "CronJob",
    "name": "nightly",
    "uid": "cron-1",
}
REPLICASET: JsonObject = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "rs-1"}


def only(**lists: str) -> JsonObject:
    """Queue q, open to these."""
    found = queue("q")
    found["metadata"] = {
        "name": "q",
        "annotations": {f"vcray.io/allowed-{key.replace('_', '-')}": value for key, value in lists.items()},
    }
    return found


def job(account: str = "", **metadata: JsonValue) -> JsonObject:
    spec: JsonObject = {"serviceAccountName": account} if account else {}
    return {
        "metadata": {"name": "j", "namespace": "team", **metadata},
        "spec": {"queue": "q", "tasks": [{"name": "t", "template": {"spec": spec}}]},
    }


def group(*owners: JsonValue, marks: JsonObject | None = None, **spec: JsonValue) -> JsonObject:
    metadata: JsonObject = {
        "name": "g",
        "namespace": "team",
        "ownerReferences": list(owners),
        "annotations": marks or {},
    }
    return {"metadata": metadata, "spec": {"queue": "default", **spec}}


def pod(
    *owners: JsonValue, uid: str = "", account: str = "", labels: JsonObject | None = None, **marks: str
) -> JsonObject:
    annotations: JsonObject = {
        {"group": GROUP, "queue": QUEUE, "preemptable": names.PREEMPTABLE}[key]: value
        for key, value in marks.items()
    }
    metadata: JsonObject = {
        "name": "p",
        "namespace": "team",
        "uid": uid,
        "annotations": annotations,
        "labels": labels or {},
    }
    return {
        "metadata": {**metadata, "ownerReferences": list(owners)},
        "spec": {"serviceAccountName": account} if account else {},
    }


def asked(
    new: JsonObject,
    user: User,
    *queues: JsonObject,
    old: JsonObject | None = None,
    tied: str = "",
    **rules: object,
) -> Request:
    """What `user` asks in namespace team, which an annotation may tie to a queue."""
    owned = {
        "g": group(VCJOB),
        "webs": group(REPLICASET),
        "own": group(),
        "bare": group({**REPLICASET, "kind": "Pod", "uid": "pod-1"}),
    }
    groups = {("team", name): each for name, each in owned.items()}
    namespaces: dict[str, JsonObject] = {"team": {"metadata": {"annotations": {QUEUE: tied}}}} if tied else {}
    seen = Seen(queues, namespaces, groups)
    return ask("UPDATE" if old else "CREATE", new, old, seen, user=user, **rules)


# -- queues -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lists", "user", "account"),
    [
        ({}, ALICE, ""),
        ({"namespaces": "other, team"}, ALICE, ""),
        ({"namespaces": "te*"}, ALICE, ""),
        ({"users": "bob,alice"}, ALICE, ""),
        ({"groups": "phys*"}, ALICE, ""),
        ({"service_accounts": "ci/runner"}, RUNNER, ""),
        ({"service_accounts": "ci/*"}, RUNNER, ""),
        ({"service_accounts": "team/trainer"}, ALICE, "trainer"),
        ({"service_accounts": "team/default"}, ALICE, ""),
        ({"namespaces": "other", "users": "alice"}, ALICE, ""),
        ({"namespaces": ""}, MASTER, ""),
    ],
)
def test_queue_serves_whom_its_annotations_allow(lists: dict[str, str], user: User, account: str) -> None:
    new = job(account)
    cron: JsonObject = {"metadata": {"namespace": "team"}, "spec": {"jobTemplate": {"spec": new["spec"]}}}

    assert jobs(asked(new, user, only(**lists))).problem == ""
    assert cronjobs(asked(cron, user, only(**lists))).problem == ""
    assert pods(asked(pod(account=account, queue="q"), user, only(**lists))).problem == ""


@pytest.mark.parametrize(
    ("lists", "user", "account"),
    [
        ({"namespaces": ""}, ALICE, ""),
        ({"namespaces": "tea, team-a"}, ALICE, ""),
        ({"namespaces": "Team"}, ALICE, ""),
        ({"users": "al"}, ALICE, ""),
        ({"groups": "alice"}, ALICE, ""),
        ({"service_accounts": "ci/other"}, RUNNER, ""),
        ({"service_accounts": "runner"}, RUNNER, ""),
        ({"service_accounts": "team/trainer"}, ALICE, "intern"),
        ({"users": ","}, User(), ""),
    ],
)
def test_queue_does_not_serve_others(lists: dict[str, str], user: User, account: str) -> None:
    new = job(account)
    cron: JsonObject = {"metadata": {"namespace": "team"}, "spec": {"jobTemplate": {"spec": new["spec"]}}}
    told = "queue q does not serve namespace team"

    assert jobs(asked(new, user, only(**lists))).problem.startswith(told)
    assert cronjobs(asked(cron, user, only(**lists))).problem.startswith(told)
    assert pods(asked(pod(account=account, queue="q"), user, only(**lists))).problem.startswith(told)
    assert podgroups(asked(group(queue="q"), user, only(**lists))).problem.startswith(told)


def test_refusal_says_what_where_and_what_to_do() -> None:
    assert jobs(asked(job(), ALICE, only(namespaces="other", users="bob"))).problem == (
        "queue q does not serve namespace team or user alice: see its annotations vcray.io/allowed-namespaces, vcray.io/allowed-users; "
        "choose another queue, or ask who administers this one"
    )


def test_queue_without_a_word_is_as_the_one_above() -> None:
    parent = only(namespaces="other")
    child, open_child = queue("c", parent="q"), queue("d", parent="q")
    open_child["metadata"] = {"name": "d", "annotations": {names.ALLOWED_NAMESPACES: "*"}}
    below, beside = job(), job()
    below["spec"]["queue"], beside["spec"]["queue"] = "c", "d"  # type: ignore[index, call-overload]

    assert "which it has from queue q;" in jobs(asked(below, ALICE, parent, child)).problem
    assert jobs(asked(beside, ALICE, parent, open_child)).allowed


def test_ring_of_queues_ends() -> None:
    assert jobs(asked(job(), ALICE, queue("q", parent="r"), queue("r", parent="q"))).allowed


def test_every_pod_of_a_job_runs_as_an_account_that_is_served() -> None:
    new = job("trainer")
    new["spec"]["tasks"].append({"name": "u", "template": {"spec": {"serviceAccountName": "intern"}}})  # type: ignore[index, call-overload, union-attr]

    assert not jobs(asked(new, ALICE, only(service_accounts="team/trainer"))).allowed


def test_what_was_judged_once_is_not_judged_again() -> None:
    closed = only(users="alice")

    assert jobs(asked(job(ownerReferences=[CRONJOB]), CONTROLLER, closed)).allowed
    assert podgroups(asked(group(VCJOB, queue="q"), CONTROLLER, closed)).allowed
    assert podgroups(asked(group(REPLICASET, queue="q"), CONTROLLER, closed)).allowed
    assert pods(asked(pod(VCJOB, queue="q"), CONTROLLER, closed)).allowed


def test_word_of_the_control_plane_opens_no_queue() -> None:
    closed = only(namespaces="other")

    assert not jobs(asked(job(), CONTROLLER, closed)).allowed, "a JobFlow's job: nobody judged its queue"
    assert not podgroups(asked(group(REPLICASET, queue="q"), CONTROLLER, closed)).allowed
    assert not jobs(asked(job(ownerReferences=[CRONJOB]), ALICE, closed)).allowed, "an owner that alice wrote"


def test_job_is_not_moved_to_a_queue_that_does_not_serve_its_owner() -> None:
    """Volcano's own webhook, which forbids any change of the queue, need not be on."""
    closed, moved = only(users="bob"), job()
    free: JsonObject = {**moved, "spec": {**moved["spec"], "queue": "free"}}  # type: ignore[dict-item]

    assert "does not serve" in jobs(asked(moved, ALICE, closed, queue("free"), old=free)).problem
    assert jobs(asked(moved, ALICE, closed, old=moved)).problem == ""


def test_update_is_judged_by_what_it_changes() -> None:
    closed, old = only(namespaces="other"), group(queue="q")
    cron: JsonObject = {
        "metadata": {"namespace": "team"},
        "spec": {"suspend": True, "jobTemplate": {"spec": job()["spec"]}},
    }

    assert podgroups(asked(group(queue="q", minMember=2), ALICE, closed, old=old)).allowed
    assert not podgroups(asked(group(queue="q"), ALICE, closed, old=group())).allowed, (
        "moved to another queue"
    )
    assert cronjobs(
        asked({**cron, "spec": {**cron["spec"], "suspend": False}}, ALICE, closed, old=cron)
    ).allowed  # type: ignore[dict-item]
    assert pods(asked(pod(queue="q", preemptable="true"), ALICE, closed, old=pod(queue="q"))).allowed


# -- queues that a namespace is tied to ------------------------------------------------------------------------------


def in_queue(name: str) -> JsonObject:
    found = job()
    found["spec"]["queue"] = name  # type: ignore[index, call-overload]
    return found


def nightly(new: JsonObject) -> JsonObject:
    return {"metadata": {"namespace": "team"}, "spec": {"jobTemplate": {"spec": new["spec"]}}}


@pytest.mark.parametrize("name", ["", "default"])
@pytest.mark.parametrize("lists", [{"namespaces": "other"}, {"users": "bob"}])
def test_job_is_judged_by_the_queue_where_its_group_will_wait(name: str, lists: dict[str, str]) -> None:
    new, closed, told = in_queue(name), only(**lists), "queue q does not serve namespace team or user alice"

    assert jobs(asked(new, ALICE, closed, tied="q")).problem.startswith(told)
    assert cronjobs(asked(nightly(new), ALICE, closed, tied="q")).problem.startswith(told)
    assert jobs(asked(new, ALICE, closed)).allowed, "no annotation: it waits in default"
    assert jobs(asked(in_queue("mine"), ALICE, closed, tied="q")).allowed, "a queue of its own stays"
    assert jobs(asked(new, ALICE, only(users="alice"), tied="q")).allowed
    assert jobs(asked(new, ALICE, closed, old=in_queue("default"), tied="q")).allowed, "not moved"


def test_namespace_that_is_tied_is_not_held_against_the_default_queue() -> None:
    closed = only(namespaces="other")
    closed["metadata"]["name"] = "default"  # type: ignore[index, call-overload]

    assert not jobs(asked(in_queue("default"), ALICE, closed)).allowed
    assert jobs(asked(in_queue("default"), ALICE, closed, tied="q")).allowed


def test_group_of_a_job_is_judged_where_its_namespace_may_have_brought_it() -> None:
    new, closed = group(VCJOB, queue="q"), only(namespaces="other")

    assert podgroups(asked(new, CONTROLLER, closed, tied="q")).problem.startswith("queue q does not serve")
    assert podgroups(asked(new, CONTROLLER, closed, tied="r")).allowed, "the Job itself named it"
    assert podgroups(asked(new, CONTROLLER, only(namespaces="team"), tied="q")).allowed
    assert podgroups(asked(new, CONTROLLER, only(users="bob"), tied="q")).allowed, (
        "the Job was held against it"
    )
    unnamed = only(namespaces="other")
    unnamed["metadata"]["name"] = "default"  # type: ignore[index, call-overload]
    assert podgroups(asked(group(VCJOB, queue=""), CONTROLLER, unnamed, old=group(VCJOB, queue="q"))).allowed


# -- commands ---------------------------------------------------------------------------------------------------------


def command(
    kind: str = "Queue", api: str = "scheduling.volcano.sh/v1beta1", action: str = "CloseQueue"
) -> JsonObject:
    target: JsonObject = {"apiVersion": api, "kind": kind, "name": "rich", "uid": "u"}
    return {"metadata": {"generateName": "rich-", "namespace": "team"}, "action": action, "target": target}


@pytest.mark.parametrize("action", ["CloseQueue", "OpenQueue", "SyncQueue", ""])
@pytest.mark.parametrize("user", [ALICE, REPLICASETS, KUBERAY])
def test_only_operators_command_queues(user: User, action: str) -> None:
    new = command(action=action)
    told = (
        f"command team/rich- must not target queue rich: user {user.name} is no operator of the control plane; "
        "ask who administers the queue, or be named in --tenant-operators"
    )

    assert commands(asked(new, user)).problem == told
    assert commands(asked(new, user, old=command("Job", "batch.volcano.sh/v1alpha1"))).problem == told, (
        "turned"
    )
    assert commands(asked(new, user, operators=(user.name,))).allowed


@pytest.mark.parametrize("user", [MASTER, CONTROLLER])
def test_masters_and_the_control_plane_command_queues(user: User) -> None:
    assert commands(asked(command(), user)).allowed


@pytest.mark.parametrize(
    "new",
    [
        command("Job", "batch.volcano.sh/v1alpha1", "AbortJob"),
        command("Queue", "example.com/v1"),
        {"metadata": {"namespace": "team"}, "action": "CloseQueue"},
    ],
    ids=["job", "queue of somebody else", "no target"],
)
def test_other_commands_are_free(new: JsonObject) -> None:
    assert commands(asked(new, ALICE)).allowed


def test_command_from_before_may_be_updated() -> None:
    assert commands(asked(command(action="OpenQueue"), ALICE, old=command(action="OpenQueue"))).allowed


# -- gangs ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("new", "user"),
    [
        (pod(group="own"), ALICE),
        (pod(group="not-there-yet"), ALICE),
        (pod(VCJOB, group="g"), CONTROLLER),
        (pod(REPLICASET, group="webs"), REPLICASETS),
        (pod(REPLICASET, group="own"), REPLICASETS),
        (pod(uid="pod-1", group="bare"), CONTROLLER),
        (pod(group="g"), MASTER),
    ],
)
def test_pod_joins_its_own_gang(new: JsonObject, user: User) -> None:
    assert pods(asked(new, user)).problem == ""


@pytest.mark.parametrize(
    ("new", "user"),
    [
        (pod(group="g"), ALICE),
        (pod(REPLICASET, group="webs"), ALICE),
        (pod(REPLICASET, group="g"), REPLICASETS),
        (pod(group="g"), KUBERAY),
    ],
    ids=["foreign", "owner that alice wrote", "template of a Deployment", "no operator yet"],
)
def test_pod_joins_no_foreign_gang(new: JsonObject, user: User) -> None:
    name = new["metadata"]["annotations"][GROUP]  # type: ignore[index, call-overload]
    told = f"pod team/p must not join PodGroup {name}: that belongs to"

    assert pods(asked(new, user)).problem.startswith(told)
    assert pods(asked(new, user, old=pod())).problem.startswith(told)


@pytest.mark.parametrize("pattern", ["system:serviceaccount:kuberay:*", KUBERAY.name])
def test_operators_are_named_by_an_administrator(pattern: str) -> None:
    assert pods(asked(pod(group="g"), KUBERAY, operators=(pattern,))).allowed
    assert not pods(asked(pod(group="g"), KUBERAY, operators=("system:serviceaccount:other:*",))).allowed


def test_control_plane_is_known_by_its_namespace() -> None:
    elsewhere = User("system:serviceaccount:batch:volcano-controllers")

    assert not pods(asked(pod(group="g"), elsewhere)).allowed
    assert pods(asked(pod(group="g"), elsewhere, release_namespace="batch")).allowed


def test_pod_that_is_in_a_gang_already_may_be_updated() -> None:
    old = pod(group="g")

    assert pods(asked(pod(group="g", labels={"a": "b"}), ALICE, old=old)).allowed


# -- what controllers own ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("user", [ALICE, KUBERAY])
def test_only_the_job_controller_makes_what_a_job_owns(user: User) -> None:
    told = "metadata.ownerReferences must not name Job train: only the job controller makes what a Job owns; leave the owner out"

    assert pods(asked(pod(VCJOB), user)).problem == told
    assert pods(asked(pod(VCJOB), user, old=pod())).problem == told
    assert podgroups(asked(group(VCJOB), user)).problem == told
    assert pods(asked(pod(VCJOB), CONTROLLER)).allowed


@pytest.mark.parametrize(
    "new",
    [
        pod(VCJOB, preemptable="false"),
        pod(VCJOB, labels={names.PREEMPTABLE: "false"}),
        pod(VCJOB, labels={names.JOB_NAME: "other"}),
        pod(preemptable="true"),
    ],
    ids=["annotation", "label", "job", "owner dropped"],
)
def test_marks_of_a_jobs_pods_are_the_controllers(new: JsonObject) -> None:
    old = pod(VCJOB, preemptable="true")
    told = (
        "pod team/p belongs to Job train, whose controller alone changes its queue, priority and volcano.sh marks; "
        "change the owner instead"
    )

    assert pods(asked(new, ALICE, old=old)).problem == told
    assert pods(asked(new, CONTROLLER, old=old)).allowed
    assert pods(asked(pod(VCJOB, preemptable="true", labels={"a": "b"}), ALICE, old=old)).allowed
    assert pods(asked(pod(preemptable="true"), ALICE, old=pod())).allowed, "a pod of alice's own"


@pytest.mark.parametrize(
    "new",
    [
        group(VCJOB, queue="rich"),
        group(VCJOB, priorityClassName="high"),
        group(VCJOB, minMember=1),
        group(VCJOB, marks={names.PREEMPTABLE: "false"}),
        group(),
    ],
    ids=["queue", "priority", "gang", "mark", "owner dropped"],
)
def test_owned_groups_are_changed_by_their_controller(new: JsonObject) -> None:
    old = group(VCJOB)

    assert podgroups(asked(new, ALICE, old=old)).problem.startswith("PodGroup team/g belongs to Job train, ")
    assert podgroups(asked(new, CONTROLLER, old=old)).allowed
    assert podgroups(asked({**old, "status": {"phase": "Running"}}, ALICE, old=old)).allowed
