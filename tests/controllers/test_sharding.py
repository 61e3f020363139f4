"""The sharding controller: when it chooses, what it writes, where its configuration comes from."""

from __future__ import annotations

import pytest

from tests.controllers.world import World
from vcray.api.meta import JsonObject
from vcray.api.resources import CONFIGMAPS, NODES, NODESHARDS, PODS
from vcray.config.sharding import ShardingConfig, parse_scheduler_configs
from vcray.controllers import raw
from vcray.controllers.base import Create, Delete, Effect, Outcome, Patch
from vcray.controllers.sharding.controller import ShardingController

GIVEN = ShardingConfig(parse_scheduler_configs(["volcano:t:0:0.6:false:1:100", "agent:t:0.7:1:false:1:100"]))
PLACE = ("volcano-system", "conf")
ALL_TO = "schedulerConfigs: [{name: %s, policies: [{name: node-limit}]}]"


class ShardWorld(World):
    """Nodes of 10 CPUs and 10Gi."""

    def __init__(self, given: ShardingConfig = GIVEN, config_map: str = PLACE[1]) -> None:
        super().__init__([ShardingController(given, PLACE[0], config_map)])

    def nodes(self, *names: str, **labels: str) -> None:
        for name in names:
            capacity: JsonObject = {"cpu": "10", "memory": "10Gi"}
            self.put(
                NODES, {"metadata": {"name": name, "labels": {**labels}}, "status": {"capacity": capacity}}
            )
        self.soon()

    def pod(self, name: str, node: str, cpu: str = "0", memory: str = "0", **status: str) -> None:
        container: JsonObject = {"name": "c", "resources": {"requests": {"cpu": cpu, "memory": memory}}}
        self.put(
            PODS,
            {
                "metadata": {"namespace": "ns", "name": name},
                "spec": {"nodeName": node, "containers": [container]},
                "status": {**status},
            },
        )
        self.soon()

    def soon(self) -> None:
        """What is asked for now, and what that promises for the next second."""
        self.settle()
        self.advance(1)

    def configured(self, text: str) -> None:
        self.put(
            CONFIGMAPS,
            {"metadata": {"namespace": PLACE[0], "name": PLACE[1]}, "data": {"sharding.yaml": text}},
        )
        self.soon()

    def shards(self) -> dict[str, list[str]]:
        return {
            raw.name(shard): raw.table(shard, "spec")["nodesDesired"]  # type: ignore[misc]
            for shard in self.list(NODESHARDS)
        }

    def writes(self) -> int:
        return sum(isinstance(each, Create | Patch | Delete) for each in self.effects)


def test_each_scheduler_has_a_shard_of_the_nodes_that_its_policies_choose() -> None:
    w = ShardWorld()
    w.nodes("n1", "n2", "gap")
    w.pod("busy", "n2", cpu="8")
    w.pod("half", "gap", cpu="6500m")
    w.advance(60)

    assert w.shards() == {"volcano": ["n1"], "agent": ["n2"]}


def test_pods_count_while_they_are_on_the_node_and_have_not_ended() -> None:
    w = ShardWorld()
    w.nodes("n1")
    w.pod("p", "n1", cpu="8")
    assert w.shards()["agent"] == ["n1"]

    w.pod("p", "n1", cpu="8", phase="Succeeded")
    assert w.shards()["agent"] == []
    w.pod("p", "n1", cpu="8", phase="Running")
    assert w.shards()["agent"] == ["n1"]
    w.remove(PODS, "ns", "p")
    w.soon()
    assert w.shards() == {"volcano": ["n1"], "agent": []}


def test_mirror_pods_and_init_containers_do_not_count_and_use_is_capped() -> None:
    w = ShardWorld()
    w.nodes("n1", "n2")
    w.put(PODS, {
        "metadata": {"namespace": "ns", "name": "static", "annotations": {"kubernetes.io/config.mirror": "x"}},
        "spec": {"nodeName": "n1", "containers": [{"resources": {"requests": {"cpu": "8"}}}]},
    })  # fmt: skip
    w.put(PODS, {
        "metadata": {"namespace": "ns", "name": "init"},
        "spec": {"nodeName": "n1", "containers": [], "initContainers": [{"resources": {"requests": {"cpu": "8"}}}]},
    })  # fmt: skip
    w.pod("huge", "n2", cpu="80")
    w.advance(60)

    assert w.shards() == {"volcano": ["n1"], "agent": ["n2"]}


