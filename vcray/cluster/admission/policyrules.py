"""Whether admission policies and their bindings may be stored, in the words of their API."""

from __future__ import annotations

from vcray.api.formats import dns_subdomain, qualified_name
from vcray.api.jsonview import dig_list, dig_object, dig_objects, dig_str
from vcray.api.meta import JsonObject, JsonValue
from vcray.cel.program import Checker, CompileError
from vcray.cluster.admission.policytypes import policy_checker, type_words
from vcray.cluster.admission.registrations import check_rule, is_cel_name
from vcray.cluster.definitions.faults import Faults

_OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_MUTABLE = ("*", "CONNECT", "CREATE", "UPDATE")
_REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_ACTIONS = ("Audit", "Deny", "Warn")
_BOTH = (
    "must not contain both Deny and Warn (repeating the same validation failure information in the API response and "
    "headers serves no purpose)"
)
_NOTHING = "validations or auditAnnotations must contain at least one item"


def policy_faults(obj: JsonObject) -> list[str]:
    """What is wrong with a policy or a binding, by its kind."""
    faults, spec = Faults(), dig_object(obj, "spec")
    match dig_str(obj, "kind"):
        case "ValidatingAdmissionPolicy":
            _policy(spec, faults, _OPERATIONS)
            _validations(spec, dig_str(obj, "metadata", "name"), faults)
        case "MutatingAdmissionPolicy":
            _policy(spec, faults, _MUTABLE)
            _mutations(spec, faults)
        case "ValidatingAdmissionPolicyBinding":
            _binding(spec, faults)
            _actions(dig_list(spec, "validationActions"), faults)
        case "MutatingAdmissionPolicyBinding":
            _binding(spec, faults)
    return faults.found


def condition_faults(
    conditions: list[JsonObject], path: str, faults: Faults, spec: JsonObject | None = None
) -> None:
    """What is wrong with matchConditions: names, expressions, and how many there are."""
    if not conditions:
        return
    checker = policy_checker({"paramKind": (spec or {}).get("paramKind")}, composed=False)
    names: set[str] = set()
    for index, condition in enumerate(conditions):
        where, name = f"{path}[{index}]", dig_str(condition, "name")
        _expression(checker, dig_str(condition, "expression"), f"{where}.expression", faults, ("BOOL",))
        if not name:
            faults.required(f"{where}.name")
        for wrong in qualified_name(name) if name else ():
            faults.invalid(f"{where}.name", name, wrong)
        if name and name in names:
            faults.duplicate(f"{where}.name", name)
        names.add(name)
    if len(conditions) > 64:
        faults.found.append(f"{path}: Too many: {len(conditions)}: must have at most 64 items")


def _policy(spec: JsonObject, faults: Faults, operations: tuple[str, ...]) -> None:
    policy = spec.get("failurePolicy")
    if policy not in ("Fail", "Ignore", None):
        faults.unsupported("spec.failurePolicy", policy, ("Fail", "Ignore"))
    kind = spec.get("paramKind")
    if isinstance(kind, dict):
        for field in ("apiVersion", "kind"):
            if not kind.get(field):
                faults.required(f"spec.paramKind.{field}")
    constraints = spec.get("matchConstraints")
    if not isinstance(constraints, dict):
        faults.required("spec.matchConstraints")
    else:
        _match_resources(constraints, "spec.matchConstraints", faults, operations)
        if not dig_objects(constraints, "resourceRules"):
            faults.required("spec.matchConstraints.resourceRules")
    condition_faults(dig_objects(spec, "matchConditions"), "spec.matchConditions", faults, spec)
    checked: list[JsonValue] = []
    for index, variable in enumerate(dig_objects(spec, "variables")):
        _variable(variable, {**spec, "variables": list(checked)}, f"spec.variables[{index}]", faults)
        checked.append(variable)


