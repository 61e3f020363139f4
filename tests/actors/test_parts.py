"""From settings to parts: what caches keep, what is watched, whose binder there is."""

from __future__ import annotations

import pytest

from vcray.actors.deployment import AGENT_BINDER, components
from vcray.actors.parts import facts_of, keeps_of, read_by_scheduler
from vcray.api.resources import NODESHARDS
from vcray.config.settings import Settings
from vcray.errors import ConfigError


def test_caches_keep_pods_of_all_names_and_nodes_of_the_selector():
    keeps = keeps_of(
        Settings(
            scheduler_names=("volcano", "mine"),
            agent_scheduler_names=("quick",),
            node_selector=("pool:a", "broken", "zone:b"),
        )
    )

    assert keeps.schedulers == {"volcano", "mine"}
    assert keeps.agents == {"quick"}
    assert keeps.nodes == (("pool", "a"), ("zone", "b"))
    assert keeps.ring is None


def test_a_ring_is_there_only_when_the_cluster_is_shared():
    shared = Settings(multi_scheduler_enable=True, scheduler_pod_name="vc-1", scheduler_num="2")

    ring = keeps_of(shared).ring

    assert ring is not None
    assert {ring.owner(f"k{index}") for index in range(100)} == {"vc-0", "vc-1"}
    assert keeps_of(shared.model_copy(update={"multi_scheduler_enable": False})).ring is None


@pytest.mark.parametrize(("mode", "watched"), [("none", False), ("soft", True), ("hard", True)])
def test_node_shards_are_watched_only_when_they_mean_something(mode, watched):
    assert (NODESHARDS in read_by_scheduler(Settings(scheduler_sharding_mode=mode))) is watched


def test_without_names_there_is_no_fast_path():
    assert AGENT_BINDER in components(Settings())["scheduler"]
    assert AGENT_BINDER not in components(Settings(agent_scheduler_names=()))["scheduler"]


def test_the_configuration_of_the_fast_path_is_read_or_refused(tmp_path):
    file = tmp_path / "agent.conf"
    file.write_text('actions: "allocate"\n')

    assert facts_of(Settings(agent_scheduler_conf=file), "").agent_conf == 'actions: "allocate"\n'
    with pytest.raises(ConfigError, match="agent-scheduler-conf"):
        facts_of(Settings(agent_scheduler_conf=tmp_path / "none"), "")