@pytest.mark.parametrize(
    ("cpu", "memory", "soon"), [("5100m", "0", True), ("5", "0", False), ("0", "6Gi", True)]
)
def test_a_node_that_is_used_much_more_is_looked_at_soon_any_other_after_the_period(
    cpu: str, memory: str, soon: bool
) -> None:
    narrow = ShardingConfig(parse_scheduler_configs(["rest:t:0:0.2:false:1:9", "used:t:0.4:1:false:1:9"]))
    w = ShardWorld(narrow)
    w.nodes("n1", "n2")
    w.pod("other", "n2", cpu="4500m")
    assert w.shards()["used"] == []

    w.pod("p", "n1", cpu=cpu, memory=memory)
    assert ("n2" in w.shards()["used"]) is soon

    w.advance(60)
    assert "n2" in w.shards()["used"]


def test_without_the_trigger_only_the_period_moves_nodes() -> None:
    w = ShardWorld(ShardingConfig(GIVEN.schedulers, period_s=30, node_events=False))
    w.nodes("n1")
    w.nodes("n2")
    assert w.shards()["volcano"] == ["n1"]

    w.advance(30)
    assert w.shards()["volcano"] == ["n1", "n2"]


def test_nodes_that_come_and_go_are_followed_at_once() -> None:
    w = ShardWorld()
    w.nodes("n1")
    w.nodes("n2")
    assert w.shards()["volcano"] == ["n1", "n2"]

    w.remove(NODES, "", "n1")
    w.soon()
    assert w.shards()["volcano"] == ["n2"]


def test_events_that_come_together_share_one_choice_and_a_quiet_period_writes_nothing() -> None:
    w = ShardWorld()
    w.nodes("a")
    before = w.writes()
    w.nodes("b", "c", "d")
    assert w.writes() == before + 1

    w.advance(600)
    assert w.writes() == before + 1


def test_a_shard_that_somebody_deletes_or_changes_is_put_right() -> None:
    w = ShardWorld()
    w.nodes("n1")
    w.remove(NODESHARDS, "", "volcano")
    w.settle()
    assert w.shards() == {"agent": [], "volcano": ["n1"]}

    w.change(NODESHARDS, "", "agent", spec__nodesDesired=["n1"])
    w.settle()
    assert w.shards() == {"agent": [], "volcano": ["n1"]}


def test_what_schedulers_write_to_the_status_is_left_alone_and_asks_for_nothing() -> None:
    w = ShardWorld()
    w.nodes("n1")
    w.change(NODESHARDS, "", "volcano", status__nodesInUse=["n1"])
    assert w.queue == []

    w.nodes("n2")
    shard = w.objects[NODESHARDS, "", "volcano"]
    assert raw.table(shard, "status") == {"nodesInUse": ["n1"]}


def test_shards_of_other_schedulers_are_deleted() -> None:
    w = ShardWorld()
    w.put(NODESHARDS, {"metadata": {"name": "stale"}, "spec": {"nodesDesired": ["n1"]}})
    w.nodes("n1")

    assert set(w.shards()) == {"volcano", "agent"}


def test_up_to_a_tenth_of_the_nodes_may_wait_unless_one_is_gone() -> None:
    w = ShardWorld(ShardingConfig(parse_scheduler_configs(["volcano:t:0:1:false:1:30"])))
    w.nodes(*(f"n{index:02}" for index in range(31)))
    assert len(w.shards()["volcano"]) == 30
    before = w.writes()
    w.pod("p", "n30", cpu="6")
    w.advance(60)
    assert w.writes() == before
    assert "n30" not in w.shards()["volcano"]

    w.remove(NODES, "", "n07")
    w.soon()
    assert "n07" not in w.shards()["volcano"]
    assert "n30" in w.shards()["volcano"]


