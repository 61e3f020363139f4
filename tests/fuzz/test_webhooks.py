"""Every webhook answers every request with a verdict: objects drawn from the schemas, whole and broken, as bytes from an API server."""

from __future__ import annotations

import base64
import json

import jsonpatch
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.drawn import EXAMPLES, WORDS, Drawer, breaks, seeds
from tests.fuzz.manifests import mutated
from tests.webhooks.seen import Seen
from tests.webhooks.test_every_request import GROUPS, good
from vcray.actors.admission_reviews import read_question, write_answer
from vcray.api.crds import MODELS, schema_for
from vcray.api.meta import JsonObject, JsonValue
from vcray.webhooks.base import Rules
from vcray.webhooks.services import ALL_SERVICES, Service

KINDS = {model.resource.kind for model in MODELS}
RULES = Rules(gate_pods=True, resource_groups=GROUPS)
OPERATIONS = ("CREATE", "UPDATE", "DELETE", "CONNECT")


def drawn(drawer: Drawer, service: Service, places: int) -> JsonObject:
    """An object of the service's kind; pods have no schema of ours and are made from a good one."""
    kind = service.resource.kind
    obj = drawer.named(schema_for(kind), "team") if kind in KINDS else good(service)
    return drawer.broken(obj, places)


def asked(service: Service, operation: str, new: JsonValue, old: JsonValue, user: JsonValue = None) -> bytes:
    resource = service.resource
    kind = {"group": resource.group, "version": resource.version, "resource": resource.plural}
    request = {
        "uid": "u",
        "resource": kind,
        "operation": operation,
        "namespace": "team",
        "name": "a",
        "userInfo": user,
    }
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
    return json.dumps({**review, "request": {**request, "object": new, "oldObject": old}}).encode()


def answered(service: Service, body: bytes, seen: Seen) -> JsonObject:
    """The `response` in the bytes that go back."""
    question = read_question(body)
    answer = service.admit(question.about(seen, RULES))
    response: JsonObject = json.loads(write_answer(question.uid, answer))["response"]
    return response


@pytest.mark.parametrize("service", ALL_SERVICES, ids=lambda service: service.path)
@given(seed=seeds, places=breaks, operation=st.sampled_from(OPERATIONS))
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
def test_every_request_gets_a_verdict(service: Service, seed: int, places: int, operation: str) -> None:
    drawer = Drawer(seed)
    new, old = drawn(drawer, service, places), drawn(drawer, service, places)
    queues = [drawer.broken(drawer.named(schema_for("Queue")), places) for _ in range(3)]

    group = drawer.broken(drawer.named(schema_for("PodGroup"), "team"), places)
    seen = Seen(queues, groups={("team", name): group for name in WORDS})

    response = answered(service, asked(service, operation, new, old, drawer.anything()), seen)

    assert response["allowed"] is True or response["status"]["message"]  # type: ignore[index, call-overload]
    if "patch" in response:
        patch = json.loads(base64.b64decode(response["patch"]))  # type: ignore[arg-type]
        jsonpatch.apply_patch(new, patch or [])


@given(seed=seeds)
@settings(max_examples=EXAMPLES * 4, deadline=None)
def test_misspelt_manifest_gets_a_verdict(seed: int) -> None:
    for document in mutated(seed):
        for service in ALL_SERVICES:
            if service.resource.kind == document.get("kind"):
                response = answered(service, asked(service, "CREATE", document, None), Seen())
                assert response["allowed"] is True or response["status"]["message"]  # type: ignore[index, call-overload]


@pytest.mark.parametrize("new", [None, [], "text", 7, {}, {"spec": None}, {"metadata": 1, "spec": 2}])
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("service", ALL_SERVICES, ids=lambda service: service.path)
def test_object_that_is_none_gets_a_verdict(service: Service, operation: str, new: JsonValue) -> None:
    response = answered(service, asked(service, operation, new, new), Seen())

    assert isinstance(response["allowed"], bool)
