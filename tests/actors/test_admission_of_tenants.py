"""The webhooks of tenants: served and registered when so chosen, told who asks, and asked only about what is marked."""

from __future__ import annotations

from typing import Any

import pytest

from tests.actors.admission_host import Host, admission_host
from vcray.actors.admission import AdmissionOptions
from vcray.actors.admission_registration import VALIDATING
from vcray.actors.admission_view import watched_for
from vcray.api import names
from vcray.api.meta import JsonObject
from vcray.api.resources import JOBS, NAMESPACES, PODGROUPS, PODS, QUEUES
from vcray.cluster.admission.expressions import Scope
from vcray.cluster.objects.review import Review, Stage
from vcray.config.settings import Settings
from vcray.controllers.raw import owner_reference
from vcray.webhooks.services import SERVICES, TENANT_SERVICES

ALICE = {"username": "alice", "groups": ["system:authenticated", 7]}
OPTIONS = AdmissionOptions(services=(*SERVICES, *TENANT_SERVICES))


def test_they_are_off_unless_chosen() -> None:
    assert watched_for(AdmissionOptions.of(Settings()).services) == (QUEUES, NAMESPACES)
    assert not set(TENANT_SERVICES) & set(AdmissionOptions.of(Settings()).services)

    chosen = AdmissionOptions.of(
        Settings(tenants=True, tenant_operators=("a", "b"), release_namespace="batch")
    )

    assert set(TENANT_SERVICES) <= set(chosen.services)
    assert watched_for(chosen.services) == (QUEUES, NAMESPACES, PODGROUPS)
    assert (chosen.rules.operators, chosen.rules.release_namespace) == (("a", "b"), "batch")


async def test_queue_is_refused_by_who_asks() -> None:
    closed: JsonObject = {
        "metadata": {"name": "q", "annotations": {names.ALLOWED_USERS: "bob"}},
        "spec": {"weight": 1},
    }
    new: JsonObject = {"metadata": {"name": "j"}, "spec": {"queue": "q"}}
    async with admission_host(OPTIONS) as host:
        await host.client.create(QUEUES, None, closed)
        alice = await host.review("/tenants/jobs", "CREATE", new, userInfo=ALICE)
        bob = await host.review("/tenants/jobs", "CREATE", new, userInfo={"username": "bob"})

    assert "queue q does not serve namespace default or user alice" in alice["status"]["message"]  # type: ignore[index, call-overload]
    assert bob["allowed"] is True


async def test_gang_that_was_not_seen_yet_is_read() -> None:
    train: JsonObject = {"metadata": {"name": "train", "namespace": "default"}, "spec": {}}
    new: JsonObject = {"metadata": {"name": "p", "annotations": {names.GROUP_NAME: "g"}}}
    async with admission_host(OPTIONS) as host:
        job = await host.client.create(JOBS, "default", train)
        owner = owner_reference(JOBS.api_version, JOBS.kind, job)
        group: JsonObject = {
            "metadata": {"name": "g", "namespace": "default", "ownerReferences": [owner]},
            "spec": {},
        }
        await host.client.create(PODGROUPS, "default", group)
        response = await host.review("/tenants/pods", "CREATE", new, userInfo=ALICE)

    assert "belongs to Job train" in response["status"]["message"]  # type: ignore[index, call-overload]


async def test_queue_is_closed_by_operators_alone() -> None:
    target: JsonObject = {"apiVersion": QUEUES.api_version, "kind": "Queue", "name": "q", "uid": "u"}
    new: JsonObject = {"metadata": {"generateName": "q-"}, "action": "CloseQueue", "target": target}
    operators = {"username": "system:serviceaccount:volcano-system:ops"}
    async with admission_host(OPTIONS) as host:
        await host.synced()
        registration = await registered(host, "/tenants/commands")
        alice = await host.review("/tenants/commands", "CREATE", new, userInfo=ALICE)
        ours = await host.review("/tenants/commands", "CREATE", new, userInfo=operators)

    assert "command default/q- must not target queue q: user alice" in str(alice["status"]["message"])  # type: ignore[index, call-overload]
    assert ours["allowed"] is True
    assert (registration["failurePolicy"], registration["name"]) == ("Fail", "tenants.commands.vcray.io")


async def test_queue_of_the_namespace_is_read_where_a_job_names_none() -> None:
    closed: JsonObject = {"metadata": {"name": "q", "annotations": {names.ALLOWED_USERS: "bob"}}, "spec": {}}
    tied: JsonObject = {"metadata": {"name": "team", "annotations": {names.POD_QUEUE_NAME: "q"}}}
    new: JsonObject = {"metadata": {"name": "j"}, "spec": {"queue": "default"}}
    async with admission_host(OPTIONS) as host:
        await host.client.create(QUEUES, None, closed)
        await host.client.create(NAMESPACES, None, tied)
        alice = await host.review("/tenants/jobs", "CREATE", new, userInfo=ALICE, namespace="team")

    assert "queue q does not serve namespace team or user alice" in str(alice["status"]["message"])  # type: ignore[index, call-overload]


async def test_they_are_registered_so_that_an_outage_stops_nobodys_pods() -> None:
    async with admission_host(OPTIONS) as host:
        await host.synced()
        pods, groups = await registered(host, "/tenants/pods"), await registered(host, "/tenants/podgroups")

    assert (pods["failurePolicy"], pods["timeoutSeconds"], pods["rules"][0]["operations"]) == (
        "Ignore",
        2,
        ["CREATE", "UPDATE"],
    )
    assert (groups["failurePolicy"], groups["name"]) == ("Fail", "tenants.podgroups.vcray.io")
    assert groups["namespaceSelector"]["matchExpressions"][0]["values"] == ["volcano-system", "kube-system"]
    assert [each["name"] for each in pods["matchConditions"]] == ["marked"]


async def registered(host: Host, path: str) -> Any:
    found = await host.configuration(path, VALIDATING)
    assert found is not None
    return found["webhooks"][0]  # type: ignore[index, call-overload]


@pytest.mark.parametrize(
    ("metadata", "old", "asked"),
    [
        ({}, None, False),
        ({"labels": {"app": "web"}, "annotations": {"a": "b"}}, {}, False),
        ({"annotations": {names.GROUP_NAME: "g"}}, None, True),
        ({"annotations": {names.POD_QUEUE_NAME: "q"}}, None, True),
        ({"labels": {names.PREEMPTABLE: "true"}}, {}, True),
        ({}, {"annotations": {names.PREEMPTABLE: "true"}}, True),
        ({"ownerReferences": [{"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job"}]}, None, True),
        ({"ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet"}]}, None, False),
    ],
)
def test_only_marked_pods_are_asked_about(metadata: JsonObject, old: JsonObject | None, asked: bool) -> None:
    (service,) = (each for each in TENANT_SERVICES if each.resource == PODS)
    before = None if old is None else {"metadata": {"name": "p", **old}}
    operation = "CREATE" if old is None else "UPDATE"
    review = Review(
        Stage.VALIDATE, operation, PODS, "ns", "p", {"metadata": {"name": "p", **metadata}}, before, {}
    )  # type: ignore[arg-type]

    assert Scope(review, review).value(service.only) is asked
