"""What an API server answers when it refuses, as exceptions named after the reasons of a Kubernetes Status.

The embedded store raises the same classes, so a refusal looks the same whoever made it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import msgspec

from vcray.api.jsontypes import JsonObject
from vcray.errors import Problem, Unauthorized, VcrayError
from vcray.kube.transport import Response


class ApiError(VcrayError):
    """The server refused a request. `message` is the server's own sentence, verbatim.

    `code` is the HTTP status, `reason` the machine-readable cause, `details` the Status' details (may be empty),
    `retry_after` the seconds that the server asks to wait, if it does.
    """

    code = 500
    reason = "InternalError"
    problem_code = "VC0203"

    def __init__(
        self,
        message: str,
        *,
        code: int | None = None,
        reason: str | None = None,
        details: JsonObject | None = None,
        where: str = "",
        retry_after: float | None = None,
    ) -> None:
        super().__init__(Problem(self.problem_code, where, message))
        self.message = message
        self.code = code if code is not None else type(self).code
        self.reason = reason if reason is not None else type(self).reason
        self.details: JsonObject = details or {}
        self.retry_after = retry_after

    def to_status(self) -> JsonObject:
        """The `v1` Status object that a server sends for this refusal."""
        status: JsonObject = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "details": self.details,
            "code": self.code,
        }
        return {key: value for key, value in status.items() if key not in ("details", "reason") or value}


class BadRequest(ApiError):
    """400: the request itself is malformed."""

    code, reason = 400, "BadRequest"


class Forbidden(ApiError):
    """403: the identity lacks the right, or admission refused."""

    code, reason = 403, "Forbidden"


class NotFound(ApiError):
    """404: the object is not there."""

    code, reason, problem_code = 404, "NotFound", "VC0501"


class ResourceMissing(NotFound):
    """404: the server does not serve this resource at all; its CRD may not be installed."""

    problem_code = "VC0404"


class MethodNotAllowed(ApiError):
    """405: the resource has no such verb."""

    code, reason = 405, "MethodNotAllowed"


class Conflict(ApiError):
    """409: the object changed in between, an apply met another manager's field, a precondition failed."""

    code, reason = 409, "Conflict"


class AlreadyExists(ApiError):
    """409: an object of that name is there already."""

    code, reason = 409, "AlreadyExists"


class Gone(ApiError):
    """410: the resource version is older than the server remembers; list again."""

    code, reason = 410, "Expired"


class TooLarge(ApiError):
    """413: the body is larger than the server takes."""

    code, reason = 413, "RequestEntityTooLarge"


class UnsupportedMediaType(ApiError):
    """415: no such patch or body type for this resource."""

    code, reason = 415, "UnsupportedMediaType"


class Invalid(ApiError):
    """422: the object breaks its schema or a validation rule."""

    code, reason = 422, "Invalid"


class TooManyRequests(ApiError):
    """429: throttled, or an eviction that a disruption budget does not allow now."""

    code, reason = 429, "TooManyRequests"


class ServerFailure(ApiError):
    """5xx: the server failed; the request may be tried again."""

    code, reason = 500, "InternalError"


_BY_CODE: dict[int, type[ApiError]] = {
    400: BadRequest,
    403: Forbidden,
    404: NotFound,
    405: MethodNotAllowed,
    409: Conflict,
    410: Gone,
    413: TooLarge,
    415: UnsupportedMediaType,
    422: Invalid,
    429: TooManyRequests,
}

NOT_INSTALLED = "Volcano's resource definitions are not installed; apply the output of `vcray crds` first"
"""What to tell a user when one of Volcano's resources is missing."""

_UNKNOWN_PATHS = ("the server could not find the requested resource", "404 page not found")


def error_of_status(status: Mapping[str, object], code: int, where: str = "") -> ApiError:
    """The exception for a decoded Status object; `code` is used when the object names none."""
    named = status.get("code")
    number = named if isinstance(named, int) and named else code
    message = str(status.get("message") or f"the server answered {number}")
    reason = str(status.get("reason") or "")
    kind = _BY_CODE.get(number, ServerFailure if number >= 500 else ApiError)
    if number == 409 and reason == "AlreadyExists":
        kind = AlreadyExists
    if number == 404 and message.strip() in _UNKNOWN_PATHS:
        kind = ResourceMissing
    details = status.get("details")
    return kind(
        message,
        code=number,
        reason=reason or None,
        details=details if isinstance(details, dict) else None,
        where=where,
    )


def error_of(method: str, path: str, address: str, response: Response) -> VcrayError:
    """The exception for an answer that is not 2xx."""
    if response.status == 401:
        return Unauthorized(
            Problem(
                "VC0402", address, "the API server refused the credentials; check the token or certificate"
            )
        )
    try:
        decoded = msgspec.json.decode(response.body)
    except msgspec.DecodeError:
        decoded = None
    status = (
        decoded if isinstance(decoded, dict) else {"message": response.body.decode(errors="replace").strip()}
    )
    error = error_of_status(status, response.status, f"{method} {path}")
    error.retry_after = _seconds(response.headers.get("retry-after"))
    return error


def _seconds(text: str | None) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        return None


def status_response(error: ApiError) -> Response:
    """The answer that a server gives for this refusal."""
    headers = {"content-type": "application/json"}
    if error.retry_after is not None:
        headers["retry-after"] = str(int(error.retry_after))
    return Response(error.code, json.dumps(error.to_status(), separators=(",", ":")).encode(), headers)
