"""Pods: defaults, priority, binding, eviction, graceful deletion: the same on both servers."""

from __future__ import annotations

import asyncio

import pytest

from tests.conformance.client.conftest import Backend
from vcray.api import wire
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import PODDISRUPTIONBUDGETS, PODS, PRIORITYCLASSES
from vcray.kube.errors import Conflict, Forbidden, Invalid, NotFound, TooManyRequests


def pod(name: str = "p", container: JsonObject | None = None, **spec: JsonValue) -> JsonObject:
    containers: list[JsonValue] = [{"name": "c", "image": "i", **(container or {})}]
    return {"metadata": {"name": name, "labels": {"app": name}}, "spec": {"containers": containers, **spec}}


async def make(backend: Backend, body: JsonObject) -> JsonObject:
    return await backend.client.create(PODS, backend.namespace, body)


async def read(backend: Backend, name: str = "p") -> wire.Pod:
    return wire.decode_pod(await backend.client.get_raw(PODS, backend.namespace, name))


async def run(backend: Backend, name: str = "p") -> None:
    """What a kubelet would write."""
    ready: JsonObject = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    await backend.client.patch(PODS, backend.namespace, name, {"status": ready}, subresource="status")


def part(obj: JsonObject, *path: str) -> JsonValue:
    found: JsonValue = obj
    for key in path:
        assert isinstance(found, dict)
        found = found.get(key)
    return found


async def test_a_new_pod_has_the_defaults_that_others_rely_on(backend: Backend) -> None:
    made = await make(backend, pod(container={"image": "busybox:1.36", "ports": [{"containerPort": 1}]}))

    spec = made["spec"]
    assert isinstance(spec, dict)
    shown = {
        key: spec[key]
        for key in (
            "restartPolicy",
            "terminationGracePeriodSeconds",
            "dnsPolicy",
            "schedulerName",
            "enableServiceLinks",
            "priority",
            "preemptionPolicy",
            "securityContext",
        )
    }
    assert shown == {
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "schedulerName": "default-scheduler",
        "enableServiceLinks": True,
        "priority": 0,
        "preemptionPolicy": "PreemptLowerPriority",
        "securityContext": {},
    }
    tolerations = spec["tolerations"]
    assert isinstance(tolerations, list)
    assert len(tolerations) == 2
    assert spec["containers"] == [
        {
            "name": "c",
            "image": "busybox:1.36",
            "ports": [{"containerPort": 1, "protocol": "TCP"}],
            "resources": {},
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File",
            "imagePullPolicy": "IfNotPresent",
        }
    ]
    assert made["status"] == {"phase": "Pending", "qosClass": "BestEffort"}
    assert part(made, "metadata", "generation") == 1


async def test_limits_stand_for_missing_requests(backend: Backend) -> None:
    limits: JsonObject = {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "2"}
    made = await make(backend, pod(container={"resources": {"limits": limits}}))

    containers = part(made, "spec", "containers")
    assert isinstance(containers, list)
    assert containers[0]["resources"]["requests"] == limits  # type: ignore[index,call-overload]
    assert part(made, "status", "qosClass") == "Guaranteed"


async def test_a_status_sent_at_create_is_dropped(backend: Backend) -> None:
    made = await make(backend, {**pod(), "status": {"phase": "Running"}})

    assert part(made, "status", "phase") == "Pending"


async def test_a_pod_without_containers_is_invalid(backend: Backend) -> None:
    with pytest.raises(Invalid, match=r'Pod "p" is invalid: spec\.containers: Required value'):
        await make(backend, {"metadata": {"name": "p"}, "spec": {"containers": []}})


async def test_a_pod_takes_its_priority_from_its_class(backend: Backend) -> None:
    name = backend.name("high")
    body: JsonObject = {"metadata": {"name": name}, "value": 1000, "preemptionPolicy": "Never"}
    await backend.client.create(PRIORITYCLASSES, None, body)

    made = await make(backend, pod(priorityClassName=name))

    assert part(made, "spec", "priority") == 1000
    assert part(made, "spec", "preemptionPolicy") == "Never"


async def test_the_systems_priority_classes_exist(backend: Backend) -> None:
    classes = await backend.client.list(PRIORITYCLASSES)

    values = {str(part(item, "metadata", "name")): item["value"] for item in classes.items}
    assert values["system-cluster-critical"] == 2000000000
    assert values["system-node-critical"] == 2000001000


async def test_the_default_class_is_given_to_pods_that_name_none(backend: Backend) -> None:
    name = backend.name("usual")
    body: JsonObject = {"metadata": {"name": name}, "value": 7, "globalDefault": True}
    await backend.client.create(PRIORITYCLASSES, None, body)
    try:
        made = await make(backend, pod())

        assert (part(made, "spec", "priority"), part(made, "spec", "priorityClassName")) == (7, name)
    finally:
        await backend.client.delete(PRIORITYCLASSES, None, name)


