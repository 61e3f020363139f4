"""Admission of pods: what they are given, what is refused, and how little they are held up."""

from __future__ import annotations

import pytest

from tests.webhooks.seen import ask
from vcray.api import names
from vcray.api.meta import JsonObject, JsonValue
from vcray.webhooks.base import Patch
from vcray.webhooks.pods import mutate, validate
from vcray.webhooks.resource_groups import ResourceGroup, read_groups

GATE = names.QUEUE_ALLOCATION_GATE
CONF = """
resourceGroups:
- resourceGroup: gpu
  object: {key: namespace, value: [vision, speech]}
  schedulerName: volcano
  tolerations:
  - {key: gpu, operator: Exists, effect: NoExecute, tolerationseconds: 60}
  labels: {pool: gpu}
  affinity: '{"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
    {"nodeSelectorTerms": [{"matchExpressions": [{"key": "gpu", "operator": "Exists"}]}]}}}'
- resourceGroup: cpu
  labels: {pool: cpu}
- resourceGroup: marked
  object: {key: annotation, value: ["team: red", "team: blue"]}
  schedulerName: other
"""
AFFINITY: JsonObject = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": "gpu", "operator": "Exists"}]}]
        }
    }
}
GROUPS = read_groups(CONF, "conf").groups


def pod(annotations: JsonObject | None = None, namespace: str = "", **spec: JsonValue) -> JsonObject:
    metadata: JsonObject = {"name": "p", "annotations": annotations or {}}
    if namespace:
        metadata["namespace"] = namespace
    return {"metadata": metadata, "spec": {"containers": [], "schedulerName": "default-scheduler", **spec}}


def patch_of(
    new: JsonObject, groups: tuple[ResourceGroup, ...] | None = GROUPS, **rules: object
) -> Patch | None:
    answer = mutate(ask("CREATE", new, resource_groups=groups, **rules))
    assert answer.allowed
    return answer.patch


def added(field: str, value: JsonValue) -> JsonObject:
    return {"op": "add", "path": f"/spec/{field}", "value": value}


# -- groups -----------------------------------------------------------------------------------------------------------


def test_pod_of_a_namespace_is_given_all_of_its_group_in_order() -> None:
    mine: JsonObject = {"key": "mine", "operator": "Exists"}
    new = pod(namespace="speech", nodeSelector={"zone": "a", "pool": "any"}, tolerations=[mine])

    gpu: JsonObject = {"key": "gpu", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60}
    assert patch_of(new) == (
        added("nodeSelector", {"zone": "a", "pool": "gpu"}),
        added("affinity", AFFINITY),
        added("tolerations", [mine, gpu]),
        added("schedulerName", "volcano"),
    )


def test_affinity_of_the_pod_stays() -> None:
    patch = patch_of(pod(namespace="vision", affinity={"podAffinity": {}}))

    assert patch is not None
    assert "/spec/affinity" not in [step["path"] for step in patch]


def test_group_without_an_object_holds_pods_that_name_it() -> None:
    assert patch_of(pod({names.RESOURCE_GROUP: "cpu"})) == (added("nodeSelector", {"pool": "cpu"}),)


@pytest.mark.parametrize("team", ["red", "blue"])
def test_one_annotation_of_several_suffices(team: str) -> None:
    assert patch_of(pod({"team": team})) == (added("schedulerName", "other"),)


def test_first_group_wins() -> None:
    patch = patch_of(pod({names.RESOURCE_GROUP: "cpu", "team": "red"}))

    assert patch == (added("nodeSelector", {"pool": "cpu"}),)


def test_namespace_may_stand_in_the_request_alone() -> None:
    request = ask("CREATE", pod(), resource_groups=GROUPS)
    elsewhere = type(request)("CREATE", "vision", "p", request.new, {}, request.look, request.rules)

    assert mutate(request).patch == ()
    assert mutate(elsewhere).patch


def test_pod_of_no_group_is_left_alone() -> None:
    assert patch_of(pod({"team": "green"}, namespace="team")) == ()
    assert patch_of(pod(), ()) == ()


def test_without_a_configuration_there_is_no_patch_at_all() -> None:
    assert patch_of(pod({names.RESOURCE_GROUP: "cpu", GATE: "true"}), None, gate_pods=True) is None


# -- the gate ---------------------------------------------------------------------------------------------------------


