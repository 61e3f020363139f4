"""Arguments are taken as Volcano's getters take them; what is wrong is told and changes nothing."""

from __future__ import annotations

import pytest
from pydantic import Field

from tests.builders import GPU
from vcray.core.plugin import Args
from vcray.plugins.binpack import BinpackArgs
from vcray.plugins.capacity import CapacityArgs
from vcray.plugins.deviceshare.arguments import DeviceShareArgs
from vcray.plugins.extender.arguments import ExtenderArgs
from vcray.plugins.network_topology_aware import NetworkTopologyAwareArgs
from vcray.plugins.nodeorder import NodeorderArgs
from vcray.plugins.overcommit import OvercommitArgs
from vcray.plugins.predicates import PredicatesArgs
from vcray.plugins.rescheduling import ReschedulingArgs
from vcray.plugins.resource_strategy_fit.arguments import ResourceStrategyFitArgs
from vcray.plugins.sla import SlaArgs
from vcray.plugins.tdm import TdmArgs
from vcray.plugins.usage.arguments import UsageArgs


@pytest.mark.parametrize("value", ["10", 10.0, True, None, [1]])
def test_only_a_yaml_int_is_a_whole_number(value: object) -> None:
    args, problems = NodeorderArgs.read({"leastrequested.weight": value}, "here")  # type: ignore[dict-item]
    assert args.least == 1
    (problem,) = problems
    assert (problem.code, problem.where) == ("VC0108", "here.leastrequested.weight")
    assert "whole number" in problem.what
    assert "default" in problem.what


def test_a_number_may_be_whole_and_a_bool_may_be_spelled() -> None:
    args, problems = OvercommitArgs.read({"overcommit-factor": 2}, "here")
    assert (args.factor, problems) == (2.0, [])
    spelled = {"predicate.NodePortsEnable": "false", "predicate.PodAffinityEnable": "T"}
    switches, problems = PredicatesArgs.read(spelled, "here")  # type: ignore[arg-type]
    assert (switches.node_ports, switches.pod_affinity, problems) == (False, True, [])


def test_a_misspelt_key_is_told_with_its_neighbour() -> None:
    _, (problem,) = NodeorderArgs.read({"leastrequest.weight": 1}, "here")
    assert "did you mean 'leastrequested.weight'" in problem.what


def test_keys_that_end_in_a_resource_are_known_by_their_beginning() -> None:
    given = {"binpack.resources": GPU, f"binpack.resources.{GPU}": 5, "binpack.resources.x/y": "5"}
    args, problems = BinpackArgs.read(given, "here")  # type: ignore[arg-type]
    assert (args.model_extra or {})[f"binpack.resources.{GPU}"] == 5
    assert [problem.where for problem in problems] == ["here.binpack.resources.x/y"]


def test_settings_of_any_shape_are_taken_as_they_come() -> None:
    shape = [{"utilization": 0, "score": 0}]
    args, problems = PredicatesArgs.read({"volumebinding.shape": shape}, "here")  # type: ignore[dict-item]
    assert (args.volume_shape, problems) == (shape, [])


@pytest.mark.parametrize("text", ["soon", "0s", "-5m", ""])
def test_a_text_that_is_no_duration_keeps_the_default_and_is_told(text: str) -> None:
    args, (problem,) = TdmArgs.read({"tdm.evict.period": text}, "here")
    assert (args.seconds(), problem.where) == (60.0, "here.tdm.evict.period")
    assert "duration" in problem.what
    assert ExtenderArgs.read({"extender.httpTimeout": text}, "here")[0].timeout_s() == 1.0
    assert ReschedulingArgs.read({"interval": text}, "here")[0].seconds() == 300.0
    assert SlaArgs.read({"sla-waiting-time": text}, "here")[0].waiting_time == ""


def test_hours_that_cannot_be_read_are_told() -> None:
    _, (problem,) = TdmArgs.read(
        {"tdm.revocable-zone.a": "10-12", "tdm.revocable-zone.b": "10:00-12:00"}, "here"
    )
    assert problem.where == "here.tdm.revocable-zone.a"


@pytest.mark.parametrize(
    ("plugin", "key", "meant"),
    [
        (TdmArgs, "tdm.revocable-zones.rz1", "; did you mean 'tdm.revocable-zone.rz1'?"),
        (TdmArgs, "tdm.evict.periods", "; did you mean 'tdm.evict.period'?"),
        (TdmArgs, "zone", "; known: tdm.evict.period"),
        (
            BinpackArgs,
            "binpack.resource.nvidia.com/gpu",
            "; did you mean 'binpack.resources.nvidia.com/gpu'?",
        ),
        (BinpackArgs, "binpack.resource", "; did you mean 'binpack.resources'?"),
    ],
)
def test_a_key_near_to_a_family_is_told_as_a_key_of_that_family(
    plugin: type[Args], key: str, meant: str
) -> None:
    _, (problem,) = plugin.read({key: "x"}, "here")
    assert str(problem) == f"VC0108 here.{key}: unknown argument '{key}' has no effect{meant}"


