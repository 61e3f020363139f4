"""Webhook configurations that somebody else made: adopted, told our certificates, and never taken away."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path

import pytest

from tests.actors.admission_host import Host, admission_host
from vcray.actors.admission import AdmissionOptions
from vcray.actors.admission_certificates import Files
from vcray.actors.admission_registration import MUTATING, Address, Manner, configuration
from vcray.actors.admission_view import watched_for
from vcray.actors.messages import Synced
from vcray.actors.timekeeping import VirtualTime
from vcray.api.jsonview import dig_object
from vcray.api.meta import JsonObject
from vcray.api.resources import NAMESPACES, QUEUES
from vcray.kube.certificates import new_authority, serving_certificate
from vcray.webhooks.services import SERVICES

JOBS_MUTATE = SERVICES[0]
THEIRS = "https://127.0.0.1:1"


def chart(bundle: bytes = b"") -> JsonObject:
    """The configuration as an installation has it: without our label, at another address, with a selector of its own."""
    made = configuration(JOBS_MUTATE, Address(THEIRS), bundle, "volcano-system")
    made["metadata"] = {"name": JOBS_MUTATE.configuration_name, "labels": {"app": "volcano"}}
    made["webhooks"][0]["timeoutSeconds"] = 7  # type: ignore[index, call-overload]
    return made


def options(manner: Manner, files: Files | None = None) -> AdmissionOptions:
    return AdmissionOptions(services=(JOBS_MUTATE,), manner=manner, files=files)


async def entry(host: Host) -> JsonObject:
    found = await host.configuration("/jobs/mutate")
    assert found is not None
    return dig_object(found, "webhooks", 0)


def bundle_of(entry: JsonObject) -> bytes:
    return base64.b64decode(str(dig_object(entry, "clientConfig")["caBundle"]))


@pytest.mark.parametrize("manner", ["adopt", "bundle"])
async def test_others_configuration_is_told_our_certificates_alone(manner: Manner) -> None:
    async with admission_host(options(manner)) as host:
        await host.client.create(MUTATING, None, chart(b"old"))
        await host.synced()
        found = await entry(host)
        await host.actor.stop()

        assert bundle_of(found) == host.actor._credentials.bundle
        assert dig_object(found, "clientConfig")["url"] == THEIRS + "/jobs/mutate"
        assert found["timeoutSeconds"] == 7
        assert await host.configuration("/jobs/mutate") is not None


async def test_a_configuration_that_is_missing_is_made_and_taken_back_when_others_are_adopted() -> None:
    async with admission_host(options("adopt")) as host:
        await host.synced()
        made = await entry(host)
        await host.actor.stop()

        assert dig_object(made, "clientConfig")["url"] == f"https://127.0.0.1:{host.actor.port}/jobs/mutate"
        assert await host.configuration("/jobs/mutate") is None


async def test_our_own_of_an_earlier_run_is_corrected_when_others_are_adopted() -> None:
    async with admission_host(options("adopt")) as host:
        ours = configuration(JOBS_MUTATE, Address(THEIRS), b"", "volcano-system")
        await host.client.create(MUTATING, None, ours)
        await host.synced()

        assert dig_object(await entry(host), "clientConfig")["url"] != THEIRS + "/jobs/mutate"


async def test_a_configuration_that_is_missing_is_waited_for_as_in_volcano() -> None:
    time = VirtualTime()
    async with admission_host(options("bundle"), time) as host:
        for name in host.actor._unsynced.copy():
            host.actor._unsynced.discard(name)
        host.actor._ready.set()
        await time.advance(3.0, _settle)
        early = host.actor.registered.is_set()
        await host.client.create(MUTATING, None, chart())
        await time.advance(1.1, _settle)

        assert not early
        assert host.actor.registered.is_set()
        assert bundle_of(await entry(host)) == host.actor._credentials.bundle


async def test_nothing_is_written_where_all_is_well() -> None:
    time = VirtualTime()
    async with admission_host(options("bundle"), time) as host:
        await host.client.create(MUTATING, None, chart())
        await host.synced()
        before = await host.configuration("/jobs/mutate")
        await time.advance(61.0, _settle)

        assert await host.configuration("/jobs/mutate") == before


async def test_a_given_certificate_without_its_authority_leaves_a_bundle_that_is_there(
    tmp_path: Path,
) -> None:
    pair = serving_certificate(new_authority(), ("127.0.0.1",))
    pair.write(tmp_path, "serving")
    files = Files(tmp_path / "serving.crt", tmp_path / "serving.key")
    for given, told in ((b"theirs", b"theirs"), (b"", pair.certificate)):
        async with admission_host(options("adopt", files)) as host:
            await host.client.create(MUTATING, None, chart(given))
            await host.synced()

            assert bundle_of(await entry(host)) == told


async def test_namespaces_are_looked_at_only_where_a_rule_asks_for_them() -> None:
    paths = {service.path: service for service in SERVICES}

    assert watched_for((paths["/podgroups/mutate"], JOBS_MUTATE)) == (QUEUES, NAMESPACES)
    assert watched_for((paths["/podgroups/validate"], JOBS_MUTATE)) == (QUEUES,)
    async with admission_host(options("own")) as host:
        await host.actor.receive(Synced(QUEUES.full_name))
        await asyncio.wait_for(host.actor.registered.wait(), 5)


async def _settle() -> None:
    for _ in range(100):
        await asyncio.sleep(0)