def test_gate_comes_first_and_behind_those_that_are_there() -> None:
    new = pod(
        {GATE: "true", names.RESOURCE_GROUP: "cpu"}, schedulerName="volcano", schedulingGates=[{"name": "x"}]
    )

    assert patch_of(new, gate_pods=True) == (
        added("schedulingGates", [{"name": "x"}, {"name": GATE}]),
        added("nodeSelector", {"pool": "cpu"}),
    )


def test_gate_needs_no_group() -> None:
    new = pod({GATE: "true"}, schedulerName="volcano")

    assert patch_of(new, (), gate_pods=True) == (added("schedulingGates", [{"name": GATE}]),)


@pytest.mark.parametrize(
    ("mark", "gates", "enabled"),
    [("true", [], False), ("false", [], True), ("True", [], True), ("true", [{"name": GATE}], True)],
    ids=["feature off", "not wanted", "misspelt", "there already"],
)
def test_no_gate_where_none_is_due(mark: str, gates: list[JsonValue], enabled: bool) -> None:
    new = pod({GATE: mark}, schedulerName="volcano", schedulingGates=gates)

    assert patch_of(new, gate_pods=enabled) == ()


def test_pod_of_another_scheduler_is_not_gated_for_ever() -> None:
    wants: JsonObject = {GATE: "true"}

    assert patch_of(pod(wants), gate_pods=True) == ()
    assert patch_of(pod(wants, schedulerName="second"), gate_pods=True, other_scheduler_names=("second",))
    moved = patch_of(pod(wants, namespace="vision"), gate_pods=True)
    assert moved is not None
    assert moved[0] == added("schedulingGates", [{"name": GATE}])


def test_mutate_answers_only_creations() -> None:
    assert mutate(ask("UPDATE", pod())).problem == "expect operation to be 'CREATE' "


# -- budgets ----------------------------------------------------------------------------------------------------------

LEAST, MOST = names.JDB_MIN_AVAILABLE, names.JDB_MAX_UNAVAILABLE
INTEGER = "it must be a positive integer"
PERCENTAGE = "it must be a valid percentage which between 1% ~ 99%"


def told(annotations: JsonObject, scheduler: str = "volcano") -> str:
    return validate(ask("CREATE", pod(annotations, schedulerName=scheduler))).problem


@pytest.mark.parametrize("key", [LEAST, MOST])
@pytest.mark.parametrize("value", ["1", "+5", "2147483647", "1%", "99%", "%50"])
def test_budget_that_can_be_read_passes(key: str, value: str) -> None:
    assert told({key: value}) == ""


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ("0", f'<"0">{{}}, {INTEGER}'),
        ("-3", f'<"-3">{{}}, {INTEGER}'),
        ("0%", f'<"0%">{{}}, {PERCENTAGE}'),
        ("100%", f'<"100%">{{}}, {PERCENTAGE}'),
        ("-5%", f'<"-5%">{{}}, {PERCENTAGE}'),
        ("2147483648", f'<"2147483648">{{}}, {PERCENTAGE}'),
        ("many", 'strconv.Atoi: parsing "many": invalid syntax{}'),
        ("x%", 'strconv.Atoi: parsing "x": invalid syntax{}'),
        ("", 'strconv.Atoi: parsing "": invalid syntax{}'),
        ("9" * 20, f'strconv.Atoi: parsing "{"9" * 20}": value out of range{{}}'),
    ],
)
@pytest.mark.parametrize("key", [LEAST, MOST])
def test_budget_that_cannot_be_read_is_refused(key: str, value: str, what: str) -> None:
    assert told({key: value}) == f"invalid value {what.format(f' for {key}')}"


def test_one_budget_is_enough() -> None:
    assert told({LEAST: "1", MOST: "50%"}) == (
        "not allow configure multiple annotations "
        "<[volcano.sh/jdb-min-available volcano.sh/jdb-max-unavailable]> at same time"
    )


def test_wrong_budget_is_told_before_there_being_two() -> None:
    assert told({LEAST: "1", MOST: "0"}) == f'invalid value <"0"> for {MOST}, {INTEGER}'


def test_pods_of_other_schedulers_are_not_judged() -> None:
    assert told({LEAST: "many"}, "default-scheduler") == ""
    assert validate(ask("CREATE", {"spec": {}})).allowed


def test_all_schedulers_of_ours_are_judged() -> None:
    new = pod({LEAST: "0"}, schedulerName="second")

    assert not validate(ask("CREATE", new, other_scheduler_names=("second",))).allowed


def test_validate_answers_only_creations() -> None:
    assert validate(ask("UPDATE", pod())).problem == "expect operation to be 'CREATE'"
