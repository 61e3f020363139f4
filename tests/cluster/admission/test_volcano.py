"""The webhooks' rules within the process, as a gate of a store."""

from __future__ import annotations

import pytest

from vcray.api.meta import JsonObject
from vcray.api.resources import (
    CRONJOBS,
    HYPERNODES,
    JOBFLOWS,
    JOBS,
    NAMESPACES,
    PODGROUPS,
    PODS,
    QUEUES,
    Resource,
)
from vcray.clock import ManualClock
from vcray.cluster.admission.volcano import MUTATING, VolcanoGate
from vcray.cluster.objects.store import Store, Write
from vcray.kube.errors import ApiError
from vcray.webhooks.base import Rules
from vcray.webhooks.resource_groups import ResourceGroup

TEMPLATE: JsonObject = {"spec": {"containers": [{"name": "c", "image": "i"}]}}


def store_with(**choices: object) -> Store:
    """A store whose gate asks the webhooks."""
    store = Store(ManualClock())
    store.gates.append(VolcanoGate(store.storage, **choices))  # type: ignore[arg-type]
    return store


def queue(store: Store, name: str, state: str = "Open") -> None:
    store.create(QUEUES, "", {"metadata": {"name": name}, "spec": {}})
    made = store.read(QUEUES, "", name).decode()
    store.update(QUEUES, "", name, {**made, "status": {"state": state}}, Write(subresource="status"))


def job(queue: str = "default") -> JsonObject:
    return {
        "metadata": {"name": "j"},
        "spec": {"queue": queue, "tasks": [{"replicas": 2, "template": TEMPLATE}]},
    }


def test_job_is_given_its_defaults_but_not_in_system_namespaces() -> None:
    """api-controllers.md 10.49."""
    store = store_with(services=MUTATING, rules=Rules(scheduler_name="other"))

    made = store.create(JOBS, "default", job()).decode()
    plain = store.create(JOBS, "kube-system", job()).decode()

    assert made["spec"]["schedulerName"] == "other"  # type: ignore[index, call-overload]
    assert made["spec"]["minAvailable"] == 2  # type: ignore[index, call-overload]
    assert "minAvailable" not in plain["spec"]  # type: ignore[operator]


def test_job_for_a_queue_that_does_not_exist_is_refused_in_the_webhooks_name() -> None:
    with pytest.raises(ApiError) as refused:
        store_with().create(JOBS, "default", job("ghost"))

    assert refused.value.code == 400
    assert refused.value.message == (
        'admission webhook "validatejob.volcano.sh" denied the request: '
        'unable to find job queue: queue.scheduling.volcano.sh "ghost" not found;'
    )


def test_job_for_an_open_queue_is_stored() -> None:
    store = store_with()
    queue(store, "q")

    made = store.create(JOBS, "default", job("q")).decode()

    assert made["spec"]["tasks"][0]["name"] == "default0"  # type: ignore[index, call-overload]


def test_group_follows_its_namespace() -> None:
    """api-controllers.md 10.3."""
    store = store_with()
    queue(store, "research")
    marks: JsonObject = {"scheduling.volcano.sh/queue-name": "research"}
    store.create(NAMESPACES, "", {"metadata": {"name": "team", "annotations": marks}})

    made = store.create(PODGROUPS, "team", {"metadata": {"name": "g"}, "spec": {"minMember": 1}}).decode()

    assert made["spec"]["queue"] == "research"  # type: ignore[index, call-overload]


def test_status_of_a_closing_queue_is_written_but_its_spec_is_not() -> None:
    """api-controllers.md 10.40."""
    store = store_with()
    queue(store, "q", "Closing")
    made = store.read(QUEUES, "", "q").decode()

    store.update(QUEUES, "", "q", {**made, "status": {"state": "Closed"}}, Write(subresource="status"))
    closing = {**store.read(QUEUES, "", "q").decode(), "status": {"state": "Closing"}}
    store.update(QUEUES, "", "q", closing, Write(subresource="status"))
    present = store.read(QUEUES, "", "q").decode()
    with pytest.raises(ApiError, match="queue state must be in"):
        store.update(QUEUES, "", "q", {**present, "spec": {"weight": 4}})


def test_parent_is_not_deleted_before_its_children() -> None:
    store = store_with()
    queue(store, "p")
    store.create(QUEUES, "", {"metadata": {"name": "c"}, "spec": {"parent": "p"}})

    with pytest.raises(ApiError, match="can not be deleted because it has 1 child queues: c"):
        store.delete(QUEUES, "", "p")
    store.delete(QUEUES, "", "c")
    store.delete(QUEUES, "", "p")


def pod(**annotations: str) -> JsonObject:
    marks: JsonObject = {f"volcano.sh/{key.replace('_', '-')}": value for key, value in annotations.items()}
    spec: JsonObject = {"schedulerName": "volcano", "containers": [{"name": "c", "image": "i"}]}
    return {"metadata": {"name": "p", "annotations": marks}, "spec": spec}


@pytest.mark.parametrize(
    ("resource", "obj", "told"),
    [
        (
            HYPERNODES,
            {
                "spec": {
                    "tier": 1,
                    "members": [{"type": "Node", "selector": {"regexMatch": {"pattern": "["}}}],
                }
            },
            '"validatehypernodes.volcano.sh" denied the request: [].spec.members.selector.regexMatch.pattern: ',
        ),
        (
            JOBFLOWS,
            {"spec": {"flows": [{"name": "a", "dependsOn": {"targets": ["a"]}}]}},
            '"validatejob.volcano.sh" denied the request: jobflow Flow is not DAG',
        ),
        (
            CRONJOBS,
            {"spec": {"schedule": "x", "jobTemplate": {"spec": {"tasks": [{"template": TEMPLATE}]}}}},
            '"validatecronjob.volcano.sh" denied the request: schedule is not a valid cron expression',
        ),
        (
            PODS,
            pod(jdb_min_available="0"),
            '"validatepod.volcano.sh" denied the request: invalid value <"0"> for volcano.sh/jdb-min-available, ',
        ),
    ],
    ids=["hypernodes", "jobflows", "cronjobs", "pods"],
)
def test_refusal_of_every_kind_is_in_the_webhooks_name(
    resource: Resource, obj: JsonObject, told: str
) -> None:
    metadata = obj.get("metadata") or {"name": "n"}

    with pytest.raises(ApiError) as refused:
        store_with().create(resource, "default" if resource.namespaced else "", {**obj, "metadata": metadata})

    assert told in refused.value.message


def test_pods_are_given_what_their_resource_group_says() -> None:
    group = ResourceGroup("g", annotations=(("volcano.sh/team", "red"),), labels=(("pool", "g"),))
    store = store_with(rules=Rules(resource_groups=(group,)))

    made = store.create(PODS, "default", pod(team="red")).decode()

    assert made["spec"]["nodeSelector"] == {"pool": "g"}  # type: ignore[index, call-overload]
