"""`vcray doctor` finds each fault that can be set up here, says what to do, and is content with a cluster that is right."""

import json
import socket
import ssl
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from vcray.api.resources import QUEUES
from vcray.cli import examination
from vcray.cli.embedded import install_definitions
from vcray.cli.examination import FAULT, OK, SKIPPED, Finding
from vcray.cli.main import execute
from vcray.cli.runtime_folder import RuntimeFolder
from vcray.cluster.server.https import ServerOptions, serve
from vcray.kube.client import KubeClient
from vcray.kube.http import HttpTransport, StaticToken


@asynccontextmanager
async def cluster(definitions=True, token=None):
    """A transport to an embedded server that has a default queue."""
    server = await serve(ServerOptions())
    inside = KubeClient(server.transport)
    if definitions:
        await install_definitions(inside)
    await inside.create(QUEUES, None, {"metadata": {"name": "default"}, "spec": {"weight": 1}})
    trust = ssl.create_default_context(cadata=server.ca.decode())
    transport = HttpTransport(server.url, StaticToken(token or server.admin_token), trust)
    try:
        yield transport
    finally:
        await transport.close()
        await server.stop()


async def found(transport):
    return {each.check: each async for each in examination.server(transport)}


def results(findings):
    return {name: each.result for name, each in findings.items()}


RIGHT = {
    "server": OK, "identity": OK, "clock": OK, "definitions": OK, "queues": OK, "rights": OK, "webhooks": SKIPPED,
}  # fmt: skip


async def test_a_cluster_that_is_right_has_no_fault():
    async with cluster() as transport:
        findings = await found(transport)

    assert results(findings) == RIGHT
    assert findings["identity"].found == "admin"
    assert not any(each.advice for each in findings.values())


async def test_missing_definitions_are_named():
    async with cluster(definitions=False) as transport:
        findings = await found(transport)

    assert findings["definitions"].result == FAULT
    assert "jobs.batch.volcano.sh" in findings["definitions"].found
    assert "vcray crds" in findings["definitions"].advice


async def test_a_missing_queue_means_that_no_control_plane_ran():
    async with cluster() as transport:
        await KubeClient(transport).delete(QUEUES, None, "default")

        findings = await found(transport)

    assert results(findings) == RIGHT | {"queues": FAULT}


async def test_a_refused_token_skips_what_rests_on_it():
    async with cluster(token="wrong") as transport:
        findings = await found(transport)

    assert findings["identity"] == Finding(
        "identity", FAULT, "the server refuses the credentials", "renew the token"
    )
    assert results(findings) == {
        "server": OK, "identity": FAULT, "clock": OK, "definitions": SKIPPED, "queues": SKIPPED,
        "rights": SKIPPED, "webhooks": SKIPPED,
    }  # fmt: skip


async def test_a_server_that_is_away_skips_all_else():
    transport = HttpTransport("https://127.0.0.1:1", StaticToken("x"))

    findings = await found(transport)

    await transport.close()
    assert findings["server"].result == FAULT
    assert "Connection refused" in findings["server"].found
    assert set(results(findings).values()) == {FAULT, SKIPPED}


class OtherTime:
    """A transport whose server lives on another day."""

    def __init__(self, transport):
        self._transport = transport
        self.address = transport.address

    async def request(self, *arguments, **options):
        answer = await self._transport.request(*arguments, **options)
        return replace(answer, headers={**answer.headers, "date": "Wed, 01 Jan 2020 00:00:00 GMT"})


async def test_a_clock_that_is_off_is_a_fault():
    async with cluster() as transport:
        findings = await found(OtherTime(transport))

    assert results(findings) == RIGHT | {"clock": FAULT}
    assert findings["clock"].found.endswith(" s behind")


async def test_a_webhook_where_nobody_answers_is_a_fault():
    async with cluster() as transport:
        hook = {
            "name": "validatejob.volcano.sh",
            "clientConfig": {"url": "https://127.0.0.1:1/jobs/validate"},
            "rules": [
                {"apiGroups": ["example.com"], "apiVersions": ["v1"], "resources": ["none"], "operations": ["CREATE"]}
            ],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }  # fmt: skip
        body = {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "volcano-admission-service-jobs-validate"},
            "webhooks": [hook],
        }
        path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
        await KubeClient(transport).request("POST", path, None, body)

        findings = await found(transport)

    assert results(findings) == RIGHT | {"webhooks": FAULT}
    assert findings["webhooks"].found == "https://127.0.0.1:1/jobs/validate does not answer"


def test_a_port_that_is_taken_is_a_fault(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        number = taken.getsockname()[1]

        assert examination.port(number).result == FAULT
    assert examination.port(number) == Finding("port", OK, f"{number} is free")


def test_what_a_killed_cluster_left_is_a_fault(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    RuntimeFolder().path.mkdir(parents=True)

    findings = {each.check: each for each in examination.machine(None)}

    assert findings["local cluster"].result == FAULT
    assert findings["local cluster"].advice == "run `vcray down`"


def test_a_ray_address_where_nobody_is_is_a_fault():
    findings = {each.check: each for each in examination.machine("127.0.0.1:1")}

    assert findings["ray"].result == FAULT
    assert "no Ray cluster answers there" in findings["ray"].found


@pytest.fixture
def alone(tmp_path, monkeypatch):
    """A machine without any kubeconfig."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "VCRAY_RAY_ADDRESS"):
        monkeypatch.delenv(name, raising=False)


def test_a_machine_without_a_cluster_is_no_fault(alone, capsys):
    code = execute(["doctor", "-o", "json", "--port", str(free_port())])

    found = {each["check"]: each for each in json.loads(capsys.readouterr().out)}
    assert code == 0
    assert found["kubeconfig"]["result"] == SKIPPED
    assert "vcray up" in found["kubeconfig"]["advice"]


def test_a_kubeconfig_that_is_not_there_is_a_fault_with_advice(alone, tmp_path, capsys):
    code = execute(["doctor", "--kubeconfig", str(tmp_path / "none"), "--port", str(free_port())])

    out, err = capsys.readouterr()
    assert code == 1
    assert "FAULT" in out
    assert err == "kubeconfig: name one that is there\n"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