async def test_an_unknown_priority_class_is_forbidden(backend: Backend) -> None:
    with pytest.raises(Forbidden) as refused:
        await make(backend, pod(priorityClassName="none-such"))

    assert refused.value.message == 'pods "p" is forbidden: no PriorityClass with name none-such was found'


async def test_a_priority_that_differs_from_the_class_is_forbidden(backend: Backend) -> None:
    with pytest.raises(Forbidden) as refused:
        await make(backend, pod(priority=5))

    assert refused.value.message == (
        'pods "p" is forbidden: the integer value of priority (5) must not be provided in pod spec; '
        "priority admission controller computed 0 from the given PriorityClass name"
    )


async def test_a_gated_pod_says_so_in_its_first_status(backend: Backend) -> None:
    made = await make(backend, pod(schedulingGates=[{"name": "example.com/wait"}]))

    conditions = part(made, "status", "conditions")
    assert isinstance(conditions, list)
    assert [(c["type"], c["status"], c["reason"]) for c in conditions] == [  # type: ignore[index,call-overload]
        ("PodScheduled", "False", "SchedulingGated")
    ]
    with pytest.raises(Conflict, match=r"has non-empty \.spec\.schedulingGates"):
        await backend.client.bind(backend.namespace, "p", "n")


async def test_a_bound_pod_has_its_node_the_annotations_and_a_condition(backend: Backend) -> None:
    made = await make(backend, pod())
    uid = str(part(made, "metadata", "uid"))

    await backend.client.bind(backend.namespace, "p", "node-1", uid, {"example.com/why": "fits"})

    bound = await read(backend)
    assert bound.spec.node_name == "node-1"
    assert bound.metadata.annotations == {"example.com/why": "fits"}
    assert [(c.type, c.status) for c in bound.status.conditions] == [("PodScheduled", "True")]


async def test_a_second_binding_conflicts_and_changes_nothing(backend: Backend) -> None:
    await make(backend, pod())
    await backend.client.bind(backend.namespace, "p", "node-1")

    for node in ("node-1", "node-2"):
        with pytest.raises(Conflict) as refused:
            await backend.client.bind(backend.namespace, "p", node)
        assert refused.value.message == (
            'Operation cannot be fulfilled on pods/binding "p": pod p is already assigned to node "node-1"'
        )

    assert (await read(backend)).spec.node_name == "node-1"


async def test_a_binding_for_another_uid_conflicts(backend: Backend) -> None:
    await make(backend, pod())

    with pytest.raises(Conflict, match="UID in precondition"):
        await backend.client.bind(backend.namespace, "p", "n", "11111111-2222-3333-4444-555555555555")

    assert (await read(backend)).spec.node_name == ""


async def test_a_binding_of_a_missing_pod_is_not_found(backend: Backend) -> None:
    with pytest.raises(NotFound, match='pods "none" not found'):
        await backend.client.bind(backend.namespace, "none", "n")


async def test_a_pod_that_is_being_deleted_is_not_bound(backend: Backend) -> None:
    body = pod()
    body["metadata"] = {"name": "p", "finalizers": ["example.com/hold"]}
    await make(backend, body)
    await backend.client.delete(PODS, backend.namespace, "p")

    with pytest.raises(Conflict, match="pod p is being deleted, cannot be assigned to a host"):
        await backend.client.bind(backend.namespace, "p", "n")

    await backend.client.patch(PODS, backend.namespace, "p", {"metadata": {"finalizers": None}})


async def test_of_many_binders_one_wins(backend: Backend) -> None:
    await make(backend, pod())

    outcomes = await asyncio.gather(
        *(backend.client.bind(backend.namespace, "p", f"node-{n}") for n in range(5)), return_exceptions=True
    )

    assert sum(outcome is None for outcome in outcomes) == 1
    assert sum(isinstance(outcome, Conflict) for outcome in outcomes) == 4


async def test_a_pending_pod_is_deleted_at_once(backend: Backend) -> None:
    await make(backend, pod())

    await backend.client.delete(PODS, backend.namespace, "p")

    with pytest.raises(NotFound):
        await read(backend)


async def test_a_bound_pod_is_marked_and_goes_when_deleted_with_no_grace(backend: Backend) -> None:
    await make(backend, pod(terminationGracePeriodSeconds=9))
    await backend.client.bind(backend.namespace, "p", "node-1")

    await backend.client.delete(PODS, backend.namespace, "p")
    marked = (await read(backend)).metadata
    assert marked.deletion_timestamp is not None
    assert marked.deletion_grace_period_seconds == 9

    await backend.client.delete(PODS, backend.namespace, "p", grace_seconds=3)
    assert (await read(backend)).metadata.deletion_grace_period_seconds == 3
    await backend.client.delete(PODS, backend.namespace, "p", grace_seconds=60)
    assert (await read(backend)).metadata.deletion_grace_period_seconds == 3

    await backend.client.delete(PODS, backend.namespace, "p", grace_seconds=0)
    with pytest.raises(NotFound):
        await read(backend)


