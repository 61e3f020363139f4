"""The policies of deploy/policies judge the webhooks' table as the webhooks do, where an expression can."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.webhooks.verdicts import POD, ROWS, Row, job, obj, pod, queue, task
from vcray.api import names
from vcray.api.batch import JobSpec, TaskSpec
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import COMMANDS, JOBS, NAMESPACES, PODGROUPS, PODS, QUEUES, Resource
from vcray.cluster.admission.policygate import PolicyGate
from vcray.cluster.objects.review import User
from vcray.cluster.objects.store import Store
from vcray.cluster.objects.write import Write
from vcray.kube.errors import ApiError
from vcray.webhooks.jobs_defaults import default_job

FOLDER = Path(__file__).parents[3] / "deploy" / "policies"
FILES = sorted(FOLDER.glob("*.yaml"))
ALICE = User("alice", "", ("system:authenticated",))
VCJOB: JsonObject = {
    "apiVersion": "batch.volcano.sh/v1alpha1",
    "kind": "Job",
    "name": "train",
    "uid": "job-1",
}


def documents(*files: Path) -> list[dict[str, Any]]:
    return [each for file in files for each in yaml.safe_load_all(file.read_text())]


def store_with(*files: str) -> Store:
    """A store in which these policies are in force."""
    store = Store()
    store.gates.append(PolicyGate(store.storage, store.catalog))
    store.create(
        NAMESPACES, "", {"metadata": {"name": "team", "annotations": {names.POD_QUEUE_NAME: "ours"}}}
    )
    for each in documents(*(FOLDER / f"{file}.yaml" for file in files)):
        kind = each["kind"].lower()
        plural = kind.removesuffix("y") + "ies" if kind.endswith("policy") else f"{kind}s"
        store.create(store.catalog.at("admissionregistration.k8s.io", "v1", plural).resource, "", each)
    return store


def refused(write: Callable[[], object]) -> str:
    """What is said of a write; empty when it is done."""
    try:
        write()
    except ApiError as error:
        return error.message
    return ""


def written(
    store: Store, resource: Resource, old: JsonObject | None, new: JsonObject, user: User | None = None
) -> str:
    """What is said of a creation, or of a change of an object that is there; empty when it is done."""
    namespace, how = "team" if resource.namespaced else "", Write() if user is None else Write(user=user)
    if old is None:
        return refused(lambda: store.create(resource, namespace, deepcopy(new), how))
    made = store.create(resource, namespace, deepcopy(old)).decode()
    known: JsonObject = {**new["metadata"], "resourceVersion": made["metadata"]["resourceVersion"]}  # type: ignore[index, call-overload, dict-item]
    full = default_job(new) if resource == JOBS else new
    body: JsonObject = {**deepcopy(full), "metadata": known}
    return refused(lambda: store.update(resource, namespace, str(known["name"]), body, how))


@pytest.mark.parametrize("row", [row for row in ROWS if row.by_policies is not None], ids=str)
def test_policies_say_what_the_table_says(row: Row) -> None:
    told = written(store_with(row.resource.plural), row.resource, row.old, row.new)

    assert bool(told) == bool(row.by_policies), told
    assert (row.by_policies or "") in told


@pytest.mark.parametrize(
    "new",
    [
        job(),
        obj(JOBS, {"tasks": [{"replicas": 2, "template": {"spec": {**POD, "hostNetwork": True}}}, task("w", 3, minAvailable=1)]}),
        job(task("t", 4, partitionPolicy={"totalPartitions": 2, "partitionSize": 2, "minPartitions": 1}), minAvailable=0),
        job(task("master"), task("head"), plugins={"mpi": [], "ray": ["--x"]}),
        job(plugins={"pytorch": [], "svc": ["--y"]}),
    ],
)  # fmt: skip
def test_new_job_is_given_the_webhooks_defaults(new: JsonObject) -> None:
    plain = Store()
    plain.create(NAMESPACES, "", {"metadata": {"name": "team"}})
    stored = plain.create(JOBS, "team", deepcopy(new)).decode()

    made = store_with("jobs").create(JOBS, "team", deepcopy(new)).decode()

    assert made["spec"] == default_job(stored)["spec"]


def test_new_queue_and_group_are_given_the_webhooks_defaults() -> None:
    store = store_with("queues", "podgroups")
    marks: JsonObject = {names.HIERARCHY: "sci/dev", names.HIERARCHY_WEIGHTS: "1/2"}

    made = store.create(QUEUES, "", obj(QUEUES, {}, "q", annotations=marks)).decode()
    group = store.create(PODGROUPS, "team", obj(PODGROUPS, {"minMember": 1})).decode()
    chosen = store.create(PODGROUPS, "team", obj(PODGROUPS, {"queue": "mine"}, "m")).decode()

    assert made["metadata"]["annotations"] == {
        names.HIERARCHY: "root/sci/dev",
        names.HIERARCHY_WEIGHTS: "1/1/2",
    }  # type: ignore[index, call-overload]
    assert {"weight": 1, "reclaimable": True}.items() <= made["spec"].items()  # type: ignore[union-attr]
    assert (group["spec"]["queue"], chosen["spec"]["queue"]) == ("ours", "mine")  # type: ignore[index, call-overload]


@pytest.mark.parametrize("name", ["root", "default"])
def test_two_queues_are_never_deleted(name: str) -> None:
    store = store_with("queues")
    store.create(QUEUES, "", queue(name))
    store.create(QUEUES, "", queue("q"))

    with pytest.raises(ApiError, match=f"`{name}` queue can not be deleted"):
        store.delete(QUEUES, "", name)
    store.delete(QUEUES, "", "q")


@pytest.mark.parametrize("model", [JobSpec, TaskSpec])
def test_every_field_of_a_job_is_fixed_or_may_change(model: type[JobSpec] | type[TaskSpec]) -> None:
    fields = {field.alias or name for name, field in model.model_fields.items()}
    free = {"minAvailable", "priorityClassName", "replicas", "tasks", "volumes"}
    text = (FOLDER / "jobs.yaml").read_text().split("vcray-jobs-updated")[1]

    assert [field for field in sorted(fields - free) if f".?{field} ==" not in text] == []


def test_every_policy_is_bound_and_passes_over_the_system() -> None:
    for file in FILES:
        found = documents(file)
        policies = [each for each in found if each["kind"].endswith("Policy")]
        bound = [each["spec"]["policyName"] for each in found if each["kind"].endswith("Binding")]

        assert [each["metadata"]["name"] for each in policies] == bound
        for each in policies:
            constraints = each["spec"]["matchConstraints"]
            cluster_scoped = file.stem in ("queues", "hypernodes")
            assert ("namespaceSelector" in constraints) != cluster_scoped
            assert each["spec"]["failurePolicy"] == ("Ignore" if file.stem == "pods" else "Fail")


# -- tenants ----------------------------------------------------------------------------------------------------------


def owned(new: JsonObject, *owners: JsonValue, **marks: str) -> JsonObject:
    found = deepcopy(new)
    metadata = found["metadata"]
    assert isinstance(metadata, dict)
    metadata |= {
        "ownerReferences": list(owners),
        "annotations": {f"volcano.sh/{key}": value for key, value in marks.items()},
    }
    return found


@pytest.mark.parametrize(
    ("resource", "old", "new", "told"),
    [
        (PODS, None, owned(pod()), ""),
        (PODS, None, owned(pod(), VCJOB), "must not name a Job"),
        (PODS, owned(pod()), owned(pod(), VCJOB), "must not name a Job"),
        (PODS, owned(pod(), VCJOB), owned(pod(), VCJOB, preemptable="true"), "this belongs to its owner"),
        (PODS, owned(pod(), VCJOB, preemptable="true"), owned(pod(), VCJOB), "this belongs to its owner"),
        (PODS, owned(pod(), VCJOB), owned(pod()), "this belongs to its owner"),
        (PODS, owned(pod()), owned(pod(), preemptable="true"), ""),
        (PODGROUPS, owned(obj(PODGROUPS, {}), VCJOB), owned(obj(PODGROUPS, {"queue": "rich"}), VCJOB), "this belongs to its owner"),
        (PODGROUPS, owned(obj(PODGROUPS, {})), owned(obj(PODGROUPS, {"queue": "rich"})), ""),
    ],
)  # fmt: skip
def test_owners_and_marks_are_the_controllers(
    resource: Resource, old: JsonObject | None, new: JsonObject, told: str
) -> None:
    store = store_with("tenants")
    uid = str(store.create(JOBS, "team", job(name="train")).decode()["metadata"]["uid"])  # type: ignore[index, call-overload]
    before, after = (
        None if each is None else yaml.safe_load(yaml.safe_dump(each).replace("job-1", uid))
        for each in (old, new)
    )

    said = written(store, resource, before, after, ALICE)

    assert bool(said) == bool(told)
    assert told in said


def command(kind: str, api: str, action: str = "CloseQueue") -> JsonObject:
    target: JsonObject = {"apiVersion": api, "kind": kind, "name": "gpu", "uid": "u"}
    return {"metadata": {"name": "c"}, "action": action, "target": target}


TO_QUEUE = command("Queue", "scheduling.volcano.sh/v1beta1")
TO_JOB = command("Job", "batch.volcano.sh/v1alpha1", "AbortJob")


@pytest.mark.parametrize(
    ("old", "new", "user", "allowed"),
    [
        (None, TO_QUEUE, ALICE, False),
        (None, TO_JOB, ALICE, True),
        (None, {"metadata": {"name": "c"}, "action": "CloseQueue"}, ALICE, True),
        (None, command("Queue", "example.com/v1"), ALICE, True),
        (TO_JOB, TO_QUEUE, ALICE, False),
        (None, TO_QUEUE, User("root", "", ("system:masters",)), True),
        (None, TO_QUEUE, User("system:serviceaccount:volcano-system:ops", "", ()), True),
        (None, TO_QUEUE, User("system:serviceaccount:kube-system:ops", "", ("system:authenticated",)), False),
    ],
)  # fmt: skip
def test_only_operators_command_queues(
    old: JsonObject | None, new: JsonObject, user: User, allowed: bool
) -> None:
    said = written(store_with("tenants"), COMMANDS, old, new, user)

    assert ("must not target a Queue" in said) != allowed
    assert bool(said) != allowed
