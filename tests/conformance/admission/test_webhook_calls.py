"""Webhooks of anybody are called alike by both servers: what they are asked, what their answers do, how failures read."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.conformance.harness.base import Server, wait_until
from tests.conformance.harness.client import ApiError
from tests.conformance.harness.process import free_port
from vcray.kube.certificates import new_authority, server_context, serving_certificate

AUTHORITY = new_authority()
STRANGE = new_authority("strange")
REGISTRATIONS = "/apis/admissionregistration.k8s.io/v1"
RULE = {
    "operations": ["CREATE", "DELETE"],
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "resources": ["configmaps"],
}


class Backend:
    """A webhook over TLS that answers by path and remembers what it was asked."""

    def __init__(self) -> None:
        self.answers: dict[str, dict[str, Any]] = {}
        self.asked: list[tuple[str, dict[str, Any]]] = []
        backend = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                answer = backend.answer(self.path, body)
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        tls = server_context(serving_certificate(AUTHORITY, ("127.0.0.1",)))
        self.server.socket = tls.wrap_socket(self.server.socket, server_side=True)
        self.server.daemon_threads = True
        self.port = self.server.server_port
        self._thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self._thread.start()

    def answer(self, path: str, body: dict[str, Any]) -> bytes:
        name = path.partition("?")[0]
        self.asked.append((path, body["request"]))
        response = {"uid": body["request"]["uid"], "allowed": True, **self.answers.get(name, {})}
        whole = {"apiVersion": body["apiVersion"], "kind": "AdmissionReview", "response": response}
        return json.dumps(whole).encode()

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self._thread.join()


class Hooks:
    """Registers webhooks for one namespace and makes config maps there."""

    def __init__(self, server: Server, namespace: str, backend: Backend) -> None:
        self.client, self.namespace, self.backend = server.client, namespace, backend
        self.maps = f"/api/v1/namespaces/{namespace}/configmaps"
        self._made: list[str] = []

    def register(self, kind: str, path: str, **more: Any) -> str:
        """A configuration with one webhook; returns the webhook's name."""
        name = f"{path.strip('/')}.{self.namespace}.example.com"
        hook = {
            "name": name,
            "clientConfig": {
                "url": f"https://127.0.0.1:{self.backend.port}{path}",
                "caBundle": base64.b64encode(AUTHORITY.certificate).decode(),
            },
            "rules": [RULE],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": self.namespace}},
            "sideEffects": "None",
            "timeoutSeconds": 5,
            "admissionReviewVersions": ["v1"],
            **more,
        }
        where = f"{REGISTRATIONS}/{kind.lower()}webhookconfigurations"
        body = {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": f"{kind}WebhookConfiguration",
            "metadata": {"name": name},
            "webhooks": [hook],
        }
        self.client.create(where, body)
        self._made.append(f"{where}/{name}")
        return name

    def create(self, name: str = "one", query: str = "", **metadata: Any) -> dict[str, Any]:
        return self.client.create(
            self.maps + query, {"metadata": {"name": name, **metadata}, "data": {"a": "b"}}
        )

    def refusal(self, query: str = "") -> ApiError:
        """How a config map is refused, once the webhook is known."""
        found: list[ApiError] = []

        def refused() -> bool:
            try:
                self.create("refused", query or "?dryRun=All")
            except ApiError as error:
                found.append(error)
            return bool(found)

        wait_until(refused, "the webhook to be known")
        return found[0]

    def close(self) -> None:
        for path in self._made:
            with suppress(ApiError):
                self.client.delete(path)


@pytest.fixture
def backend() -> Iterator[Backend]:
    one = Backend()
    yield one
    one.stop()


@pytest.fixture
def hooks(apiserver: Server, namespace: str, backend: Backend) -> Iterator[Hooks]:
    made = Hooks(apiserver, namespace, backend)
    yield made
    made.close()


def patch(*operations: dict[str, Any]) -> dict[str, str]:
    return {"patch": base64.b64encode(json.dumps(operations).encode()).decode(), "patchType": "JSONPatch"}


