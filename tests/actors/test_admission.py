"""The admission actor: what it answers over HTTPS, what it reads before it refuses, and how it registers."""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tests.actors.admission_host import Host, admission_host, patch_of, question
from vcray.actors.admission import AdmissionActor, AdmissionOptions
from vcray.actors.admission_certificates import Files
from vcray.actors.admission_registration import MUTATING, VALIDATING, Address
from vcray.actors.local_runtime import LocalRuntime
from vcray.actors.readiness import registered_within
from vcray.actors.timekeeping import VirtualTime, WallTime
from vcray.api import names
from vcray.api.meta import JsonObject
from vcray.api.resources import NAMESPACES, QUEUES
from vcray.config.settings import Settings
from vcray.errors import ConfigError
from vcray.kube.certificates import new_authority, serving_certificate
from vcray.kube.client import KubeClient
from vcray.webhooks.services import PATHS, SERVICES

JOB: JsonObject = {
    "metadata": {"name": "j", "namespace": "default"},
    "spec": {
        "queue": "default",
        "minAvailable": 1,
        "tasks": [
            {"name": "t", "replicas": 1, "template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}}
        ],
    },
}


async def make_queue(host: Host, name: str, state: str = "Open") -> JsonObject:
    """Create a queue in the cluster only; the actor is told nothing."""
    await host.client.create(QUEUES, None, {"metadata": {"name": name}, "spec": {"weight": 1}})
    status: JsonObject = {"status": {"state": state} if state else {}}
    return await host.client.patch(QUEUES, None, name, status, subresource="status")


# -- answers --------------------------------------------------------------------------------------------------------


async def test_new_job_is_given_its_defaults_as_a_json_patch() -> None:
    async with admission_host() as host:
        response = await host.review("/jobs/mutate", "CREATE", JOB)

    assert (response["uid"], response["allowed"], response["patchType"]) == ("u-1", True, "JSONPatch")
    assert {"op": "add", "path": "/spec/schedulerName", "value": "volcano"} in patch_of(response)


async def test_patch_with_nothing_in_it_is_null_and_still_typed() -> None:
    complete: JsonObject = {"metadata": {"name": "q"}, "spec": {"weight": 1, "reclaimable": True}}
    async with admission_host() as host:
        response = await host.review("/queues/mutate", "CREATE", complete)

    assert (patch_of(response), response["patchType"]) == (None, "JSONPatch")


async def test_group_that_is_not_moved_gets_no_patch_at_all() -> None:
    async with admission_host() as host:
        response = await host.review("/podgroups/mutate", "CREATE", {"spec": {"queue": "mine"}})

    assert response == {"uid": "u-1", "allowed": True}


async def test_refusal_carries_the_rules_text() -> None:
    async with admission_host() as host:
        response = await host.review("/jobs/validate", "CREATE", JOB)

    assert response["allowed"] is False
    assert response["status"] == {
        "metadata": {},
        "message": 'unable to find job queue: queue.scheduling.volcano.sh "default" not found;',
    }


async def test_deletion_comes_without_an_object() -> None:
    """api-controllers.md 10.43."""
    async with admission_host() as host:
        response = await host.review("/queues/validate", "DELETE", None, name="root")

    assert response["status"] == {"metadata": {}, "message": "`root` queue can not be deleted"}


async def test_question_about_another_kind_is_refused() -> None:
    async with admission_host() as host:
        other = {"group": "batch", "version": "v1", "resource": "jobs"}
        response = await host.review("/jobs/mutate", "CREATE", JOB, resource=other)

    assert response["status"] == {
        "metadata": {},
        "message": "expect resource to be batch.volcano.sh/v1alpha1, Resource=jobs",
    }


@pytest.mark.parametrize("obj", [None, [], "text", 7])
async def test_question_about_no_object_is_refused(obj: object) -> None:
    async with admission_host() as host:
        response = await host.review("/podgroups/mutate", "CREATE", obj)  # type: ignore[arg-type]

    assert response["status"] == {"metadata": {}, "message": "the request has no object that can be read"}


@pytest.mark.parametrize(
    "body", [b"{", b"[]", b"{}", b'{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1"}']
)
async def test_body_that_is_no_review_is_refused_in_a_review(body: bytes) -> None:
    async with admission_host() as host:
        status, answer = await host.post("/jobs/mutate", body)

    response = json.loads(answer)["response"]
    assert (status, response["uid"], response["allowed"]) == (200, "", False)
    assert response["status"]["message"]


async def test_other_content_types_get_an_empty_answer() -> None:
    async with admission_host() as host:
        assert await host.post("/jobs/mutate", b"{}", "text/plain") == (200, b"")


async def test_body_beyond_three_mebibytes_is_too_large() -> None:
    async with admission_host() as host:
        fits = await host.post("/jobs/mutate", b" " * (3 * 1024 * 1024))
        beyond = await host.post("/jobs/mutate", b" " * (3 * 1024 * 1024 + 1))

    assert fits[0] == 200
    assert beyond == (413, b"request body too large\n")


async def test_service_that_is_not_enabled_is_not_found() -> None:
    enabled = tuple(service for service in SERVICES if service.path == "/jobs/mutate")
    async with admission_host(AdmissionOptions(services=enabled)) as host:
        status, _ = await host.post("/jobs/validate", question("/jobs/validate", "CREATE", JOB))

    assert status == 404


async def test_answers_are_counted_and_timed() -> None:
    async with admission_host() as host:
        await host.review("/jobs/validate", "CREATE", JOB)
        text = host.metrics.expose().decode()

    assert 'vcray_admission_reviews_total{result="denied",webhook="validatejob.volcano.sh"} 1.0' in text
    assert 'vcray_admission_duration_milliseconds_count{webhook="validatejob.volcano.sh"} 1.0' in text


# -- what it knows -----------------------------------------------------------------------------------------------------


async def test_queue_whose_event_has_not_come_is_read() -> None:
    async with admission_host() as host:
        await make_queue(host, "default")

        response = await host.review("/jobs/validate", "CREATE", JOB)

    assert response["allowed"] is True


async def test_queue_that_was_just_opened_is_read_before_a_refusal() -> None:
    async with admission_host() as host:
        opened = await make_queue(host, "default")
        metadata: JsonObject = {**opened["metadata"], "resourceVersion": "1"}  # type: ignore[dict-item]
        await host.see(QUEUES, "ADDED", {**opened, "metadata": metadata, "status": {"state": ""}})

        response = await host.review("/jobs/validate", "CREATE", JOB)

    assert response["allowed"] is True


async def test_queue_and_its_job_may_come_in_one_file() -> None:
    """api-controllers.md 10.39, decided otherwise: docs/differences.md."""
    async with admission_host() as host:
        await make_queue(host, "default", "")

        async def open_it() -> None:
            await asyncio.sleep(0.1)
            status: JsonObject = {"status": {"state": "Open"}}
            await host.client.patch(QUEUES, None, "default", status, subresource="status")

        response, _ = await asyncio.gather(host.review("/jobs/validate", "CREATE", JOB), open_it())

    assert response["allowed"] is True


async def test_queue_that_nobody_opens_is_waited_for_a_second_at_most() -> None:
    time = VirtualTime()
    async with admission_host(time=time) as host:
        await make_queue(host, "default", "")
        asked = asyncio.create_task(host.review("/jobs/validate", "CREATE", JOB))
        while not asked.done():
            await asyncio.sleep(0.01)
            await time.advance(0.05, _settle)
        waited = time.now() - 1_700_000_000.0

    assert "queue `default` status is ``" in asked.result()["status"]["message"]  # type: ignore[index, call-overload, operator]
    assert 1.0 <= waited < 2.0


async def test_queue_created_and_deleted_at_once_is_found_for_its_deletion() -> None:
    async with admission_host() as host:
        await make_queue(host, "brief")

        unseen = await host.review("/queues/validate", "DELETE", None, name="brief")
        never = await host.review("/queues/validate", "DELETE", None, name="never")

    assert unseen["allowed"] is True
    assert never["status"] == {"metadata": {}, "message": 'queue.scheduling.volcano.sh "never" not found'}


async def test_known_queue_costs_no_read() -> None:
    async with admission_host() as host:
        await host.see(QUEUES, "ADDED", await make_queue(host, "default"))
        before = host.transport.requests

        response = await host.review("/jobs/validate", "CREATE", JOB)

        assert response["allowed"] is True
        assert host.transport.requests == before


async def test_long_chain_of_unseen_parents_is_read_to_its_end() -> None:
    async with admission_host() as host:
        for level in range(1, 5):
            parent = f"l{level - 1}" if level > 1 else "root"
            spec: JsonObject = {"weight": 1, "parent": parent}
            await host.client.create(QUEUES, None, {"metadata": {"name": f"l{level}"}, "spec": spec})
        new: JsonObject = {"metadata": {"name": "q"}, "spec": {"parent": "l4"}}

        response = await host.review("/queues/validate", "CREATE", new)

    assert response["allowed"] is True


async def test_children_follow_their_parents() -> None:
    def child(parent: str, version: str) -> JsonObject:
        metadata: JsonObject = {"name": "c", "uid": "c", "resourceVersion": version}
        return {"metadata": metadata, "spec": {"parent": parent}}

    async with admission_host() as host:
        for name in ("a", "b"):
            await host.see(QUEUES, "ADDED", await make_queue(host, name))
        await host.see(QUEUES, "ADDED", child("a", "50"))
        first = await host.review("/queues/validate", "DELETE", None, name="a")
        await host.see(QUEUES, "MODIFIED", child("b", "51"))
        second = await host.review("/queues/validate", "DELETE", None, name="a")
        third = await host.review("/queues/validate", "DELETE", None, name="b")
        await host.see(QUEUES, "DELETED", child("b", "52"))
        fourth = await host.review("/queues/validate", "DELETE", None, name="b")

    assert [each["allowed"] for each in (first, second, third, fourth)] == [False, True, False, True]


async def test_annotation_of_an_unseen_namespace_is_read() -> None:
    async with admission_host() as host:
        marks: JsonObject = {names.POD_QUEUE_NAME: "research"}
        await host.client.create(NAMESPACES, None, {"metadata": {"name": "team", "annotations": marks}})
        group: JsonObject = {"metadata": {"namespace": "team"}, "spec": {"queue": "default"}}

        response = await host.review("/podgroups/mutate", "CREATE", group, namespace="team")

    assert patch_of(response) == [{"op": "add", "path": "/spec/queue", "value": "research"}]


async def test_server_that_cannot_be_read_leaves_what_was_seen() -> None:
    async with admission_host() as host:
        host.transport.available = False

        response = await host.review("/jobs/validate", "CREATE", JOB)

        host.transport.available = True
    assert response["allowed"] is False


# -- registration -------------------------------------------------------------------------------------------------------


async def test_nothing_is_registered_before_all_queues_are_known() -> None:
    async with admission_host() as host:
        await asyncio.sleep(0.05)

        assert await host.configuration("/jobs/mutate") is None
        await host.synced()
        assert await host.configuration("/jobs/mutate") is not None


async def test_whoever_says_that_all_is_ready_can_wait_for_the_registration() -> None:
    async with admission_host() as host:
        runtime = LocalRuntime(WallTime())
        options = AdmissionOptions(port=0)
        handle = await runtime.spawn(
            "admission", lambda: AdmissionActor(host.client, options, WallTime(), host.metrics)
        )
        early = await registered_within(handle, WallTime(), 0.0)

        for resource in (QUEUES, NAMESPACES):
            await handle.send(_synced(resource))
        late = await registered_within(handle, WallTime(), 10.0)
        await runtime.stop()

    assert (early, late) == (False, True)


async def test_configuration_is_that_of_volcanos_chart() -> None:
    async with admission_host() as host:
        await host.synced()
        mutating = await host.configuration("/jobs/mutate")
        validating = await host.configuration("/queues/validate", VALIDATING)

    assert mutating is not None
    assert validating is not None
    (entry,) = mutating["webhooks"]  # type: ignore[misc]
    config = entry.pop("clientConfig")  # type: ignore[union-attr, call-overload]
    assert config["url"] == f"https://127.0.0.1:{host.actor.port}/jobs/mutate"  # type: ignore[index, call-overload]
    assert entry == {
        "name": "mutatejob.volcano.sh",
        "admissionReviewVersions": ["v1"],
        "failurePolicy": "Fail",
        "matchPolicy": "Equivalent",
        "namespaceSelector": {
            "matchExpressions": [
                {
                    "key": "kubernetes.io/metadata.name",
                    "operator": "NotIn",
                    "values": ["volcano-system", "kube-system"],
                }
            ]
        },
        "objectSelector": {},
        "reinvocationPolicy": "Never",
        "rules": [
            {
                "apiGroups": ["batch.volcano.sh"],
                "apiVersions": ["v1alpha1"],
                "operations": ["CREATE"],
                "resources": ["jobs"],
                "scope": "*",
            }
        ],
        "sideEffects": "NoneOnDryRun",
        "timeoutSeconds": 10,
    }
    (entry,) = validating["webhooks"]  # type: ignore[misc]
    assert entry["rules"][0]["operations"] == ["CREATE", "UPDATE", "DELETE"]  # type: ignore[index, call-overload]
    assert "reinvocationPolicy" not in entry  # type: ignore[operator]


async def test_service_takes_the_place_of_a_url() -> None:
    options = AdmissionOptions(address=Address(service=("ns", "svc")))
    async with admission_host(options) as host:
        await host.synced()
        found = await host.configuration("/jobs/mutate")

    assert found is not None
    config = found["webhooks"][0]["clientConfig"]  # type: ignore[index, call-overload]
    assert config["service"] == {"namespace": "ns", "name": "svc", "path": "/jobs/mutate", "port": 443}  # type: ignore[index, call-overload]


async def test_registration_goes_when_the_actor_stops() -> None:
    async with admission_host() as host:
        await host.synced()
        await host.actor.stop()

        left = [await host.configuration(service.path, _kind(service.mutates)) for service in SERVICES]

    assert left == [None] * len(SERVICES)


async def test_registration_stays_when_so_chosen() -> None:
    async with admission_host(AdmissionOptions(unregister=False)) as host:
        await host.synced()
        await host.actor.stop()

        assert await host.configuration("/jobs/mutate") is not None


async def test_former_registration_is_corrected_not_made_anew() -> None:
    async with admission_host() as host:
        old: JsonObject = {"metadata": {"name": "volcano-admission-service-jobs-mutate"}, "webhooks": []}
        made = await host.client.create(MUTATING, None, old)
        await host.synced()
        found = await host.configuration("/jobs/mutate")

    assert found is not None
    assert found["metadata"]["uid"] == made["metadata"]["uid"]  # type: ignore[index, call-overload]
    assert len(found["webhooks"]) == 1  # type: ignore[arg-type]


async def test_our_registration_of_a_service_no_longer_enabled_goes() -> None:
    async with admission_host() as host:
        await host.synced()
        fewer = replace(AdmissionOptions(), services=SERVICES[:1], port=0)
        successor = AdmissionActor(host.client, fewer, WallTime(), host.metrics)
        await successor.start()
        second = Host(successor, host.client, host.transport, host.metrics)
        await second.synced()

        assert await host.configuration("/jobs/validate", VALIDATING) is None
        assert await host.configuration("/jobs/mutate") is not None
        await successor.stop()


async def test_registration_that_somebody_deletes_comes_back() -> None:
    time = VirtualTime()
    async with admission_host(time=time) as host:
        await host.synced()
        await host.client.delete(MUTATING, None, "volcano-admission-service-jobs-mutate")

        await time.advance(61, _settle)

        assert await host.configuration("/jobs/mutate") is not None


async def test_registration_waits_for_a_server_that_is_away() -> None:
    time = VirtualTime()
    async with admission_host(time=time) as host:
        host.transport.available = False
        await host.actor.receive(_synced(QUEUES))
        await host.actor.receive(_synced(NAMESPACES))
        await time.advance(3, _settle)
        assert not host.actor.registered.is_set()

        host.transport.available = True
        await time.advance(2, _settle)

        assert host.actor.registered.is_set()


async def test_certificate_is_renewed_in_time_and_trusted_before_it_is_shown() -> None:
    time = VirtualTime()
    async with admission_host(AdmissionOptions(lifetime=timedelta(minutes=9)), time) as host:
        await host.synced()
        before = host.actor._credentials.bundle

        await time.advance(5 * 60, _settle)
        assert host.actor._credentials.bundle == before
        await time.advance(2 * 60, _settle)

        bundle = host.actor._credentials.bundle
        assert bundle != before
        assert bundle.endswith(before)
        assert (await host.review("/queues/mutate", "CREATE", {"spec": {}}))["allowed"] is True


async def test_certificate_renewed_while_the_server_was_away_is_shown_once_it_is_registered() -> None:
    time = VirtualTime()
    async with admission_host(AdmissionOptions(lifetime=timedelta(minutes=9)), time) as host:
        await host.synced()
        before = await _served(host)
        host.transport.available = False
        await time.advance(7 * 60, _settle)
        meanwhile = await _served(host)
        host.transport.available = True
        await time.advance(2, _settle)

        assert meanwhile == before
        assert await _served(host) != before


async def _served(host: Host) -> str:
    """The certificate that a new connection is shown."""
    return await asyncio.to_thread(ssl.get_server_certificate, ("127.0.0.1", host.actor.port))


async def test_given_certificate_is_shown_and_registered(tmp_path: Path) -> None:
    authority = new_authority()
    serving_certificate(authority, ("127.0.0.1",)).write(tmp_path, "serving")
    (tmp_path / "ca.crt").write_bytes(authority.certificate)
    files = Files(tmp_path / "serving.crt", tmp_path / "serving.key", tmp_path / "ca.crt")
    async with admission_host(AdmissionOptions(files=files)) as host:
        await host.synced()
        found = await host.configuration("/jobs/mutate")
        answer = await host.review("/queues/mutate", "CREATE", {"spec": {}})

    assert found is not None
    bundle = found["webhooks"][0]["clientConfig"]["caBundle"]  # type: ignore[index, call-overload]
    assert base64.b64decode(bundle) == authority.certificate  # type: ignore[arg-type]
    assert answer["allowed"] is True


async def test_changed_certificate_file_is_read_again(tmp_path: Path) -> None:
    time = VirtualTime()
    files = Files(tmp_path / "serving.crt", tmp_path / "serving.key")
    first, second = new_authority(), new_authority()
    serving_certificate(first, ("127.0.0.1",)).write(tmp_path, "serving")
    async with admission_host(AdmissionOptions(files=files), time) as host:
        await host.synced()
        newer = serving_certificate(second, ("127.0.0.1",))
        newer.write(tmp_path, "serving")
        await time.advance(61, _settle)

        assert host.actor._credentials.bundle == newer.certificate


async def test_certificate_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    options = AdmissionOptions(files=Files(tmp_path / "none.crt", tmp_path / "none.key"))

    with pytest.raises(ConfigError, match=r"cannot read .*none\.crt: No such file"):
        async with admission_host(options):
            pass


# -- settings ----------------------------------------------------------------------------------------------------------


def test_settings_name_the_services_that_exist() -> None:
    served = AdmissionOptions.of(Settings.model_validate({"enabled_admission": PATHS})).services

    assert served == SERVICES
    assert AdmissionOptions.of(Settings.model_validate({"enabled_admission": ()})).services == ()


def test_pods_are_asked_about_only_when_so_chosen() -> None:
    assert set(PATHS) - set(Settings().enabled_admission) == {"/pods/mutate", "/pods/validate"}


def test_spaces_around_paths_do_not_count() -> None:
    settings = Settings.model_validate({"enabled_admission": (" /jobs/mutate", "/pods/mutate ")})

    served = [service.path for service in AdmissionOptions.of(settings).services]

    assert served == ["/jobs/mutate", "/pods/mutate"]


@pytest.mark.parametrize(
    ("values", "told"),
    [
        (
            {"enabled_admission": ("/jobs/mutat",)},
            "no webhook is served at '/jobs/mutat'; did you mean '/jobs/mutate'?",
        ),
        ({"admission_service": "alone"}, "must be namespace/name of a Service, got 'alone'"),
        ({"admission_cert_file": "c"}, "a certificate file and its key file go together"),
    ],
)
def test_setting_that_cannot_be_used_is_named(values: dict[str, object], told: str) -> None:
    with pytest.raises(ConfigError, match="VC0502") as refused:
        AdmissionOptions.of(Settings.model_validate(values))

    assert told in str(refused.value)


async def test_port_that_is_taken_is_told() -> None:
    async with admission_host() as host:
        options = AdmissionOptions(port=host.actor.port)
        second = AdmissionActor(KubeClient(host.transport), options, WallTime(), host.metrics)

        with pytest.raises(ConfigError, match="cannot listen on"):
            await second.start()
        await second.stop()


def _kind(mutates: bool):  # type: ignore[no-untyped-def]
    return MUTATING if mutates else VALIDATING


def _synced(resource):  # type: ignore[no-untyped-def]
    from vcray.actors.messages import Synced

    return Synced(resource.full_name)


async def _settle() -> None:
    for _ in range(300):
        await asyncio.sleep(0)
