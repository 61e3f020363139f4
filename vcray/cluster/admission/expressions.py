"""What the expressions of webhooks and policies see of a request, and their evaluation.

The names are those of the `admissionregistration.k8s.io` API: object, oldObject, request, params, namespaceObject, authorizer,
variables. A policy's variables are evaluated when an expression names them, once a request.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from google.protobuf import duration_pb2, timestamp_pb2

from vcray.api.jsonview import dig_objects, dig_str
from vcray.api.meta import JsonObject
from vcray.cel.authorization import Decide, deciding
from vcray.cel.program import BudgetExceeded, CompileError, EvaluationError, compiled
from vcray.cel.rewriting import fields_of
from vcray.cluster.admission.authorizing import authorizer, request_resource
from vcray.cluster.admission.matching import Matcher
from vcray.cluster.admission.reviews import request_of
from vcray.cluster.objects import refusals
from vcray.cluster.objects.review import Review
from vcray.cluster.objects.storage import Storage

NAMES = (
    "object",
    "oldObject",
    "request",
    "params",
    "namespaceObject",
    "authorizer",
    "authorizer.requestResource",
    "variables",
)
"""All variables, whether an expression may use them or not."""

_LIMIT = "validation failed due to running out of cost budget, no further validation rules will be run"


class ExpressionError(Exception):
    """An expression has no value; the text is the server's."""


class Scope:
    """The variables of one request, for one policy and one of its parameters."""

    def __init__(
        self,
        review: Review,
        asked: Review,
        *,
        params: JsonObject | None = None,
        namespace: JsonObject | None = None,
        variables: Mapping[str, str] | None = None,
        decide: Decide | None = None,
    ) -> None:
        request = request_of(review, asked, "")
        for name in ("uid", "object", "oldObject"):
            request.pop(name, None)
        self._expressions = variables or {}
        self._decide = decide
        self._known: dict[str, object] = {}
        self._failed: dict[str, str] = {}
        self._data: dict[str, object] = {
            "object": asked.obj,
            "oldObject": asked.old,
            "request": request,
            "params": params,
            "namespaceObject": namespace,
            "authorizer": "",
            "authorizer.requestResource": request_resource(review),
            "variables": self._known,
        }

    def with_object(self, obj: JsonObject) -> None:
        """Go on with a changed object; variables are evaluated anew."""
        self._data["object"] = obj
        self._known.clear()
        self._failed.clear()

    def value(self, expression: str) -> object:
        """The value of an expression. Raises ExpressionError."""
        try:
            with deciding(self._decide):
                return self._evaluated(expression)
        except CompileError as error:
            raise ExpressionError(f"compilation error: compilation failed: {error}") from error
        except BudgetExceeded as error:
            raise ExpressionError(_LIMIT) from error
        except EvaluationError as error:
            raise ExpressionError(f"expression '{expression}' resulted in error: {error}") from error

    def _evaluated(self, expression: str) -> object:
        for name in fields_of(expression, "variables"):
            self._ready(name)
        return compiled(expression, NAMES).evaluate(self._data)

    def _ready(self, name: str) -> None:
        if name in self._known or name not in self._expressions:
            return
        if name not in self._failed:
            try:
                self._known[name] = _storable(self._evaluated(self._expressions[name]))
                return
            except EvaluationError as error:
                self._failed[name] = str(error)
        raise EvaluationError(f'composited variable "{name}" fails to evaluate: {self._failed[name]}')


def _storable(value: object) -> object:
    """A value that may be given to an expression again."""
    match value:
        case timedelta():
            duration = duration_pb2.Duration()
            duration.FromTimedelta(value)
            return duration
        case datetime():
            moment = timestamp_pb2.Timestamp()
            moment.FromDatetime(value)
            return moment
        case dict():
            return {key: _storable(item) for key, item in value.items()}
        case list():
            return [_storable(item) for item in value]
    return value


def conditions_hold(conditions: list[JsonObject], scope: Scope) -> bool:
    """Whether matchConditions let a request in: none is false. ExpressionError if one fails and none is false."""
    failures: list[str] = []
    for condition in conditions:
        try:
            if scope.value(dig_str(condition, "expression")) is False:
                return False
        except ExpressionError as error:
            failures.append(str(error))
    if failures:
        raise ExpressionError(failures[0] if len(failures) == 1 else f"[{', '.join(failures)}]")
    return True


def webhook_conditions(config: JsonObject, review: Review, storage: Storage) -> bool:
    """Whether the matchConditions of a webhook hold. Forbidden if they cannot be evaluated and it must not be passed."""
    try:
        scope = Scope(review, review, decide=authorizer(storage, review.user))
        return conditions_hold(dig_objects(config, "matchConditions"), scope)
    except ExpressionError as error:
        if dig_str(config, "failurePolicy") == "Ignore":
            return False
        raise refusals.forbidden(review.resource, review.name, str(error)) from error


def namespace_object(matcher: Matcher, review: Review) -> JsonObject | None:
    """The namespace of a request as expressions see it; None for requests without one and for namespaces."""
    if review.resource.plural == "namespaces" or not review.namespace:
        return None
    return matcher.namespace(review.namespace)