async def test_a_finished_pod_is_deleted_at_once(backend: Backend) -> None:
    await make(backend, pod())
    await backend.client.bind(backend.namespace, "p", "node-1")
    await backend.client.patch(
        PODS, backend.namespace, "p", {"status": {"phase": "Succeeded"}}, subresource="status"
    )

    await backend.client.delete(PODS, backend.namespace, "p")

    with pytest.raises(NotFound):
        await read(backend)


async def test_an_evicted_pod_is_marked_with_the_cause(backend: Backend) -> None:
    made = await make(backend, pod())
    await backend.client.bind(backend.namespace, "p", "node-1")
    await run(backend)

    await backend.client.evict(
        backend.namespace, "p", grace_seconds=5, uid=str(part(made, "metadata", "uid"))
    )

    evicted = await read(backend)
    assert evicted.metadata.deletion_grace_period_seconds == 5
    assert ("DisruptionTarget", "True") in [(c.type, c.status) for c in evicted.status.conditions]
    await backend.client.delete(PODS, backend.namespace, "p", grace_seconds=0)


async def test_an_eviction_of_another_uid_conflicts(backend: Backend) -> None:
    await make(backend, pod())

    with pytest.raises(Conflict):
        await backend.client.evict(backend.namespace, "p", uid="11111111-2222-3333-4444-555555555555")

    assert (await read(backend)).metadata.deletion_timestamp is None


async def budget(backend: Backend, allowed: int) -> None:
    """A budget over the pods labelled app=p, with the figures that its controller would write."""
    body: JsonObject = {
        "metadata": {"name": "b"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "p"}}},
    }
    made = await backend.client.create(PODDISRUPTIONBUDGETS, backend.namespace, body)
    status: JsonObject = {
        "observedGeneration": 1,
        "disruptionsAllowed": allowed,
        "currentHealthy": 1 + allowed,
        "desiredHealthy": 1,
        "expectedPods": 1 + allowed,
    }
    await backend.client.update_status(PODDISRUPTIONBUDGETS, {**made, "status": status})


async def running(backend: Backend, name: str) -> None:
    body = pod(name)
    body["metadata"] = {"name": name, "labels": {"app": "p"}}
    await make(backend, body)
    await backend.client.bind(backend.namespace, name, "node-1")
    await run(backend, name)


async def test_a_disruption_budget_without_room_refuses_the_eviction(backend: Backend) -> None:
    await running(backend, "p")
    await budget(backend, allowed=0)

    with pytest.raises(
        TooManyRequests, match="Cannot evict pod as it would violate the pod's disruption budget"
    ):
        await backend.client.evict(backend.namespace, "p")

    assert (await read(backend)).metadata.deletion_timestamp is None


async def test_a_disruption_budget_is_used_up_by_evictions(backend: Backend) -> None:
    await running(backend, "p1")
    await running(backend, "p2")
    await budget(backend, allowed=1)

    await backend.client.evict(backend.namespace, "p1")
    with pytest.raises(TooManyRequests):
        await backend.client.evict(backend.namespace, "p2")

    left = await backend.client.get(PODDISRUPTIONBUDGETS, backend.namespace, "b")
    assert part(left, "status", "disruptionsAllowed") == 0
    assert set(part(left, "status", "disruptedPods")) == {"p1"}  # type: ignore[arg-type]


async def test_a_status_patch_leaves_the_spec_alone(backend: Backend) -> None:
    await make(backend, pod())

    patch: JsonObject = {
        "spec": {"schedulerName": "other"},
        "status": {"phase": "Running", "podIP": "10.0.0.1"},
    }
    await backend.client.patch(PODS, backend.namespace, "p", patch, subresource="status")

    after = await read(backend)
    assert after.status.phase == "Running"
    assert after.spec.scheduler_name == "default-scheduler"


async def test_the_spec_of_a_pod_does_not_change_but_for_a_few_fields(backend: Backend) -> None:
    await make(backend, pod())

    with pytest.raises(Invalid, match="pod updates may not change fields other than"):
        await backend.client.patch(PODS, backend.namespace, "p", {"spec": {"nodeName": "n"}})
    with pytest.raises(Invalid, match="pod updates may not change fields other than"):
        await backend.client.patch(PODS, backend.namespace, "p", {"spec": {"schedulerName": "other"}})
    changed = await backend.client.patch(PODS, backend.namespace, "p", {"spec": {"activeDeadlineSeconds": 5}})

    assert part(changed, "spec", "activeDeadlineSeconds") == 5
