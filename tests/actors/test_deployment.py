"""The deployment table: every part has one home, and whoever depends on a lost host is opened anew with it."""

from __future__ import annotations

from typing import get_args

import pytest

from vcray.actors.deployment import Layout, components, homes, plan
from vcray.config.roles import COMPONENTS
from vcray.config.settings import Settings, load

LAYOUTS = get_args(Layout)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("pools", [1, 3])
def test_every_part_of_every_component_has_one_home(layout: Layout, pools: int) -> None:
    settings = Settings(pools=pools, admission=True)

    hosts = plan(layout, settings)

    parts = [part for host in hosts for part in host.parts]
    assert len(parts) == len(set(parts))
    assert set(parts) == {part for listed in components(settings).values() for part in listed}
    assert set(homes(hosts)) == set(parts)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_admission_is_there_only_when_asked_for(layout: Layout) -> None:
    assert "admission" not in homes(plan(layout, Settings()))
    assert "admission" in homes(plan(layout, Settings(admission=True)))


def test_small_is_one_process_and_standard_is_five() -> None:
    small, standard = plan("small", Settings()), plan("standard", Settings())

    assert [host.name for host in small] == ["vcray"]
    assert {host.name for host in standard} == {
        "binder", "scheduler", "controllers", "integrations", "admission",
    }  # fmt: skip


def test_in_huge_each_pool_is_a_process_of_its_own() -> None:
    hosts = {host.name: host for host in plan("huge", Settings(pools=3))}

    assert [hosts[f"cache-{pool}"].parts for pool in range(3)] == [("cache-0",), ("cache-1",), ("cache-2",)]
    assert hosts["cache-1"].reopens == ("binder", "cache-0", "cache-1", "cache-2", "scheduler")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_lost_host_is_among_those_that_are_opened_anew_in_order_of_the_table(layout: Layout) -> None:
    hosts = plan(layout, Settings(pools=2))
    order = [host.name for host in hosts]

    for host in hosts:
        assert host.name in host.reopens
        assert list(host.reopens) == [name for name in order if name in host.reopens]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_parts_start_after_the_parts_of_their_process_that_they_talk_to(layout: Layout) -> None:
    for host in plan(layout, Settings(pools=2)):
        wanted = ["binder", "coordinator", "cache-0", "cache-1", "cache-cluster", "router"]
        scheduling = [part for part in host.parts if part in wanted]
        assert scheduling == [part for part in wanted if part in scheduling]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("only", [*COMPONENTS, "scheduler,admission"])
def test_a_process_for_some_components_has_their_parts_and_no_empty_host(layout: Layout, only: str) -> None:
    settings = load({"only": only.split(",")}, {})
    hosts = plan(layout, settings)

    assert all(host.parts for host in hosts)
    assert {part for host in hosts for part in host.parts} == {
        part for listed in components(settings).values() for part in listed
    }
    assert set(components(settings)) == {name.removeprefix("agent-") for name in only.split(",")}


def test_each_scheduler_has_the_binders_that_it_needs() -> None:
    batch, both = load({"only": ["scheduler"]}, {}), load({"only": ["scheduler", "agent-scheduler"]}, {})

    assert "agent-binder" not in homes(plan("small", batch))
    assert "agent-binder" in homes(plan("small", both))
