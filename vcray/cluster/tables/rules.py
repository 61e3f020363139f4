"""The cells of what governs others: budgets, bindings, admission, requests for certificates, flow control, devices."""

from __future__ import annotations

from vcray.api.ages import duration
from vcray.api.jsonview import condition, dig, dig_int, dig_list, dig_object, dig_objects, dig_str
from vcray.api.meta import JsonObject, JsonValue
from vcray.cluster.tables.cells import (
    NONE,
    UNSET,
    Cells,
    Printer,
    age,
    printer,
    selector,
)


def _budget(obj: JsonObject, now: float) -> Cells:
    least, most = dig(obj, "spec", "minAvailable"), dig(obj, "spec", "maxUnavailable")
    return [
        "N/A" if least is None else str(least),
        "N/A" if most is None else str(most),
        dig_int(obj, "status", "disruptionsAllowed"),
        age(obj, now),
    ]


def _binding(obj: JsonObject, now: float) -> Cells:
    role = dig_object(obj, "roleRef")
    subjects: dict[str, list[str]] = {"User": [], "Group": [], "ServiceAccount": []}
    for each in dig_objects(obj, "subjects"):
        kind, called = dig_str(each, "kind"), dig_str(each, "name")
        namespace = dig_str(each, "namespace")
        if kind == "ServiceAccount" and namespace:
            called = f"{namespace}/{called}"
        subjects.setdefault(kind, []).append(called)
    told = (", ".join(subjects[kind]) for kind in ("User", "Group", "ServiceAccount"))
    return [f"{dig_str(role, 'kind')}/{dig_str(role, 'name')}", age(obj, now), *told]


def _webhooks(obj: JsonObject, now: float) -> Cells:
    return [len(dig_objects(obj, "webhooks")), age(obj, now)]


def _policy(count: str) -> Printer:
    def cells(obj: JsonObject, now: float) -> Cells:
        kind = dig_object(obj, "spec", "paramKind")
        about = f"{dig_str(kind, 'apiVersion')}/{dig_str(kind, 'kind')}" if kind else UNSET
        return [len(dig_objects(obj, "spec", count.lower())), about, age(obj, now)]

    return printer(f"{count}:integer|ParamKind|Age", cells)


def _policy_binding(obj: JsonObject, now: float) -> Cells:
    parameter = dig_object(obj, "spec", "paramRef")
    about, called = UNSET, dig_str(parameter, "name")
    if called:
        about = f"{dig_str(parameter, 'namespace') or '*'}/{called}"
    elif parameter.get("selector") is not None:
        about = selector(parameter["selector"], "")
    return [dig_str(obj, "spec", "policyName"), about, age(obj, now)]


def _signing_request(obj: JsonObject, now: float) -> Cells:
    state = "Pending"
    if condition(obj, "Denied"):
        state = "Denied"
    elif condition(obj, "Approved"):
        state = "Approved"
    if condition(obj, "Failed"):
        state += ",Failed"
    if dig(obj, "status", "certificate"):
        state += ",Issued"
    seconds = dig(obj, "spec", "expirationSeconds")
    return [
        age(obj, now),
        dig_str(obj, "spec", "signerName") or NONE,
        dig_str(obj, "spec", "username"),
        duration(seconds) if isinstance(seconds, int) else NONE,
        state,
    ]


def _flow_schema(obj: JsonObject, now: float) -> Cells:
    return [
        dig_str(obj, "spec", "priorityLevelConfiguration", "name"),
        dig_int(obj, "spec", "matchingPrecedence"),
        dig_str(obj, "spec", "distinguisherMethod", "type") or NONE,
        age(obj, now),
        condition(obj, "Dangling") or "?",
    ]


def _priority_level(obj: JsonObject, now: float) -> Cells:
    limited = dig(obj, "spec", "limited")
    queuing = dig(limited, "limitResponse", "queuing")
    shares: JsonValue = dig_int(limited, "nominalConcurrencyShares") if isinstance(limited, dict) else NONE
    counts: list[JsonValue] = [
        dig_int(queuing, key) if isinstance(queuing, dict) else NONE
        for key in ("queues", "handSize", "queueLengthLimit")
    ]
    return [dig_str(obj, "spec", "type"), shares, *counts, age(obj, now)]


def _claim(obj: JsonObject, now: float) -> Cells:
    deleted, allocated = dig(obj, "metadata", "deletionTimestamp"), dig(obj, "status", "allocation")
    states = ["deleted"] if deleted else []
    if allocated is not None:
        states.append("allocated")
        states += ["reserved"] if dig_list(obj, "status", "reservedFor") else []
    elif not deleted:
        states.append("pending")
    return [",".join(states), age(obj, now)]


def _slice(obj: JsonObject, now: float) -> Cells:
    spec = dig_object(obj, "spec")
    pool = dig_str(spec, "pool", "name")
    return [dig_str(spec, "nodeName"), dig_str(spec, "driver"), pool, age(obj, now)]


def _aged(obj: JsonObject, now: float) -> Cells:
    return [age(obj, now)]


def _api_service(obj: JsonObject, now: float) -> Cells:
    service = dig_object(obj, "spec", "service")
    where = f"{dig_str(service, 'namespace')}/{dig_str(service, 'name')}" if service else "Local"
    return [where, condition(obj, "Available") or "Unknown", age(obj, now)]


_BINDINGS = "Role|Age|Users+|Groups+|ServiceAccounts+"
_ADMISSION, _RBAC = "admissionregistration.k8s.io", "rbac.authorization.k8s.io"
_FLOW, _RESOURCE = "flowcontrol.apiserver.k8s.io", "resource.k8s.io"
PRINTERS: dict[str, Printer] = {
    "poddisruptionbudgets.policy": printer(
        "Min Available|Max Unavailable|Allowed Disruptions:integer|Age", _budget
    ),
    f"rolebindings.{_RBAC}": printer(_BINDINGS, _binding),
    f"clusterrolebindings.{_RBAC}": printer(_BINDINGS, _binding),
    f"mutatingwebhookconfigurations.{_ADMISSION}": printer("Webhooks:integer|Age", _webhooks),
    f"validatingwebhookconfigurations.{_ADMISSION}": printer("Webhooks:integer|Age", _webhooks),
    f"validatingadmissionpolicies.{_ADMISSION}": _policy("Validations"),
    f"mutatingadmissionpolicies.{_ADMISSION}": _policy("Mutations"),
    f"validatingadmissionpolicybindings.{_ADMISSION}": printer("PolicyName|ParamRef|Age", _policy_binding),
    f"mutatingadmissionpolicybindings.{_ADMISSION}": printer("PolicyName|ParamRef|Age", _policy_binding),
    "certificatesigningrequests.certificates.k8s.io": printer(
        "Age|SignerName|Requestor|RequestedDuration|Condition", _signing_request
    ),
    f"flowschemas.{_FLOW}": printer(
        "PriorityLevel|MatchingPrecedence|DistinguisherMethod|Age|MissingPL", _flow_schema
    ),
    f"prioritylevelconfigurations.{_FLOW}": printer(
        "Type|NominalConcurrencyShares|Queues|HandSize|QueueLengthLimit|Age", _priority_level
    ),
    f"deviceclasses.{_RESOURCE}": printer("Age", _aged),
    f"resourceclaims.{_RESOURCE}": printer("State|Age", _claim),
    f"resourceclaimtemplates.{_RESOURCE}": printer("Age", _aged),
    f"resourceslices.{_RESOURCE}": printer("Node|Driver|Pool|Age", _slice),
    "apiservices.apiregistration.k8s.io": printer("Service|Available|Age", _api_service),
}