def test_a_webhook_is_asked_about_the_whole_request(hooks: Hooks, backend: Backend) -> None:
    hooks.register("Validating", "/ask")
    wait_until(lambda: bool(hooks.create(query="?dryRun=All") and backend.asked), "the webhook to be known")
    backend.asked.clear()

    hooks.create("one", "?fieldManager=me", labels={"x": "y"})

    ((path, request),) = backend.asked
    assert path == "/ask?timeout=5s"
    made = request.pop("object")
    assert request.pop("uid")
    assert made["metadata"]["labels"] == {"x": "y"}
    assert (made["kind"], made["apiVersion"], made["data"]) == ("ConfigMap", "v1", {"a": "b"})
    user = request.pop("userInfo")
    assert user["username"] == "admin"
    assert "system:masters" in user["groups"]
    assert request == {
        "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
        "resource": {"group": "", "version": "v1", "resource": "configmaps"},
        "requestKind": {"group": "", "version": "v1", "kind": "ConfigMap"},
        "requestResource": {"group": "", "version": "v1", "resource": "configmaps"},
        "name": "one",
        "namespace": hooks.namespace,
        "operation": "CREATE",
        "oldObject": None,
        "dryRun": False,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": "me"},
    }


def test_a_deletion_is_asked_about_with_the_old_object(hooks: Hooks, backend: Backend) -> None:
    hooks.register("Validating", "/ask")
    wait_until(lambda: bool(hooks.create(query="?dryRun=All") and backend.asked), "the webhook to be known")
    hooks.create("one")
    backend.asked.clear()

    hooks.client.delete(f"{hooks.maps}/one")

    ((_, request),) = backend.asked
    assert (request["operation"], request["object"]) == ("DELETE", None)
    assert request["oldObject"]["data"] == {"a": "b"}
    assert request["options"]["kind"] == "DeleteOptions"


def test_a_denial_keeps_its_code_and_reason(hooks: Hooks, backend: Backend) -> None:
    status = {"code": 409, "reason": "Conflict", "message": "not like this"}
    backend.answers["/deny"] = {"allowed": False, "status": status}
    name = hooks.register("Validating", "/deny")

    error = hooks.refusal()

    assert error.message == f'admission webhook "{name}" denied the request: not like this'
    assert (error.code, error.reason) == (409, "Conflict")


def test_a_denial_without_a_word_says_so(hooks: Hooks, backend: Backend) -> None:
    backend.answers["/deny"] = {"allowed": False}
    name = hooks.register("Mutating", "/deny")

    error = hooks.refusal()

    assert error.message == f'admission webhook "{name}" denied the request without explanation'
    assert (error.code, error.reason) == (400, "")


def test_patches_are_applied_one_after_the_other(hooks: Hooks, backend: Backend) -> None:
    backend.answers["/first"] = patch({"op": "add", "path": "/data/first", "value": "1"})
    backend.answers["/second"] = patch({"op": "copy", "from": "/data/first", "path": "/data/second"})
    hooks.register("Mutating", "/first", reinvocationPolicy="IfNeeded")
    hooks.register(
        "Mutating", "/second", matchConditions=[{"name": "n", "expression": "'first' in object.data"}]
    )

    wait_until(lambda: "second" in hooks.create(query="?dryRun=All")["data"], "the webhooks to be known")
    backend.asked.clear()

    assert hooks.create()["data"] == {"a": "b", "first": "1", "second": "1"}
    assert [path.partition("?")[0] for path, _ in backend.asked] == ["/first", "/second", "/first"]


def test_limits_hold_for_what_a_webhook_adds(hooks: Hooks, backend: Backend) -> None:
    sidecar = {"name": "sidecar", "image": "s"}
    backend.answers["/inject"] = patch({"op": "add", "path": "/spec/containers/-", "value": sidecar})
    limit = {"type": "Container", "default": {"cpu": "1"}}
    root = f"/api/v1/namespaces/{hooks.namespace}"
    hooks.client.create(f"{root}/limitranges", {"metadata": {"name": "l"}, "spec": {"limits": [limit]}})
    hooks.register("Mutating", "/inject", rules=[{**RULE, "operations": ["CREATE"], "resources": ["pods"]}])
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}

    def injected() -> bool:
        made.append(hooks.client.create(f"{root}/pods?dryRun=All", pod))
        return len(made[-1]["spec"]["containers"]) == 2

    made: list[dict[str, Any]] = []
    wait_until(injected, "the webhook to be known")

    assert [each["resources"] for each in made[-1]["spec"]["containers"]] == [
        {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}}
    ] * 2