class Strict(Args):
    """Arguments of a user's plugin, with rules of their own."""

    share: float = Field(0.5, ge=0, le=1, alias="mine.share")
    names: list[str] = Field([], alias="mine.names")
    table: dict = Field({}, alias="mine.table")  # type: ignore[type-arg]


def test_what_a_models_own_rules_refuse_is_told_and_the_default_kept() -> None:
    args, problems = Strict.read({"mine.share": 3, "mine.names": "a", "mine.table": {"a": 1}}, "x")

    assert (args.share, args.names, args.table) == (0.5, [], {"a": 1})
    assert [str(each) for each in problems] == [
        "VC0108 x.mine.share: input should be less than or equal to 1, got 3.0; the default is kept",
        "VC0108 x.mine.names: input should be a valid list, got 'a'; the default is kept",
    ]


def test_an_argument_without_a_value_keeps_its_default() -> None:
    args, problems = Strict.read({"mine.table": None, "mine.share": None}, "x")

    assert (args.table, args.share) == ({}, 0.5)
    assert [str(each) for each in problems] == [
        "VC0108 x.mine.table: must be something, got None; the default is kept",
        "VC0108 x.mine.share: must be a number, got None; the default is kept",
    ]


@pytest.mark.parametrize(
    ("model", "key", "given", "least"),
    [
        (OvercommitArgs, "overcommit-factor", 0.5, 1),
        (BinpackArgs, "binpack.cpu", -1, 0),
        (CapacityArgs, "ancestorReclaimLevel", -1, 0),
        (NetworkTopologyAwareArgs, "weight", -1, 0),
        (NetworkTopologyAwareArgs, "hypernode.binpack.normal-pod.fading", -0.1, 0),
        (NetworkTopologyAwareArgs, "hypernode.gradient.evict.max-hypernodes", 0, 1),
        (ResourceStrategyFitArgs, "resourceStrategyFitWeight", -1, 0),
        (UsageArgs, "cpu.weight", -1, 0),
    ],
)
def test_a_number_that_is_replaced_is_told(model: type[Args], key: str, given: float, least: float) -> None:
    args, (problem,) = model.read({key: given}, "here")
    assert (args, problem.code, problem.where) == (model(), "VC0108", f"here.{key}")
    assert problem.what == f"must be at least {least}, got {given}; the default is kept"
    assert model.read({key: least}, "here")[1] == []


def test_a_weight_of_a_family_that_is_replaced_is_told() -> None:
    given = {"binpack.resources": GPU, f"binpack.resources.{GPU}": -2}
    args, (problem,) = BinpackArgs.read(given, "here")  # type: ignore[arg-type]
    assert (args.model_extra, problem.where) == ({}, f"here.binpack.resources.{GPU}")
    assert problem.what == "must be at least 0, got -2; the default is kept"


def test_numbers_inside_maps_that_are_replaced_are_told() -> None:
    maps = {
        "resources": {"cpu": {"weight": 0}},
        "sra": {"enable": True, "weight": -1, "resources": GPU, "resourceWeight": {GPU: -1}},
        "proportional": {
            "enable": True,
            "resources": GPU,
            "resourceProportion": {f"{GPU}.cpu": -1, f"{GPU}.memory": 2},
        },
    }
    _, problems = ResourceStrategyFitArgs.read(maps, "here")  # type: ignore[arg-type]
    assert [(each.where, each.what.partition(",")[0]) for each in problems] == [
        ("here.resources.cpu.weight", "must be at least 1"),
        ("here.sra.weight", "must be at least 0"),
        (f"here.sra.resourceWeight.{GPU}", "must be at least 0"),
        (f"here.proportional.resourceProportion.{GPU}.cpu", "must be at least 0"),
    ]


@pytest.mark.parametrize("switch", ["GPUSharingEnable", "GPUNumberEnable", "VGPUEnable"])
def test_switches_that_moved_to_another_plugin_are_told_with_their_new_name(switch: str) -> None:
    _, (problem,) = PredicatesArgs.read({f"predicate.{switch}": True}, "here")
    assert problem.what == (
        f"unknown argument 'predicate.{switch}' has no effect; it is `deviceshare.{switch}` of the plugin deviceshare now"
    )
    assert f"deviceshare.{switch}" in {field.alias for field in DeviceShareArgs.model_fields.values()}
