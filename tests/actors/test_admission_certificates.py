"""Certificates that somebody else keeps: files that change in two steps, and bundles that cert-manager writes."""

from __future__ import annotations

import asyncio
import base64
import ssl
from pathlib import Path

from tests.actors.admission_host import Host, admission_host
from vcray.actors.admission import AdmissionOptions
from vcray.actors.admission_certificates import Files
from vcray.actors.admission_registration import MUTATING
from vcray.actors.timekeeping import VirtualTime
from vcray.api.meta import JsonObject
from vcray.kube.certificates import new_authority, serving_certificate

PEM = new_authority().certificate


async def _settle() -> None:
    for _ in range(300):
        await asyncio.sleep(0)


async def _served(host: Host) -> str:
    """The certificate that a new connection is shown."""
    return await asyncio.to_thread(ssl.get_server_certificate, ("127.0.0.1", host.actor.port))


async def test_half_of_a_new_pair_is_not_shown_and_ends_nothing(tmp_path: Path) -> None:
    time = VirtualTime()
    files = Files(tmp_path / "serving.crt", tmp_path / "serving.key")
    serving_certificate(new_authority(), ("127.0.0.1",)).write(tmp_path, "serving")
    async with admission_host(AdmissionOptions(files=files), time) as host:
        await host.synced()
        first, newer = await _served(host), serving_certificate(new_authority(), ("127.0.0.1",))
        files.certificate.write_bytes(newer.certificate)
        await time.advance(61, _settle)
        half = await _served(host)
        newer.write(tmp_path, "serving")
        await time.advance(61, _settle)

        assert half == first
        assert host.actor._credentials.bundle == newer.certificate


async def test_bundle_that_cert_manager_injects_is_left_alone() -> None:
    entry: JsonObject = {
        "name": "mutatejob.volcano.sh",
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "clientConfig": {"url": "https://elsewhere", "caBundle": base64.b64encode(PEM).decode()},
    }
    metadata: JsonObject = {
        "name": "volcano-admission-service-jobs-mutate",
        "annotations": {"cert-manager.io/inject-ca-from": "volcano-system/webhooks"},
    }
    async with admission_host() as host:
        await host.client.create(MUTATING, None, {"metadata": metadata, "webhooks": [entry]})
        await host.synced()
        found = await host.configuration("/jobs/mutate")
        await host.actor._registrar.register(b"newer")  # type: ignore[union-attr]
        again = await host.configuration("/jobs/mutate")

    assert found is not None
    assert again is not None
    config = found["webhooks"][0]["clientConfig"]  # type: ignore[index, call-overload]
    assert config["caBundle"] == base64.b64encode(PEM).decode()  # type: ignore[index, call-overload]
    assert str(config["url"]).endswith("/jobs/mutate")  # type: ignore[index, call-overload]
    assert again["metadata"]["resourceVersion"] == found["metadata"]["resourceVersion"]  # type: ignore[index, call-overload]