# ---- where the configuration comes from ----


def test_the_flags_hold_until_the_config_map_exists() -> None:
    w = ShardWorld()
    w.nodes("n1")
    assert w.shards()["volcano"] == ["n1"]

    w.configured(ALL_TO % "mine")
    assert w.shards() == {"mine": ["n1"]}


def test_a_config_map_that_is_there_goes_before_the_flags_and_is_followed() -> None:
    w = ShardWorld()
    w.configured(ALL_TO % "a")
    w.nodes("n1")
    assert w.shards() == {"a": ["n1"]}

    w.configured(ALL_TO % "b")
    assert w.shards() == {"b": ["n1"]}
    w.remove(CONFIGMAPS, *PLACE)
    w.advance(120)
    assert w.shards() == {"b": ["n1"]}


def test_a_text_that_cannot_be_used_changes_nothing_and_is_told_once() -> None:
    w = ShardWorld()
    w.configured(ALL_TO % "a")
    w.nodes("n1")
    w.configured("schedulerConfigs: []")
    w.advance(600)

    assert w.shards() == {"a": ["n1"]}
    assert w.events == [
        ("InvalidShardingConfig", "sharding config must contain at least one schedulerConfig entry")
    ]


@pytest.mark.parametrize("text", ["", "schedulerConfigs: []", "}"])
def test_at_the_start_such_a_text_leaves_no_configuration_and_no_shards(text: str) -> None:
    w = ShardWorld()
    w.put(NODESHARDS, {"metadata": {"name": "volcano"}, "spec": {"nodesDesired": ["n1"]}})
    w.configured(text)
    w.nodes("n1")
    assert w.shards() == {}

    w.configured(ALL_TO % "a")
    assert w.shards() == {"a": ["n1"]}


def test_no_config_map_is_looked_at_without_a_name() -> None:
    w = ShardWorld(config_map="")
    w.configured(ALL_TO % "a")
    w.nodes("n1")

    assert set(w.shards()) == {"volcano", "agent"}


def test_the_config_map_sets_period_and_trigger() -> None:
    w = ShardWorld()
    w.configured(f"{ALL_TO % 'a'}\nshardSyncPeriod: 10s\nenableNodeEventTrigger: false")
    w.nodes("n1")
    w.advance(5)
    assert w.shards() == {"a": []}
    w.advance(10)
    assert w.shards() == {"a": ["n1"]}

    w.configured(f"{ALL_TO % 'a'}\nshardSyncPeriod: 100s")
    w.nodes("n2")
    w.advance(50)
    assert w.shards() == {"a": ["n1"]}
    w.advance(60)
    assert w.shards() == {"a": ["n1", "n2"]}


def test_a_period_that_cannot_be_read_is_told_and_the_rest_holds() -> None:
    w = ShardWorld()
    w.configured(f"{ALL_TO % 'a'}\nshardSyncPeriod: often")
    w.nodes("n1")

    assert w.shards() == {"a": ["n1"]}
    assert [reason for reason, _ in w.events] == ["InvalidShardingConfig"]


def test_a_write_that_fails_is_tried_again_and_once_more_in_the_next_period() -> None:
    w = ShardWorld()

    def refuse(effect: Effect) -> Outcome | None:
        return Outcome(ok=False, status=500, message="slow") if isinstance(effect, Create) else None

    w.fail = refuse
    w.nodes("n1")
    assert w.shards() == {}
    assert len(w.gave_up) == 1

    w.fail = lambda effect: None
    w.advance(60)
    assert w.shards() == {"volcano": ["n1"], "agent": []}


def test_a_restart_writes_nothing_when_nothing_has_changed() -> None:
    w = ShardWorld()
    w.nodes("n1", "n2")
    w.pod("p", "n2", cpu="9")
    found, before = w.shards(), w.writes()

    w.controllers = [ShardingController(GIVEN, *PLACE)]
    w.queue, w.waiting = [], []
    w.replay(NODES, PODS, NODESHARDS, CONFIGMAPS)
    w.advance(120)

    assert (w.shards(), w.writes()) == (found, before)
