"""GpuShare, Ascend chips of HAMi, and 310P chips of MindCluster: what fits and what is written."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from tests.builders import Amount, node, pod
from tests.plugins.cardworlds import config_map, placed, policy, world
from vcray.api.meta import JsonObject
from vcray.core.plugin import Args
from vcray.plugins.deviceshare import DeviceShare
from vcray.plugins.deviceshare.arguments import DeviceShareArgs

GPU_MEMORY, GPU_NUMBER = "volcano.sh/gpu-memory", "volcano.sh/gpu-number"
CHIP, CHIP_MEMORY = "huawei.com/Ascend310P", "huawei.com/Ascend310P-memory"
CORE = "huawei.com/npu-core"


def asking(name: str, resources: Mapping[str, Amount], **more: object) -> JsonObject:
    return pod(name, group=name, resources=resources, **more)  # type: ignore[arg-type]


# ---- GpuShare ----


def test_memory_goes_to_the_first_card_with_room_and_unhealthy_cards_are_left_out() -> None:
    cards = node(
        "n1", resources={GPU_MEMORY: 30, GPU_NUMBER: 3}, annotations={"volcano.sh/gpu-unhealthy-ids": "0"}
    )
    pods = [asking(f"p{i}", {GPU_MEMORY: 6}, created=i) for i in range(3)]
    found = placed(world(cards, *pods), policy(GPUSharingEnable=True))
    assert sorted(notes["volcano.sh/gpu-index"] for _, notes in found.values()) == ["1", "2"]
    assert found["p0"][1]["volcano.sh/predicate-time"] == "1790000000000000000"


def test_a_pod_that_runs_holds_its_memory_on_its_card() -> None:
    cards = node("n1", resources={GPU_MEMORY: 20, GPU_NUMBER: 2})
    held = asking("r", {GPU_MEMORY: 6}, node="n1", annotations={"volcano.sh/gpu-index": "0"})
    found = placed(world(cards, held, asking("p", {GPU_MEMORY: 6})), policy(GPUSharingEnable=True))
    assert found["p"][1]["volcano.sh/gpu-index"] == "1"


def test_whole_cards_are_those_that_nobody_is_on() -> None:
    cards = node("n1", resources={GPU_NUMBER: 4})
    held = asking("r", {GPU_NUMBER: 1}, node="n1", annotations={"volcano.sh/gpu-index": "1"})
    found = placed(world(cards, held, asking("p", {GPU_NUMBER: 2})), policy(GPUNumberEnable=True))
    assert found["p"][1]["volcano.sh/gpu-index"] == "0,2"


def test_the_largest_moment_of_initialisation_counts_with_the_sidecars_before_it() -> None:
    def limits(amount: int) -> JsonObject:
        return {"limits": {GPU_MEMORY: str(amount)}}

    spec = {
        "initContainers": [
            {"name": "s", "restartPolicy": "Always", "resources": limits(3)},
            {"name": "i", "resources": limits(5)},
        ],
        "containers": [{"name": "m", "resources": limits(2)}],
    }
    for memory, fits in ((7, False), (8, True)):
        cards = node("n1", resources={GPU_MEMORY: 2 * memory, GPU_NUMBER: 2})
        found = placed(world(cards, pod("p", group="p", spec=spec)), policy(GPUSharingEnable=True))  # type: ignore[arg-type]
        assert bool(found) is fits


# ---- arguments ----


def test_two_ways_to_share_the_same_cards_are_a_problem_and_the_later_is_off() -> None:
    given = {"deviceshare.VGPUEnable": True, "deviceshare.GPUSharingEnable": "true"}
    args, problems = DeviceShareArgs.read(given, "here")  # type: ignore[arg-type]
    assert (args.vgpu, args.gpu_sharing) == (True, False)
    assert [(problem.code, problem.where) for problem in problems] == [
        ("VC0108", "here.deviceshare.GPUSharingEnable")
    ]


def test_rules_that_are_no_label_maps_have_no_effect() -> None:
    args, problems = DeviceShareArgs.read({"deviceshare.GPUExclusiveRules": ["app"]}, "here")
    assert args.rules == ()
    assert len(problems) == 1
    args, problems = DeviceShareArgs.read({"deviceshare.GPUExclusiveRules": [{"b": "2", "a": "1"}]}, "here")
    assert args.rules == ((("a", "1"), ("b", "2")),)
    assert problems == []


def test_every_argument_of_volcano_is_known() -> None:
    names = {field.alias for field in DeviceShareArgs.model_fields.values()}
    assert {name.partition(".")[2] for name in names if name} == {
        "GPUSharingEnable", "GPUNumberEnable", "VGPUEnable", "AscendMindClusterVNPUEnable", "AscendHAMiVNPUEnable",
        "NodeLockEnable", "SchedulePolicy", "ScheduleWeight", "KnownGeometriesCMName", "KnownGeometriesCMNamespace",
        "GPUExclusiveRules",
    }  # fmt: skip
    assert issubclass(DeviceShare.args_model, Args)


# ---- Ascend chips of HAMi ----


def chips(count: int = 2, name: str = "n1", word: str = "Ascend310P", **notes: str) -> JsonObject:
    told = [
        {"id": f"{name}-{i}", "count": 7, "devmem": 21527, "devcore": 8, "type": word, "health": True}
        for i in range(count)
    ]
    annotations = {f"hami.io/node-register-{word}": json.dumps(told), **notes}
    return node(name, resources={f"huawei.com/{word}": 7 * count}, annotations=annotations)


@pytest.mark.parametrize(
    ("asked", "given", "template"),
    [(100, 3072, "vir01"), (3073, 6144, "vir02"), (12288, 12288, "vir04"), (20000, 21527, "")],
)
def test_memory_is_rounded_up_to_a_template(asked: int, given: int, template: str) -> None:
    found = placed(
        world(chips(), asking("p", {CHIP: 1, CHIP_MEMORY: asked})), policy(AscendHAMiVNPUEnable=True)
    )
    notes = found["p"][1]
    assert notes["hami.io/Ascend310P-devices-to-allocate"] == f"n1-0,Ascend310P,{given},0:;"
    assert notes["hami.io/Ascend310P-devices-allocated"] == notes["hami.io/Ascend310P-devices-to-allocate"]
    runtime = json.loads(notes["huawei.com/Ascend310P"])
    assert runtime == [{"UUID": "n1-0", **({"temp": template} if template else {})}]
    assert {notes["hami.io/vgpu-node"], notes["hami.io/bind-phase"]} == {"n1", "allocating"}


def test_what_no_chip_holds_and_parts_of_several_chips_are_refused() -> None:
    for amounts in ({CHIP: 1, CHIP_MEMORY: 30000}, {CHIP: 2, CHIP_MEMORY: 3000}, {CHIP: 3}):
        assert placed(world(chips(), asking("p", amounts)), policy(AscendHAMiVNPUEnable=True)) == {}
    assert placed(world(chips(), asking("p", {CHIP: 2})), policy(AscendHAMiVNPUEnable=True))["p"][0] == "n1"


def test_chips_without_templates_are_split_where_the_node_says_so() -> None:
    pods = [asking("p", {CHIP: 1, CHIP_MEMORY: 5000}, annotations={"huawei.com/vnpu-mode": "hami-core"})]
    rules = policy(AscendHAMiVNPUEnable=True)
    assert placed(world(chips(), *pods), rules) == {}
    found = placed(world(chips(), chips(name="n2", **{"hami-vnpu-core": "true"}), *pods), rules)
    assert found["p"][1]["hami.io/Ascend310P-devices-to-allocate"] == "n2-0,Ascend310P,5000,0:;"


@pytest.mark.parametrize(
    ("first", "second", "chosen"),
    [
        ({"health": False}, {"health": True}, "c1"),
        ({}, {"health": True}, "c1"),  # Go leaves out what is false
        ({}, {}, "c0"),  # nobody tells
    ],
)
def test_an_unhealthy_chip_is_given_to_nobody(first: JsonObject, second: JsonObject, chosen: str) -> None:
    chip: JsonObject = {"count": 7, "devmem": 21527, "devcore": 8}
    told = json.dumps([{"id": "c0", **chip, **first}, {"id": "c1", **chip, **second}])
    machine = chips(**{"hami.io/node-register-Ascend310P": told})

    found = placed(world(machine, asking("p", {CHIP: 1})), policy(AscendHAMiVNPUEnable=True))

    assert found["p"][1]["hami.io/Ascend310P-devices-to-allocate"].startswith(f"{chosen},")


def test_chips_of_one_network_go_together() -> None:
    told = [
        {"id": f"c{i}", "count": 1, "devmem": 65536, "devcore": 20, "custominfo": {"NetworkID": i % 3 % 2}}
        for i in range(6)
    ]
    machine = node(
        "n1",
        resources={"huawei.com/Ascend910B": 6},
        annotations={"hami.io/node-register-Ascend910B": json.dumps(told)},
    )
    text = """
