"""AdmissionReview, v1: the question of an API server decoded, the answer of a rule encoded.

A question that cannot be read is answered by a refusal, so that whoever sent it hears why.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass

import msgspec

from vcray.api import wire
from vcray.api.jsonview import dig_list, dig_object, dig_str
from vcray.api.meta import JsonObject
from vcray.webhooks.base import Answer, Look, Request, Rules, User
from vcray.webhooks.services import Service, wrong_resource


class Unreadable(ValueError):
    """No AdmissionReview of version v1; says why."""


@dataclass(frozen=True, slots=True)
class Question:
    """What an API server asks."""

    uid: str
    request: JsonObject

    def about(self, look: Look, rules: Rules) -> Request:
        """The question as a rule takes it."""
        return Request(
            dig_str(self.request, "operation"),
            dig_str(self.request, "namespace"),
            dig_str(self.request, "name"),
            dig_object(self.request, "object"),
            dig_object(self.request, "oldObject"),
            look,
            rules,
            self._user(),
        )

    def _user(self) -> User:
        groups = dig_list(self.request, "userInfo", "groups")
        return User(
            dig_str(self.request, "userInfo", "username"),
            tuple(each for each in groups if isinstance(each, str)),
        )

    def refusal(self, service: Service) -> str:
        """Why the service cannot answer at all: it is asked about another kind, or about something that is no object."""
        resource, expected = dig_object(self.request, "resource"), service.resource
        found = tuple(dig_str(resource, key) for key in ("group", "version", "resource"))
        same = found == (expected.group, expected.version, expected.plural)
        if not same:
            return wrong_resource(service)
        written = dig_str(self.request, "operation") in ("CREATE", "UPDATE")
        readable = not written or isinstance(self.request.get("object"), dict)
        return "" if readable else "the request has no object that can be read"


def read_question(body: bytes) -> Question:
    """The question in a body. Raises Unreadable."""
    try:
        review = wire.decode_object(body)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise Unreadable(f"the body is no AdmissionReview: {error}") from error
    version, kind = dig_str(review, "apiVersion"), dig_str(review, "kind")
    if (version, kind) != ("admission.k8s.io/v1", "AdmissionReview"):
        raise Unreadable(
            f"expected an admission.k8s.io/v1 AdmissionReview, got {version or '-'} {kind or '-'}"
        )
    request = review.get("request")
    if not isinstance(request, dict):
        raise Unreadable("the AdmissionReview has no request")
    return Question(dig_str(request, "uid"), request)


def write_answer(uid: str, answer: Answer) -> bytes:
    """The AdmissionReview that answers the question of this uid."""
    response: JsonObject = {"uid": uid, "allowed": answer.allowed}
    if not answer.allowed:
        response["status"] = {"metadata": {}, "message": answer.problem}
    elif answer.patch is not None:
        steps = msgspec.json.encode(list(answer.patch) or None)
        response |= {"patch": base64.b64encode(steps).decode(), "patchType": "JSONPatch"}
    if answer.warnings:
        response["warnings"] = list(answer.warnings)
    review: JsonObject = {
        "kind": "AdmissionReview",
        "apiVersion": "admission.k8s.io/v1",
        "response": response,
    }
    return msgspec.json.encode(review)