def test_a_closed_port_is_told_as_it_is(hooks: Hooks) -> None:
    url = f"https://127.0.0.1:{free_port()}/x"
    name = hooks.register("Validating", "/closed", clientConfig={"url": url})

    error = hooks.refusal()

    told = f'Post "{url}?timeout=5s": dial tcp {url[8:-2]}: connect: connection refused'
    why = f'failed calling webhook "{name}": failed to call webhook: {told}'
    assert error.message == f"Internal error occurred: {why}"
    assert (error.code, error.reason) == (500, "InternalError")
    assert error.status["details"] == {"causes": [{"message": why}]}


def test_a_certificate_of_a_stranger_is_refused(hooks: Hooks) -> None:
    url = f"https://127.0.0.1:{hooks.backend.port}/strange"
    client = {"url": url, "caBundle": base64.b64encode(STRANGE.certificate).decode()}
    name = hooks.register("Validating", "/strange", clientConfig=client)

    error = hooks.refusal()

    opening = (
        f'Internal error occurred: failed calling webhook "{name}": failed to call webhook: Post '
        f'"{url}?timeout=5s": tls: failed to verify certificate: x509: certificate signed by unknown authority'
    )
    assert error.message.startswith(opening)


def test_a_failing_webhook_may_be_passed_over(hooks: Hooks, backend: Backend) -> None:
    url = f"https://127.0.0.1:{free_port()}/x"
    hooks.register("Mutating", "/closed", clientConfig={"url": url}, failurePolicy="Ignore")
    backend.answers["/mark"] = patch({"op": "add", "path": "/data/marked", "value": "1"})
    hooks.register("Mutating", "/mark")

    wait_until(lambda: "marked" in hooks.create(query="?dryRun=All")["data"], "the webhooks to be known")
    assert hooks.create()["data"]["marked"] == "1"


def test_a_dry_run_does_not_reach_a_webhook_with_side_effects(hooks: Hooks, backend: Backend) -> None:
    name = hooks.register("Validating", "/late", sideEffects="NoneOnDryRun", failurePolicy="Fail")
    wait_until(lambda: bool(hooks.create(query="?dryRun=All") and backend.asked), "the webhook to be known")

    assert backend.asked[-1][1]["dryRun"] is True
    assert name


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ({"uid": "other"}, 'expected response.uid="'),
        ({"patch": "W10="}, "webhook returned response.patch but not response.patchType"),
        ({"patchType": "JSONPatch"}, "webhook returned response.patchType but not response.patch"),
    ],
)
def test_an_improper_answer_is_a_failure(
    answer: dict[str, Any], told: str, hooks: Hooks, backend: Backend
) -> None:
    backend.answers["/odd"] = answer
    name = hooks.register("Mutating", "/odd")

    error = hooks.refusal()

    assert error.message.startswith(
        f'Internal error occurred: failed calling webhook "{name}": received invalid webhook response: {told}'
    )


def test_a_service_that_is_not_there_is_named(hooks: Hooks) -> None:
    service = {"namespace": hooks.namespace, "name": "nothing", "path": "/v", "port": 8443}
    name = hooks.register("Validating", "/service", clientConfig={"service": service})

    error = hooks.refusal()

    url = f"https://nothing.{hooks.namespace}.svc:8443/v?timeout=5s"
    assert error.message == (
        f'Internal error occurred: failed calling webhook "{name}": failed to call webhook: Post "{url}": '
        'service "nothing" not found'
    )


def test_warnings_reach_the_client(hooks: Hooks, backend: Backend) -> None:
    backend.answers["/warn"] = {"warnings": ["mind the gap"]}
    hooks.register("Validating", "/warn")

    def warned() -> bool:
        _, headers = hooks.client.raw("POST", hooks.maps + "?dryRun=All", {"metadata": {"name": "w"}})
        return 'mind the gap"' in headers.get("warning", "")

    wait_until(warned, "the warning")


def test_a_condition_that_cannot_be_judged_refuses(hooks: Hooks) -> None:
    condition = {"name": "c", "expression": "object.nothing == 1"}
    hooks.register("Validating", "/never", matchConditions=[condition])

    error = hooks.refusal()

    assert error.message == (
        "configmaps \"refused\" is forbidden: expression 'object.nothing == 1' resulted in error: no such key: nothing"
    )
    assert error.code == 403
