"""The ledger of cards in random worlds: never more than a card has, all as before after a rollback, no order in anything."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tests.builders import node, pod, podgroup, queue
from tests.plugins.cardworlds import IDS, MIG_CONFIG, config_map, placed, policy, vgpu_node, vgpu_pod
from tests.plugins.test_devicefamilies import CHIP, CHIP_MEMORY, CORE, GPU_MEMORY, GPU_NUMBER, chips
from tests.plugins.test_numa_aware import pinned, topology
from vcray.api.meta import JsonObject
from vcray.cache.cluster import ClusterCache, snapshot_of
from vcray.cache.store import Event
from vcray.core.check import check_plugin, permute_nodes
from vcray.core.session import Session, open_session, run
from vcray.core.tables import Status
from vcray.plugins.deviceshare import DeviceShare
from vcray.plugins.deviceshare.arguments import DeviceShareArgs
from vcray.plugins.deviceshare.decks import Phase
from vcray.plugins.numa_aware import NumaAware, NumaAwareArgs

ORDERS = ("", "binpack", "spread")


def objects(number: int) -> list[JsonObject]:
    """Nodes with cards, whole or partitioned, some held by pods that run or go, and pods that want some."""
    dice = random.Random(number)
    made = [config_map(MIG_CONFIG), queue("default")]
    for i in range(4):
        partitioned = dice.random() < 0.4
        kind, mode = ("NVIDIA-A100-SXM4-80GB", "mig") if partitioned else ("NVIDIA-A30", "hami-core")
        made.append(vgpu_node(f"n{i}", dice.randint(1, 3), 81920, kind, mode, slots=dice.choice([1, 4, 10])))
        if not partitioned:
            held = f"n{i}-0,NVIDIA,{dice.choice([1000, 40000])},{dice.choice([0, 30])}:"
            made.append(
                vgpu_pod(f"r{i}", 1, node=f"n{i}", annotations={IDS: held}, deleting=dice.random() < 0.5)
            )
    for i in range(10):
        notes = {"volcano.sh/vgpu-podgroup-policy": "spread"} if dice.random() < 0.2 else {}
        made.append(
            vgpu_pod(
                f"p{i}",
                dice.choice([None, 8000, 20000, 50000]),
                dice.choice([1, 1, 2]),
                cores=dice.choice([None, 20, 100]),
                group=f"g{i % 3}",
                annotations=notes,
                labels={"app": dice.choice("ab")},
            )
        )
    return [
        *made,
        *(podgroup(f"g{i}", 1, created=i) for i in range(3)),
        *(podgroup(f"r{i}", 1) for i in range(4)),
    ]


def rules(number: int) -> dict[str, object]:
    return {
        "VGPUEnable": True,
        "SchedulePolicy": ORDERS[number % 3],
        "ScheduleWeight": number % 2,
        "GPUExclusiveRules": [{"app": "a"}] if number % 4 == 0 else [],
    }


def session_of(number: int) -> tuple[Session, DeviceShare]:
    session = open_session(snapshot_of(objects(number), 1.0, 7), policy(**rules(number)))
    (plugin,) = (each for tier in session.chains.plugins for each, _ in tier if isinstance(each, DeviceShare))
    return session, plugin


def state(plugin: DeviceShare, nodes: int) -> list[object]:
    """Shares of every node, comparable."""
    (table,) = plugin.tables_
    return [sorted(table.deck(node).shares.items(), key=lambda item: item[0]) for node in range(nodes)]


def assert_not_overbooked(plugin: DeviceShare, nodes: int) -> None:
    (table,) = plugin.tables_
    for row in range(nodes):
        deck = table.deck(row)
        for left_out in (Phase.LEAVING, Phase.PROMISED):
            for place, card in enumerate(deck.cards):
                parts = [
                    part
                    for share in deck.shares.values()
                    if share.phase is not left_out
                    for part in share.parts
                    if part.card == place
                ]
                assert len(parts) <= card.slots
                assert sum(part.memory for part in parts) <= card.memory
                assert sum(part.cores for part in parts) <= card.cores
                slots = [part.slot for part in parts if part.geometry]
                assert len(slots) == len(set(slots))
                assert len({part.geometry for part in parts if part.geometry}) <= 1


@pytest.mark.parametrize("number", range(24))
def test_no_card_is_overbooked_and_a_rollback_restores_every_share(number: int) -> None:
    dice = random.Random(number)
    session, plugin = session_of(number)
    view, ledger = session.view, session.ledger
    nodes, table = len(view.snapshot.nodes), view.snapshot.tasks
    marks: list[tuple[int, list[object]]] = []
    for _ in range(60):
        task, node, step = dice.randrange(len(table)), dice.randrange(nodes), dice.random()
        status, shape = view.status[task], view.shapes[int(table.shape[task])]
        if step < 0.15:
            marks.append((ledger.checkpoint(), state(plugin, nodes)))
        elif step < 0.3 and marks:
            mark, before = marks.pop()
            ledger.rollback(mark)
            assert state(plugin, nodes) == before
        elif status == Status.PENDING:
            (ledger.place if step < 0.7 else ledger.pipeline)(int(table.job[task]), shape, [task], [node])
        elif status == Status.PIPELINED:
            ledger.withdraw(task)
        elif status == Status.RUNNING:
            ledger.evict(task)
        assert_not_overbooked(plugin, nodes)


@pytest.mark.parametrize("number", range(12))
def test_the_order_of_objects_and_rows_shows_in_no_decision(number: int) -> None:
    given, wanted = objects(number), policy(**rules(number))
    straight = snapshot_of(given, 1.0, 7)
    shuffled = list(given)
    random.Random(number).shuffle(shuffled)
    answer = placed(straight, wanted)
    assert placed(snapshot_of(shuffled, 1.0, 7), wanted) == answer
    turned = permute_nodes(straight, np.arange(len(straight.nodes))[::-1].copy())
    assert placed(turned, wanted) == answer


@pytest.mark.parametrize("number", range(6))
def test_the_laws_of_plugins_hold_with_cards(number: int) -> None:
    given = snapshot_of(objects(number), 1.0, 7)
    args = {f"deviceshare.{key}": value for key, value in rules(number).items()}
    assert check_plugin(DeviceShare, DeviceShareArgs.model_validate(args), given) == []  # type: ignore[arg-type]


def test_the_laws_of_plugins_hold_with_numa_nodes() -> None:
    pods = [pinned(f"p{i}", str(2 + i % 3), policy="best-effort" if i % 2 else None) for i in range(6)]
    groups = [podgroup(f"p{i}", 1, created=i) for i in range(6)]
    nodes = [vgpu_node(f"n{i}", cpu=16) for i in range(3)]
    layouts = [topology("n0", rule="best-effort"), topology("n1", "0-5", rule="best-effort")]
    given = snapshot_of([*nodes, *layouts, *pods, *groups, queue("default")], 1.0, 7)
    assert check_plugin(NumaAware, NumaAwareArgs(), given) == []  # type: ignore[arg-type]


FAMILIES = ("GPUSharingEnable", "GPUNumberEnable", "AscendHAMiVNPUEnable", "AscendMindClusterVNPUEnable")


def other_objects(family: str, number: int) -> list[JsonObject]:
    """Nodes with cards of another family, some held already, and more pods than fit."""
    dice = random.Random(number)
    made = [queue("default")]
    for i in range(3):
        cards = dice.randint(1, 3)
        made.append(
            {
                "GPUSharingEnable": lambda i=i, n=cards: node(
                    f"n{i}", resources={GPU_MEMORY: 10 * n, GPU_NUMBER: n}
                ),
                "GPUNumberEnable": lambda i=i, n=cards: node(f"n{i}", resources={GPU_NUMBER: n}),
                "AscendHAMiVNPUEnable": lambda i=i, n=cards: chips(n, f"n{i}"),
                "AscendMindClusterVNPUEnable": lambda i=i, n=cards: node(
                    f"n{i}", resources={CORE: 8 * n}, labels={"servertype": "Ascend310P-8"}
                ),
            }[family]()
        )
    asks = {
        "GPUSharingEnable": lambda: {GPU_MEMORY: dice.choice([2, 3, 7])},
        "GPUNumberEnable": lambda: {GPU_NUMBER: dice.choice([1, 1, 2])},
        "AscendHAMiVNPUEnable": lambda: {CHIP: 1, CHIP_MEMORY: dice.choice([1000, 5000, 12000, 21000])},
        "AscendMindClusterVNPUEnable": lambda: {CORE: dice.choice([1, 2, 4, 8])},
    }[family]
    labels = {"vnpu-level": dice.choice(["low", "high"]), "vnpu-dvpp": dice.choice(["yes", "no", "null"])}
    made += [pod(f"p{i}", group=f"g{i % 4}", resources=asks(), labels=labels, created=i) for i in range(16)]
    return [*made, *(podgroup(f"g{i}", 1, created=i) for i in range(4))]


@pytest.mark.parametrize("family", FAMILIES)
def test_no_family_overbooks_its_cards_and_rounds_that_follow_know_them(family: str) -> None:
    for number in range(8):
        wanted = policy(**{family: True, "SchedulePolicy": ORDERS[number % 3], "ScheduleWeight": number % 2})
        cache = ClusterCache()
        given = other_objects(family, number)
        for start in (0, len(given) // 2):  # the second half of the pods comes a round later
            end = len(given) if start else len(given) // 2
            part = given[start:end] if start else [*given[:end], *given[-4:]]
            cache.apply(Event("ADDED", str(item["kind"]), item) for item in part)
            session = open_session(cache.snapshot(1.0, 7), wanted)
            decisions = run(session)
            cache.merge.assume(decisions.commits, 1.0)
            plugin = next(
                each for tier in session.chains.plugins for each, _ in tier if isinstance(each, DeviceShare)
            )
            assert_not_overbooked(plugin, len(session.view.snapshot.nodes))
        holders = cache.snapshot(2.0, 7).details.holders or ()
        assert holders
        again = open_session(cache.snapshot(2.0, 7), wanted)
        plugin = next(
            each for tier in again.chains.plugins for each, _ in tier if isinstance(each, DeviceShare)
        )
        (table,) = plugin.tables_
        nodes = range(len(again.view.snapshot.nodes))
        assert sum(len(table.deck(node).shares) for node in nodes) == len(holders)
        assert_not_overbooked(plugin, len(nodes))
