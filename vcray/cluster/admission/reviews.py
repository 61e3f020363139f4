"""AdmissionReview bodies: the question that a webhook gets, and what its answer must look like.

Versions v1 and v1beta1 of `admission.k8s.io`; the first that the webhook lists and we know is spoken.
"""

from __future__ import annotations

import base64
import binascii
import uuid
from dataclasses import dataclass, field

import msgspec

from vcray.api.jsonview import dig_list, dig_object, dig_str, dig_strings
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import Resource
from vcray.cluster.admission.matching import namespace_of
from vcray.cluster.objects.review import Review

_KNOWN_VERSIONS = ("v1", "v1beta1")


class BadAnswer(Exception):
    """The webhook answered something that is no proper AdmissionReview; the text says what is wrong."""


class NoVersion(Exception):
    """The webhook knows none of our AdmissionReview versions."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a webhook said. `patch` is the decoded JSON patch (empty for none), `status` the Status of a refusal."""

    allowed: bool
    status: JsonObject
    patch: list[JsonValue] = field(default_factory=list)
    warnings: tuple[str, ...] = ()
    annotations: dict[str, str] = field(default_factory=dict)


def version_for(hook: JsonObject) -> str:
    """The AdmissionReview version to speak. Raises NoVersion."""
    for version in dig_list(hook, "admissionReviewVersions"):
        if version in _KNOWN_VERSIONS:
            return str(version)
    raise NoVersion("webhook does not accept known AdmissionReview versions (v1, v1beta1)")


def _kind(resource: Resource) -> JsonObject:
    return {"group": resource.group, "version": resource.version, "kind": resource.kind}


def _plural(resource: Resource) -> JsonObject:
    return {"group": resource.group, "version": resource.version, "resource": resource.plural}


_SUBRESOURCE_KINDS = {
    ("pods", "binding"): ("", "v1", "Binding"),
    ("pods", "eviction"): ("policy", "v1", "Eviction"),
    ("serviceaccounts", "token"): ("authentication.k8s.io", "v1", "TokenRequest"),
}


def _body_kind(resource: Resource, subresource: str) -> JsonObject:
    """The kind of the body that a request carries: some subresources have one of their own."""
    if subresource == "scale":
        return {"group": "autoscaling", "version": "v1", "kind": "Scale"}
    named = _SUBRESOURCE_KINDS.get((resource.plural, subresource))
    if named is None or resource.group:
        return _kind(resource)
    return dict(zip(("group", "version", "kind"), named, strict=True))


def request_of(review: Review, asked: Review, uid: str) -> JsonObject:
    """The `request` of an AdmissionReview: `review` as the client sent it, `asked` as the webhook wants to see it."""
    user: JsonObject = {"username": review.user.name}
    if review.user.uid:
        user["uid"] = review.user.uid
    if review.user.groups:
        user["groups"] = list(review.user.groups)
    if review.user.extra:
        user["extra"] = {key: list(values) for key, values in review.user.extra.items()}
    request: JsonObject = {"uid": uid, "kind": _body_kind(asked.resource, asked.subresource)}
    request["resource"] = _plural(asked.resource)
    if asked.subresource:
        request["subResource"] = asked.subresource
    request["requestKind"] = _body_kind(review.resource, review.subresource)
    request["requestResource"] = _plural(review.resource)
    if review.subresource:
        request["requestSubResource"] = review.subresource
    if review.name:
        request["name"] = review.name
    if namespace_of(review):
        request["namespace"] = namespace_of(review)
    request |= {"operation": review.operation, "userInfo": user, "object": asked.obj, "oldObject": asked.old}
    request |= {"dryRun": review.dry_run, "options": review.options or None}
    return request


def question(review: Review, asked: Review, version: str) -> tuple[str, JsonObject]:
    """The UID of a question, and its AdmissionReview."""
    uid = str(uuid.uuid4())
    body: JsonObject = {"kind": "AdmissionReview", "apiVersion": f"admission.k8s.io/{version}"}
    body["request"] = request_of(review, asked, uid)
    return uid, body


def read_answer(answer: JsonObject, uid: str, version: str, *, mutating: bool) -> Verdict:
    """The verdict in an AdmissionReview that came back. Raises BadAnswer."""
    response = answer.get("response")
    if not isinstance(response, dict):
        raise BadAnswer("webhook response was absent")
    if version == "v1":
        _check_v1(answer, response, uid, mutating)
    raw = dig_str(response, "patch") if mutating else ""
    if raw and dig_str(response, "patchType") not in ("", "JSONPatch"):
        raise BadAnswer(f'unsupported patch type "{dig_str(response, "patchType")}"')
    return Verdict(
        allowed=response.get("allowed") is True,
        status=dig_object(response, "status"),
        patch=_decode_patch(raw),
        warnings=tuple(str(item) for item in dig_list(response, "warnings")),
        annotations=dig_strings(response, "auditAnnotations"),
    )


def _check_v1(answer: JsonObject, response: JsonObject, uid: str, mutating: bool) -> None:
    if response.get("uid") != uid:
        raise BadAnswer(f'expected response.uid="{uid}", got "{dig_str(response, "uid")}"')
    said = (dig_str(answer, "apiVersion"), dig_str(answer, "kind"))
    if said != ("admission.k8s.io/v1", "AdmissionReview"):
        group, _, version = said[0].rpartition("/")
        raise BadAnswer(
            "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, "
            f"got {group}/{version}, Kind={said[1]}"
        )
    has_patch, patch_type = bool(response.get("patch")), response.get("patchType")
    if not mutating:
        if has_patch:
            raise BadAnswer("validating webhook may not return response.patch")
        if patch_type is not None:
            raise BadAnswer("validating webhook may not return response.patchType")
    elif has_patch and patch_type is None:
        raise BadAnswer("webhook returned response.patch but not response.patchType")
    elif not has_patch and patch_type is not None:
        raise BadAnswer("webhook returned response.patchType but not response.patch")
    elif patch_type == "":
        raise BadAnswer('webhook returned invalid response.patchType of ""')


def _decode_patch(raw: str) -> list[JsonValue]:
    if not raw:
        return []
    try:
        decoded: JsonValue = msgspec.json.decode(base64.b64decode(raw, validate=True))
    except (binascii.Error, msgspec.DecodeError) as error:
        raise BadAnswer(f"received undecodable patch in webhook response: {error}") from error
    if decoded is None:  # Volcano's webhooks send `null` when there is nothing to change
        return []
    if not isinstance(decoded, list):
        raise BadAnswer("received undecodable patch in webhook response: the patch must be a list")
    return decoded
