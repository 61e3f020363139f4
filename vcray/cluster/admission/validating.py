"""ValidatingAdmissionPolicy: a request must satisfy every validation of every policy that is about it."""

from __future__ import annotations

import json
from dataclasses import dataclass

from vcray.api.jsonview import dig_list, dig_objects, dig_str
from vcray.api.meta import JsonObject
from vcray.cluster.admission.expressions import ExpressionError, Scope, conditions_hold
from vcray.cluster.admission.policies import Invocation, PolicySet
from vcray.cluster.objects import refusals
from vcray.cluster.objects.review import Review
from vcray.kube.errors import ApiError

_CODES = {"Unauthorized": 401, "Forbidden": 403, "RequestEntityTooLarge": 413, "Invalid": 422}
_LONGEST_MESSAGE = 5 * 1024


@dataclass(frozen=True, slots=True)
class Denial:
    """One validation that does not hold, or could not be judged."""

    policy: str
    binding: str
    message: str
    reason: str = "Invalid"

    def error(self, review: Review) -> ApiError:
        """The refusal of the whole request for this denial."""
        bound = f" with binding '{self.binding}'" if self.binding else ""
        told = f"ValidatingAdmissionPolicy '{self.policy}'{bound} denied request: {self.message}"
        error = refusals.forbidden(review.resource, review.name, told)
        error.reason, error.code = self.reason, _CODES.get(self.reason, 422)
        error.details = {**error.details, "causes": [{"message": told}]}
        return error


class ValidatingPolicies:
    """Judges requests by the stored ValidatingAdmissionPolicies and their bindings."""

    def __init__(self, policies: PolicySet) -> None:
        self._policies = policies

    def validate(self, review: Review) -> None:
        """Raise the refusal of the first denial; warn where a binding only warns."""
        if not self._policies.all():
            return
        denials: list[Denial] = []
        for one in self._policies.invocations(review):
            self._judge(one, review, denials)
        if denials:
            raise denials[0].error(review)

    def _judge(self, one: Invocation, review: Review, denials: list[Denial]) -> None:
        name, binding = one.policy.name, one.binding
        if one.scope is None:
            if not one.policy.ignores_failures:
                denials.append(Denial(name, binding, one.trouble))
            return
        actions = dig_list(one.binding_spec, "validationActions")
        for denial in _findings(one, one.scope):
            if "Deny" in actions:
                denials.append(denial)
            if "Warn" in actions:
                review.warnings.append(
                    f"Validation failed for ValidatingAdmissionPolicy '{name}' with binding '{binding}': {denial.message}"
                )
        denials += _annotations(one, one.scope)


def _findings(one: Invocation, scope: Scope) -> list[Denial]:
    policy, found = one.policy, list[Denial]()
    try:
        if not conditions_hold(dig_objects(policy.spec, "matchConditions"), scope):
            return []
    except ExpressionError as error:
        return [] if policy.ignores_failures else [Denial(policy.name, one.binding, str(error))]
    for validation in dig_objects(policy.spec, "validations"):
        try:
            if scope.value(dig_str(validation, "expression")) is not True:
                reason = dig_str(validation, "reason") or "Invalid"
                found.append(Denial(policy.name, one.binding, _message(validation, scope), reason))
        except ExpressionError as error:
            if not policy.ignores_failures:
                found.append(Denial(policy.name, one.binding, str(error)))
    return found


def _message(validation: JsonObject, scope: Scope) -> str:
    expression = dig_str(validation, "messageExpression")
    if expression:
        try:
            said = scope.value(expression)
        except ExpressionError:
            said = None
        told = said.strip() if isinstance(said, str) else ""
        if told and "\n" not in told and len(told.encode()) <= _LONGEST_MESSAGE:
            return told
    message = dig_str(validation, "message").strip()
    return message or f"failed expression: {dig_str(validation, 'expression').strip()}"


def _annotations(one: Invocation, scope: Scope) -> list[Denial]:
    """Evaluate the audit annotations, which nobody keeps here; those that fail deny as they would elsewhere."""
    found: list[Denial] = []
    for annotation in dig_objects(one.policy.spec, "auditAnnotations"):
        expression = dig_str(annotation, "valueExpression")
        try:
            value = scope.value(expression)
        except ExpressionError as error:
            if not one.policy.ignores_failures:
                found.append(Denial(one.policy.name, one.binding, str(error)))
            continue
        if value is not None and not isinstance(value, str):
            told = (
                f"valueExpression '{expression}' resulted in unsupported return type: {json.dumps(type(value).__name__)}. "
                "Return type must be either string or null."
            )
            found.append(Denial(one.policy.name, one.binding, told))
    return found