vnpus:
- {chipName: 910B3, commonWord: Ascend910B, resourceName: huawei.com/Ascend910B, memoryAllocatable: 65536}
"""
    found = placed(
        world(config_map(text), machine, asking("p", {"huawei.com/Ascend910B": 4})),
        policy(AscendHAMiVNPUEnable=True),
    )
    ids = [
        part.partition(",")[0] for part in found["p"][1]["hami.io/Ascend910B-devices-to-allocate"].split(":")
    ]
    assert ids[:4] == ["c0", "c2", "c3", "c5"]


# ---- MindCluster ----


def npu_node(chips_: int = 2, **more: object) -> JsonObject:
    return node("n1", resources={CORE: 8 * chips_}, labels={"servertype": "Ascend310P-8"}, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("cores", "labels", "written"),
    [
        (16, {}, "0,1"), (1, {}, "0-vir01"), (2, {}, "0-vir02_1c"), (2, {"vnpu-level": "high"}, "0-vir02"),
        (2, {"vnpu-level": "odd"}, "0-vir02_1c"), (4, {}, "0-vir04_3c"), (4, {"vnpu-level": "high"}, "0-vir04"),
        (4, {"vnpu-dvpp": "yes"}, "0-vir04_4c_dvpp"), (4, {"vnpu-dvpp": "no"}, "0-vir04_3c_ndvpp"),
        (4, {"vnpu-dvpp": "maybe"}, None), (3, {}, None), (24, {}, None),
    ],
)  # fmt: skip
def test_cores_and_labels_choose_the_template(
    cores: int, labels: dict[str, str], written: str | None
) -> None:
    rules = policy(AscendMindClusterVNPUEnable=True)
    found = placed(world(npu_node(), asking("p", {CORE: cores}, labels=labels)), rules)
    assert (found["p"][1]["huawei.com/npu-core"] if found else None) == written


def test_the_chip_with_the_fewest_cores_free_goes_first() -> None:
    held = asking("r", {CORE: 2}, node="n1", annotations={"huawei.com/npu-core": "1-vir02_1c"})
    rules = policy(AscendMindClusterVNPUEnable=True)
    found = placed(world(npu_node(), held, asking("p", {CORE: 1}), asking("q", {CORE: 8})), rules)
    assert {name: notes["huawei.com/npu-core"] for name, (_, notes) in found.items()} == {
        "p": "1-vir01",
        "q": "0",
    }


def test_a_smaller_template_stands_in_where_cpus_are_short_and_one_decodes_video() -> None:
    held = asking("r", {CORE: 4}, node="n1", annotations={"huawei.com/npu-core": "0-vir04"})
    rules = policy(AscendMindClusterVNPUEnable=True)
    found = placed(world(npu_node(1), held, asking("p", {CORE: 4}, labels={"vnpu-level": "high"})), rules)
    assert found["p"][1]["huawei.com/npu-core"] == "0-vir04_3c"
    video = asking("r", {CORE: 4}, node="n1", annotations={"huawei.com/npu-core": "0-vir04_4c_dvpp"})
    assert placed(world(npu_node(1), video, asking("p", {CORE: 4}, labels={"vnpu-dvpp": "yes"})), rules) == {}