def _match_resources(
    resources: JsonObject, path: str, faults: Faults, operations: tuple[str, ...] = _OPERATIONS
) -> None:
    policy = resources.get("matchPolicy")
    if policy not in ("Equivalent", "Exact", None):
        faults.unsupported(f"{path}.matchPolicy", policy, ("Equivalent", "Exact"))
    for field in ("resourceRules", "excludeResourceRules"):
        for index, rule in enumerate(dig_objects(resources, field)):
            where = f"{path}.{field}[{index}]"
            if operations is _MUTABLE and field == "resourceRules":
                for operation in dig_list(rule, "operations"):
                    if operation in _OPERATIONS and operation not in operations:
                        faults.unsupported(f"{path}.{field}.operations", operation, operations)
            _resource_names(dig_list(rule, "resourceNames"), f"{where}.resourceNames", faults)
            check_rule(rule, where, faults, _OPERATIONS)


def _resource_names(names: list[JsonValue], path: str, faults: Faults) -> None:
    for index, name in enumerate(names):
        if name in names[:index]:
            faults.duplicate(f"{path}[{index}]", name)


def _variable(variable: JsonObject, spec: JsonObject, path: str, faults: Faults) -> None:
    name, expression = dig_str(variable, "name"), dig_str(variable, "expression")
    if not name.strip():
        faults.required(f"{path}.name", "name is not specified")
    elif not is_cel_name(name):
        faults.invalid(f"{path}.name", name, "must be a valid CEL identifier")
    if not expression.strip():
        faults.required(f"{path}.expression", "expression is not specified")
    elif is_cel_name(name):
        _expression(policy_checker(_named(spec)), expression, f"{path}.expression", faults)


def _named(spec: JsonObject) -> JsonObject:
    """The policy with those variables only that can be named."""
    variables: list[JsonValue] = [
        item for item in dig_objects(spec, "variables") if is_cel_name(dig_str(item, "name"))
    ]
    return {**spec, "variables": variables}


def _expression(
    checker: Checker, expression: str, path: str, faults: Faults, results: tuple[str, ...] = ()
) -> str:
    """Check an expression, and that it has one of the result types; returns its type."""
    if not expression.strip():
        faults.required(path)
        return ""
    try:
        found = checker.check(expression).result
    except CompileError as error:
        faults.invalid(path, expression, f"compilation failed: {error}")
        return ""
    if results and found not in results:
        wanted = [type_words(name) for name in results]
        told = (
            f"must evaluate to {wanted[0]}"
            if len(wanted) == 1
            else f"must evaluate to one of [{' '.join(wanted)}]"
        )
        faults.invalid(path, expression, f"{told} but got {type_words(found)}")
    return found


def _validations(spec: JsonObject, name: str, faults: Faults) -> None:
    validations, annotations = dig_objects(spec, "validations"), dig_objects(spec, "auditAnnotations")
    if not validations and not annotations:
        faults.required("spec.validations", _NOTHING)
        faults.required("spec.auditAnnotations", _NOTHING)
        return
    checker, quiet = policy_checker(_named(spec)), policy_checker(_named(spec), authorizer=False)
    for index, validation in enumerate(validations):
        _validation(validation, f"spec.validations[{index}]", checker, quiet, faults)
    keys: set[str] = set()
    for index, annotation in enumerate(annotations):
        path, key = f"spec.auditAnnotations[{index}]", dig_str(annotation, "key")
        whole = f"{name}/{key}"
        for wrong in qualified_name(whole):
            faults.invalid(f"{path}.key", whole, wrong)
        expression = dig_str(annotation, "valueExpression")
        if not expression.strip():
            faults.required(f"{path}.valueExpression", "valueExpression is not specified")
        else:
            _expression(checker, expression, f"{path}.valueExpression", faults, ("STRING", "NULL"))
        if key in keys:
            faults.duplicate(f"{path}.key", key)
        keys.add(key)


def _validation(validation: JsonObject, path: str, checker: Checker, quiet: Checker, faults: Faults) -> None:
    expression, message = dig_str(validation, "expression"), dig_str(validation, "message")
    if not expression.strip():
        faults.required(f"{path}.expression", "expression is not specified")
    else:
        _expression(checker, expression, f"{path}.expression", faults, ("BOOL",))
    told = dig_str(validation, "messageExpression")
    if told and not told.strip():
        faults.invalid(f"{path}.messageExpression", told, "must be non-empty if specified")
    elif told:
        _expression(quiet, told, f"{path}.messageExpression", faults, ("STRING",))
    if message and not message.strip():
        faults.invalid(f"{path}.message", message, "must be non-empty if specified")
    elif "\n" in message.strip() or "\r" in message.strip():
        faults.invalid(f"{path}.message", message, "must not contain line breaks")
    reason = validation.get("reason")
    if reason is not None and reason not in _REASONS:
        faults.unsupported(f"{path}.reason", reason, _REASONS)


