"""A slip of the pen inside an argument is told with its place and its neighbour, however deep it stands."""

from __future__ import annotations

import pytest

from vcray.core.plugin import Args
from vcray.plugins.binpack import BinpackArgs
from vcray.plugins.deviceshare.arguments import DeviceShareArgs
from vcray.plugins.network_topology_aware import NetworkTopologyAwareArgs
from vcray.plugins.rescheduling import ReschedulingArgs
from vcray.plugins.resource_strategy_fit.arguments import ResourceStrategyFitArgs, Sra, Strategies
from vcray.plugins.usage.arguments import UsageArgs

GPU = "nvidia.com/gpu"


@pytest.mark.parametrize(
    ("model", "given", "place", "what"),
    [
        (
            ResourceStrategyFitArgs,
            {"resources": {"cpu": {"type": "LeastAllocated", "weigth": 3}}},
            "resources.cpu.weigth",
            "unknown key 'weigth' has no effect; did you mean 'weight'?",
        ),
        (
            ResourceStrategyFitArgs,
            {"resources": {"cpu": {"type": "LeastAlocated"}}},
            "resources.cpu.type",
            "must be LeastAllocated or MostAllocated, got 'LeastAlocated'; LeastAllocated is taken",
        ),
        (
            ResourceStrategyFitArgs,
            {"sra": {"enable": True, "weigth": 3}},
            "sra.weigth",
            "unknown key 'weigth' has no effect; did you mean 'weight'?",
        ),
        (
            ResourceStrategyFitArgs,
            {"sra": {"enable": True, "resourceWieght": {GPU: 2}}},
            "sra.resourceWieght",
            "unknown key 'resourceWieght' has no effect; did you mean 'resourceWeight'?",
        ),
        (
            ResourceStrategyFitArgs,
            {"sra": {"resources": GPU, "resourceWeight": {"nvidia.com/gp": 2}}},
            "sra.resourceWeight.nvidia.com/gp",
            f"has no effect: sra.resources does not name 'nvidia.com/gp'; did you mean '{GPU}'?",
        ),
        (
            ResourceStrategyFitArgs,
            {"proportional": {"enabled": True, "resources": GPU}},
            "proportional.enabled",
            "unknown key 'enabled' has no effect; did you mean 'enable'?",
        ),
        (
            ResourceStrategyFitArgs,
            {"proportional": {"resources": GPU, "resourceProportion": {f"{GPU}.mem": 2}}},
            f"proportional.resourceProportion.{GPU}.mem",
            f"unknown key '{GPU}.mem' has no effect; did you mean '{GPU}.memory'?",
        ),
        (
            ReschedulingArgs,
            {"strategies": [{"name": "lowNodeUtilization", "param": {}}]},
            "strategies[0].param",
            "unknown key 'param' has no effect; did you mean 'params'?",
        ),
        (
            ReschedulingArgs,
            {"strategies": [{"name": "lowNodeUtilisation"}]},
            "strategies[0].name",
            "unknown strategy 'lowNodeUtilisation' has no effect; did you mean 'lowNodeUtilization'?",
        ),
        (
            ReschedulingArgs,
            {"strategies": [{"name": "lowNodeUtilization", "params": {"tresholds": {"cpu": 20}}}]},
            "strategies[0].params.tresholds",
            "unknown key 'tresholds' has no effect; did you mean 'thresholds'?",
        ),
        (
            ReschedulingArgs,
            {"strategies": [{"name": "lowNodeUtilization", "params": {"thresholds": {"memroy": 20}}}]},
            "strategies[0].params.thresholds.memroy",
            "unknown key 'memroy' has no effect; did you mean 'memory'?",
        ),
        (
            UsageArgs,
            {"thresholds": {"memory": 50}},
            "thresholds.memory",
            "unknown key 'memory' has no effect; did you mean 'mem'?",
        ),
        (
            UsageArgs,
            {"estimator": {"request-ratio": 0.5}},
            "estimator.request-ratio",
            "unknown key 'request-ratio' has no effect; did you mean 'request_ratio'?",
        ),
        (
            BinpackArgs,
            {"binpack.resources": GPU, "binpack.resources.nvidia.com/gp": 5},
            "binpack.resources.nvidia.com/gp",
            f"has no effect: binpack.resources does not name 'nvidia.com/gp'; did you mean '{GPU}'?",
        ),
        (
            NetworkTopologyAwareArgs,
            {"hypernode.binpack.resources.nvidia.com/gpu": 5},
            "hypernode.binpack.resources.nvidia.com/gpu",
            f"has no effect: hypernode.binpack.resources does not name '{GPU}'",
        ),
        (
            DeviceShareArgs,
            {"deviceshare.SchedulePolicy": "bin-pack"},
            "deviceshare.SchedulePolicy",
            "unknown policy 'bin-pack' has no effect; did you mean 'binpack'?",
        ),
    ],
)
def test_a_slip_inside_an_argument_is_told(
    model: type[Args], given: dict[str, object], place: str, what: str
) -> None:
    _, problems = model.read(given, "here")  # type: ignore[arg-type]

    assert [str(problem) for problem in problems] == [f"VC0108 here.{place}: {what}"]


def test_keys_of_maps_may_have_any_case_as_in_volcano() -> None:
    given = {
        "resources": {"cpu": {"Type": "MostAllocated", "Weight": 3}},
        "sra": {"Enable": True, "WEIGHT": 2},
    }
    args, problems = ResourceStrategyFitArgs.read(given, "here")  # type: ignore[arg-type]

    strategy = Strategies.of(args.resources).get("cpu")
    assert strategy is not None
    assert (strategy.most, strategy.weight, Sra.of(args.sra).weight, problems) == (True, 3, 2, [])


@pytest.mark.parametrize("policy", ["", "binpack", "spread"])
def test_policies_of_cards_that_exist_pass(policy: str) -> None:
    assert DeviceShareArgs.read({"deviceshare.SchedulePolicy": policy}, "here")[1] == []


def test_what_volcano_declares_and_never_reads_is_no_slip_of_the_pen() -> None:
    params = {"thresholdPriorityClassName": "system-cluster-critical", "nodeFit": True}
    given = {"strategies": [{"name": "lowNodeUtilization", "params": params}]}

    assert ReschedulingArgs.read(given, "here")[1] == []  # type: ignore[arg-type]
