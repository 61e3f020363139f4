"""Webhooks are asked over real TLS, in order, and their answers mean what they mean to a Kubernetes API server."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Awaitable
from dataclasses import dataclass, field, replace

import pytest
from aiohttp import web

from vcray.api.meta import JsonObject
from vcray.api.resources import CONFIGMAPS, NAMESPACES, QUEUES, Resource
from vcray.cluster.admission.webhooks import Remarks, Webhooks
from vcray.cluster.objects.review import Review, Stage
from vcray.cluster.objects.store import Store
from vcray.kube.certificates import new_authority, server_context, serving_certificate
from vcray.kube.errors import ApiError

AUTHORITY = new_authority()
CONFIGURATIONS = {
    kind: Resource("admissionregistration.k8s.io", "v1", kind, f"{kind.lower()}s", namespaced=False)
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
}
RULE: JsonObject = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}


@dataclass
class Backend:
    """A webhook server: answers by path, remembers what it was asked."""

    answers: dict[str, JsonObject] = field(default_factory=dict)
    asked: list[tuple[str, JsonObject]] = field(default_factory=list)
    port: int = 0

    async def answer(self, request: web.BaseRequest) -> web.Response:
        body = json.loads(await request.read())
        self.asked.append((request.path, body["request"]))
        response = {"uid": body["request"]["uid"], "allowed": True, **self.answers.get(request.path, {})}
        return web.json_response(
            {"apiVersion": body["apiVersion"], "kind": "AdmissionReview", "response": response}
        )

    def paths(self) -> list[str]:
        return [path for path, _ in self.asked]

    def url(self, path: str) -> str:
        return f"https://127.0.0.1:{self.port}{path}"


@pytest.fixture
async def backend() -> AsyncIterator[Backend]:
    one = Backend()
    server = web.Server(one.answer)
    runner = web.ServerRunner(server)
    await runner.setup()
    tls = server_context(serving_certificate(AUTHORITY, ("127.0.0.1",)))
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    await site.start()
    one.port = runner.addresses[0][1]
    yield one
    await runner.cleanup()


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
async def webhooks(store: Store) -> AsyncIterator[Webhooks]:
    asked = Webhooks(store.storage, store.catalog)
    yield asked
    await asked.close()


def configure(store: Store, stage: Stage, name: str, url: str, **more: object) -> None:
    """Store a configuration with one webhook called `name`."""
    kind = "MutatingWebhookConfiguration" if stage is Stage.MUTATE else "ValidatingWebhookConfiguration"
    bundle = base64.b64encode(AUTHORITY.certificate).decode()
    hook = {
        "name": f"{name}.example.com",
        "clientConfig": {"url": url, "caBundle": bundle},
        "rules": [RULE],
        "failurePolicy": "Fail",
        "matchPolicy": "Equivalent",
        "sideEffects": "None",
        "timeoutSeconds": 5,
        "admissionReviewVersions": ["v1"],
        **more,
    }
    resource = store.catalog.at("admissionregistration.k8s.io", "v1", f"{kind.lower()}s").resource
    obj = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name},
        "webhooks": [hook],
    }
    store.create(resource, "", json.loads(json.dumps(obj)))


def creation(stage: Stage, resource: Resource = CONFIGMAPS, **more: object) -> Review:
    obj: JsonObject = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": "settings", "labels": {"team": "blue"}},
    }
    namespace = "default" if resource.namespaced else ""
    review = Review(stage, "CREATE", resource, namespace, "settings", obj, None, {"kind": "CreateOptions"})
    return replace(review, **more)  # type: ignore[arg-type]


def patch(*operations: JsonObject) -> JsonObject:
    return {
        "patch": base64.b64encode(json.dumps(operations).encode()).decode(),
        "patchType": "JSONPatch",
    }


async def refusal(call: Awaitable[object]) -> ApiError:
    with pytest.raises(ApiError) as caught:
        await call
    return caught.value


async def test_without_configurations_nothing_is_to_be_asked(webhooks: Webhooks) -> None:
    assert not webhooks.concern(creation(Stage.VALIDATE))
    assert await webhooks.ask(creation(Stage.MUTATE)) is None


async def test_a_review_names_the_whole_request(store: Store, webhooks: Webhooks, backend: Backend) -> None:
    configure(store, Stage.VALIDATE, "all", backend.url("/all"))

    await webhooks.ask(creation(Stage.VALIDATE))

    (_, request) = backend.asked[0]
    assert request["kind"] == {"group": "", "version": "v1", "kind": "ConfigMap"}
    assert request["requestResource"] == {"group": "", "version": "v1", "resource": "configmaps"}
    assert request["operation"] == "CREATE"
    assert request["userInfo"] == {
        "username": "system:admin",
        "groups": ["system:masters", "system:authenticated"],
    }
    assert request["object"]["metadata"]["name"] == "settings"  # type: ignore[index, call-overload]
    assert request["oldObject"] is None
    assert (request["namespace"], request["name"], request["dryRun"]) == ("default", "settings", False)


async def test_mutating_webhooks_change_the_object_one_after_the_other_by_name(
    store: Store, webhooks: Webhooks, backend: Backend
) -> None:
    backend.answers["/a"] = patch({"op": "add", "path": "/data", "value": {"a": "1"}})
    backend.answers["/b"] = patch({"op": "add", "path": "/data/b", "value": "2"})
    configure(store, Stage.MUTATE, "b", backend.url("/b"))
    configure(store, Stage.MUTATE, "a", backend.url("/a"))

    changed = await webhooks.ask(creation(Stage.MUTATE))

    assert changed is not None
    assert changed["data"] == {"a": "1", "b": "2"}
    assert backend.paths() == ["/a", "/b"]


async def test_a_webhook_that_wishes_so_is_asked_again_after_a_later_change(
    store: Store, webhooks: Webhooks, backend: Backend
) -> None:
    backend.answers["/b"] = patch({"op": "add", "path": "/data", "value": {"b": "2"}})
    configure(store, Stage.MUTATE, "a", backend.url("/a"), reinvocationPolicy="IfNeeded")
    configure(store, Stage.MUTATE, "b", backend.url("/b"))

    await webhooks.ask(creation(Stage.MUTATE))

    assert backend.paths() == ["/a", "/b", "/a"]


async def test_a_denial_is_told_with_the_name_of_the_webhook_and_its_own_status(
    store: Store, webhooks: Webhooks, backend: Backend
) -> None:
    backend.answers["/no"] = {"allowed": False, "status": {"message": "not today", "code": 418}}
    configure(store, Stage.VALIDATE, "no", backend.url("/no"))

    error = await refusal(webhooks.ask(creation(Stage.VALIDATE)))

    assert error.message == 'admission webhook "no.example.com" denied the request: not today'
    assert error.code == 418


async def test_a_denial_without_words_says_so(store: Store, webhooks: Webhooks, backend: Backend) -> None:
    backend.answers["/no"] = {"allowed": False}
    configure(store, Stage.VALIDATE, "no", backend.url("/no"))

    error = await refusal(webhooks.ask(creation(Stage.VALIDATE)))

    assert error.message == 'admission webhook "no.example.com" denied the request without explanation'
    assert error.code == 400


async def test_warnings_reach_the_caller(store: Store, webhooks: Webhooks, backend: Backend) -> None:
    backend.answers["/warn"] = {"warnings": ["mind the gap"], "auditAnnotations": {"k": "v"}}
    configure(store, Stage.VALIDATE, "warn", backend.url("/warn"))
    remarks = Remarks()

    await webhooks.ask(creation(Stage.VALIDATE), remarks)

    assert remarks.warnings == ["mind the gap"]
    assert remarks.annotations == {"warn.example.com/k": "v"}


async def test_a_closed_port_fails_the_request_in_the_servers_words(store: Store, webhooks: Webhooks) -> None:
    configure(store, Stage.VALIDATE, "gone", "https://127.0.0.1:1/x")

    error = await refusal(webhooks.ask(creation(Stage.VALIDATE)))

    assert error.message == (
        'Internal error occurred: failed calling webhook "gone.example.com": failed to call webhook: '
        'Post "https://127.0.0.1:1/x?timeout=5s": dial tcp 127.0.0.1:1: connect: connection refused'
    )
    assert (error.code, error.reason) == (500, "InternalError")


async def test_a_failing_webhook_is_passed_over_if_its_policy_says_ignore(
    store: Store, webhooks: Webhooks
) -> None:
    configure(store, Stage.VALIDATE, "gone", "https://127.0.0.1:1/x", failurePolicy="Ignore")

    assert await webhooks.ask(creation(Stage.VALIDATE)) is None


async def test_a_certificate_of_a_strange_authority_is_refused(
    store: Store, webhooks: Webhooks, backend: Backend
) -> None:
    other = base64.b64encode(new_authority().certificate).decode()
    client = {"url": backend.url("/x"), "caBundle": other}
    configure(store, Stage.VALIDATE, "strange", "", clientConfig=client)

    error = await refusal(webhooks.ask(creation(Stage.VALIDATE)))

    assert error.message.endswith(
        "tls: failed to verify certificate: x509: certificate signed by unknown authority"
    )


async def test_a_service_that_is_not_there_is_named(store: Store, webhooks: Webhooks) -> None:
    client = {"service": {"namespace": "default", "name": "hook", "path": "/v"}}
    configure(store, Stage.VALIDATE, "svc", "", clientConfig=client)

    error = await refusal(webhooks.ask(creation(Stage.VALIDATE)))

    assert error.message.endswith(
        'failed to call webhook: Post "https://hook.default.svc:443/v?timeout=5s": service "hook" not found'
    )


async def test_a_dry_run_is_refused_for_a_webhook_with_side_effects(
    store: Store, webhooks: Webhooks, backend: Backend
) -> None:
    configure(store, Stage.VALIDATE, "side", backend.url("/x"), sideEffects="Some")

    error = await refusal(webhooks.ask(creation(Stage.VALIDATE, dry_run=True)))

    assert error.message == 'admission webhook "side.example.com" does not support dry run'
    assert backend.asked == []


@pytest.mark.parametrize(
    ("more", "resource", "asked"),
    [
        ({"objectSelector": {"matchLabels": {"team": "blue"}}}, CONFIGMAPS, True),
        ({"objectSelector": {"matchLabels": {"team": "red"}}}, CONFIGMAPS, False),
        (
            {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}}},
            CONFIGMAPS,
            True,
        ),
        ({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "else"}}}, CONFIGMAPS, False),
        ({"namespaceSelector": {"matchLabels": {"none": "such"}}}, QUEUES, True),
        ({"namespaceSelector": {"matchLabels": {"team": "blue"}}}, NAMESPACES, True),
        ({"rules": [{**RULE, "scope": "Cluster"}]}, CONFIGMAPS, False),
        ({"rules": [{**RULE, "scope": "Cluster"}]}, NAMESPACES, True),
        ({"rules": [{**RULE, "operations": ["UPDATE", "DELETE"]}]}, CONFIGMAPS, False),
        ({"rules": [{**RULE, "apiGroups": [""], "resources": ["configmaps"]}]}, CONFIGMAPS, True),
        ({"rules": [{**RULE, "apiGroups": [""], "resources": ["configmaps/status"]}]}, CONFIGMAPS, False),
    ],
)
async def test_rules_and_selectors_decide_who_is_asked(
    more: dict[str, object],
    resource: Resource,
    asked: bool,
    store: Store,
    webhooks: Webhooks,
    backend: Backend,
) -> None:
    configure(store, Stage.VALIDATE, "some", backend.url("/x"), **more)

    await webhooks.ask(creation(Stage.VALIDATE, resource))

    assert bool(backend.asked) is asked


async def test_an_answer_to_another_question_is_no_answer(
    store: Store, webhooks: Webhooks, backend: Backend
) -> None:
    backend.answers["/x"] = {"uid": "other"}
    configure(store, Stage.VALIDATE, "mixed", backend.url("/x"))

    error = await refusal(webhooks.ask(creation(Stage.VALIDATE)))

    assert "received invalid webhook response: expected response.uid=" in error.message


async def test_configurations_themselves_are_never_reviewed(
    store: Store, webhooks: Webhooks, backend: Backend
) -> None:
    configure(store, Stage.VALIDATE, "all", backend.url("/x"))

    await webhooks.ask(creation(Stage.VALIDATE, CONFIGURATIONS["ValidatingWebhookConfiguration"]))

    assert backend.asked == []


async def test_a_deleted_configuration_is_forgotten(
    store: Store, webhooks: Webhooks, backend: Backend
) -> None:
    configure(store, Stage.VALIDATE, "all", backend.url("/x"))
    assert webhooks.concern(creation(Stage.VALIDATE))
    resource = store.catalog.at(
        "admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations"
    ).resource

    store.delete(resource, "", "all")

    assert not webhooks.concern(creation(Stage.VALIDATE))