def _mutations(spec: JsonObject, faults: Faults) -> None:
    mutations = dig_objects(spec, "mutations")
    if not mutations:
        faults.required("spec.mutations", "mutations must contain at least one item")
    checker = policy_checker(_named(spec))
    for index, mutation in enumerate(mutations):
        _mutation(mutation, f"spec.mutations[{index}]", checker, faults)
    policy = spec.get("reinvocationPolicy")
    if not policy:
        faults.required("spec.reinvocationPolicy")
    elif policy not in ("IfNeeded", "Never"):
        faults.unsupported("spec.reinvocationPolicy", policy, ("IfNeeded", "Never"))


def _mutation(mutation: JsonObject, path: str, checker: Checker, faults: Faults) -> None:
    kind = dig_str(mutation, "patchType")
    fields = {"ApplyConfiguration": "applyConfiguration", "JSONPatch": "jsonPatch"}
    field = fields.get(kind)
    if field is None:
        if kind:
            faults.unsupported(f"{path}.patchType", kind, tuple(fields))
        else:
            faults.required(f"{path}.patchType")
        return
    if not isinstance(mutation.get(field), dict):
        faults.required(f"{path}.{field}", f"must be specified when patchType is {kind}")
    else:
        where = f"{path}.{field}.expression"
        _patch(checker, dig_str(mutation, field, "expression"), where, kind, faults)
    other = next(name for name in fields.values() if name != field)
    if mutation.get(other) is not None:
        why = f"must not be specified when patchType is {kind}"
        faults.invalid(f"{path}.{other}", f"{{{other}}}", why)


def _patch(checker: Checker, expression: str, path: str, kind: str, faults: Faults) -> None:
    """Typed objects are maps to our checker, lists of patches are lists of maps."""
    found = _expression(checker, expression, path, faults)
    wanted, start = ("Object", "MAP<") if kind == "ApplyConfiguration" else ("list(JSONPatch)", "LIST<")
    if found and found != "DYN" and not found.startswith(start):
        told = "Object" if found.startswith("MAP<") else type_words(found)
        faults.invalid(path, expression, f"must evaluate to {wanted} but got {told}")


def _binding(spec: JsonObject, faults: Faults) -> None:
    name = dig_str(spec, "policyName")
    if not name:
        faults.required("spec.policyName")
    for wrong in dns_subdomain(name) if name else ():
        faults.invalid("spec.policyName", name, wrong)
    reference = spec.get("paramRef")
    if isinstance(reference, dict):
        _reference(reference, faults)
    resources = spec.get("matchResources")
    if isinstance(resources, dict):
        _match_resources(resources, "spec.matchResources", faults)


def _reference(reference: JsonObject, faults: Faults) -> None:
    name, selector = dig_str(reference, "name"), reference.get("selector")
    if name and selector is not None:
        for field in ("name", "selector"):
            faults.forbidden(f"spec.paramRef.{field}", "name and selector are mutually exclusive")
    if not name and selector is None:
        faults.required("spec.paramRef", "one of name or selector must be specified")
    action = reference.get("parameterNotFoundAction")
    if not action:
        faults.required("spec.paramRef.parameterNotFoundAction")
    elif action not in ("Deny", "Allow"):
        faults.unsupported("spec.paramRef.parameterNotFoundAction", action, ("Deny", "Allow"))


def _actions(actions: list[JsonValue], faults: Faults) -> None:
    path = "spec.validationActions"
    if not actions:
        faults.required(path, "at least one validation action is required")
    for index, action in enumerate(actions):
        if action in actions[:index]:
            faults.duplicate(f"{path}[{index}]", action)
        elif action not in _ACTIONS:
            faults.unsupported(f"{path}[{index}]", action, _ACTIONS)
    if "Deny" in actions and "Warn" in actions:
        faults.invalid(path, actions, _BOTH)
