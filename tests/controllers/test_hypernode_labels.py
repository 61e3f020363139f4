"""HyperNodes from labels of nodes, and how a source's HyperNodes are made what it found."""

from __future__ import annotations

import re

import pytest

from tests.controllers.networks import RACKS, Network, exact, fabric
from vcray.api.meta import JsonObject
from vcray.api.names import NETWORK_TOPOLOGY_SOURCE
from vcray.api.resources import CONFIGMAPS, HYPERNODES, NODES
from vcray.controllers import raw
from vcray.controllers.base import Create, Delete, Effect, Outcome, Update
from vcray.controllers.hypernode.controller import CONFIG
from vcray.controllers.hypernode.labels import cleaned


def racks(*entries: JsonObject) -> Network:
    """Two racks in one zone, and a node of which nothing is known."""
    w = Network()
    w.node("n1", zone="z", rack="r1")
    w.node("n2", zone="z", rack="r1")
    w.node("n3", zone="z", rack="r2")
    w.node("n4")
    w.waiting.clear()
    w.configure(*(entries or (RACKS,)))
    return w


def by_label(w: Network) -> dict[tuple[str, str], JsonObject]:
    return {
        (key, value): each
        for each in w.list(HYPERNODES)
        for key, value in raw.labels_of(each).items()
        if key in ("zone", "rack")
    }


def members_of(hypernode: JsonObject) -> list[str]:
    return [
        raw.text(each, "selector", "exactMatch", "name") for each in raw.tables(hypernode, "spec", "members")
    ]


def test_labels_from_the_narrowest_up_become_tiers() -> None:
    w = racks()

    found = by_label(w)
    r1, r2, z = found["rack", "r1"], found["rack", "r2"], found["zone", "z"]
    assert len(w.list(HYPERNODES)) == 3
    assert re.fullmatch(r"hypernode-ether-net-tier1-[a-z0-9]{5}", raw.name(r1))
    assert re.fullmatch(r"hypernode-ether-net-tier2-[a-z0-9]{5}", raw.name(z))
    assert r1["spec"] == {"tier": 1, "tierName": "rack", "members": [exact("n1"), exact("n2")]}
    assert members_of(r2) == ["n3"]
    assert z["spec"] == {
        "tier": 2,
        "tierName": "zone",
        "members": [exact(name, "HyperNode") for name in sorted((raw.name(r1), raw.name(r2)))],
    }
    assert raw.labels_of(r1) == {"rack": "r1", NETWORK_TOPOLOGY_SOURCE: "label"}
    assert (w.count(raw.name(r1)), w.count(raw.name(z))) == (2, 2)


def test_a_node_climbs_as_far_as_it_has_labels() -> None:
    w = Network()
    w.node("half", rack="r1")
    w.node("gap", zone="z")

    w.configure(RACKS)

    assert [members_of(each) for each in w.list(HYPERNODES)] == [["half"]]


def test_nodes_that_come_change_or_go_change_the_hypernodes_a_second_later() -> None:
    w = racks()
    before = by_label(w)

    w.node("n5", zone="z", rack="r2")
    w.change(NODES, "", "n1", metadata__labels={"zone": "z", "rack": "r2"})
    w.remove(NODES, "", "n2")
    w.settle()
    assert members_of(by_label(w)["rack", "r1"]) == ["n1", "n2"]
    w.advance(1)

    after = by_label(w)
    assert set(after) == {("rack", "r2"), ("zone", "z")}
    assert members_of(after["rack", "r2"]) == ["n1", "n3", "n5"]
    assert raw.name(after["rack", "r2"]) == raw.name(before["rack", "r2"])
    assert w.count(raw.name(after["rack", "r2"])) == 3


def test_changes_that_say_nothing_of_the_network_wake_nobody() -> None:
    w = racks()
    w.waiting.clear()

    w.change(NODES, "", "n1", status__x="y")
    w.change(NODES, "", "n2", metadata__labels={"zone": "z", "rack": "r1", "other": "x"})
    w.settle()
    w.advance(2)

    assert not w.did(Update, HYPERNODES)


def test_a_hypernode_that_somebody_deletes_is_made_again_under_its_name() -> None:
    w = racks()
    names = sorted(w.tree())

    w.remove(HYPERNODES, "", names[0])
    w.settle()
    w.advance(1)

    assert sorted(w.tree()) == names


def test_a_restart_finds_all_as_it_is_and_writes_nothing() -> None:
    w = racks()
    before, done = w.tree(), len(w.effects)

    w.restart()

    assert w.tree() == before
    assert [e for e in w.effects[done:] if isinstance(e, Create | Update | Delete)] == []


def test_a_hypernode_of_another_name_stays_when_its_labels_and_prefix_say_what_it_is() -> None:
    w = Network()
    marks = {"rack": "r1", NETWORK_TOPOLOGY_SOURCE: "label"}
    w.hypernode("hypernode-ether-net-tier1-aaaaa", exact("old"), **marks)
    w.node("n1", rack="r1")

    w.configure(RACKS)

    assert w.tree() == {"hypernode-ether-net-tier1-aaaaa": ["n1"]}
    assert w.count("hypernode-ether-net-tier1-aaaaa") == 1


def test_a_hypernode_of_a_type_that_is_called_otherwise_now_gives_way_to_another() -> None:
    w = Network()
    marks = {"rack": "r1", NETWORK_TOPOLOGY_SOURCE: "label"}
    w.hypernode("hypernode-other-tier1-aaaaa", exact("n1"), **marks)
    w.node("n1", rack="r1")
    w.fail = lambda effect: Outcome(False, status=404) if isinstance(effect, Delete) else None

    w.configure(RACKS)

    assert [name.rpartition("-")[0] for name in w.tree()] == [
        "hypernode-ether-net-tier1",
        "hypernode-other-tier1",
    ]
    assert [raw.name(e.object) for e in w.did(Update) if isinstance(e, Update)] == []
    assert w.events == []


def test_a_name_that_is_taken_is_not_used() -> None:
    w = racks()
    taken = raw.name(by_label(w)["rack", "r1"])
    other = Network()
    other.hypernode(taken, exact("mine"))
    other.node("n1", rack="r1")

    other.configure(RACKS)

    assert other.tree()[taken] == ["mine"]
    assert ["n1"] in other.tree().values()


def test_types_that_share_a_label_share_its_hypernodes() -> None:
    levels = [{"nodeLabel": "rack"}, {"nodeLabel": "kubernetes.io/hostname"}]
    both: JsonObject = {"networkTopologyTypes": {"a": levels, "b": levels}}

    w = racks({**RACKS, "config": both})

    assert sorted(w.tree().values()) == [["n1", "n2"], ["n3"]]
    assert all(name.startswith("hypernode-a-tier1-") for name in w.tree())


def test_labels_and_annotations_of_others_stay_through_an_update() -> None:
    w = racks()
    name = raw.name(by_label(w)["rack", "r2"])
    w.change(HYPERNODES, "", name, metadata__annotations={"mine": "kept"})
    w.objects[HYPERNODES, "", name]["metadata"]["labels"]["also"] = "kept"  # type: ignore[index, call-overload]

    w.node("n5", rack="r2")
    w.advance(1)

    held = w.objects[HYPERNODES, "", name]
    assert raw.annotations_of(held) == {"mine": "kept"}
    assert raw.labels_of(held)["also"] == "kept"
    assert members_of(held) == ["n3", "n5"]


def test_narrow_tiers_are_made_first_and_deleted_last() -> None:
    w = racks()
    made = [raw.number(e.object, "spec", "tier") for e in w.did(Create) if isinstance(e, Create)]

    for name in ("n1", "n2", "n3"):
        w.remove(NODES, "", name)
    w.settle()
    w.advance(1)

    deleted = [e.name for e in w.did(Delete) if isinstance(e, Delete)]
    assert made == [1, 1, 2]
    assert "tier2" in deleted[0]
    assert all(e.uid for e in w.did(Delete) if isinstance(e, Delete))
    assert w.tree() == {}


def test_what_is_refused_holds_up_nothing_else_is_told_and_tried_again() -> None:
    def refuse(effect: Effect) -> Outcome | None:
        tier = raw.number(effect.object, "spec", "tier") if isinstance(effect, Create) else 0
        return Outcome(False, status=500, message="not now") if tier == 1 else None

    w = Network()
    w.fail = refuse
    w.node("n1", zone="z", rack="r1")
    w.configure(RACKS)
    assert len(w.tree()) == 1
    (event,) = [message for reason, message in w.events if reason == "DiscoveryFailed"]
    assert re.fullmatch(r"label: create HyperNode hypernode-ether-net-tier1-\w{5}: not now", event)

    w.fail = lambda effect: None
    w.advance(5)

    assert len(w.tree()) == 2


def test_looks_that_fail_between_two_tries_arrange_for_no_more_of_them() -> None:
    w = racks()
    w.fail = lambda effect: Outcome(False, status=500, message="no") if isinstance(effect, Create) else None
    for number in range(5):
        w.node(f"m{number}", rack=f"m{number}")
        w.advance(1)
    failed = [message for reason, message in w.events if reason == "DiscoveryFailed"]
    assert len(failed) == 5

    assert len(w.waiting) == 1
    w.fail = lambda effect: None
    w.advance(10)

    assert len(w.tree()) == 8
    assert w.waiting == []


def test_a_source_that_is_taken_out_stops_and_its_hypernodes_stay() -> None:
    w = racks()
    before = w.tree()

    w.configure({**RACKS, "enabled": False})
    w.node("n9", rack="r9")
    w.advance(5)
    assert w.tree() == before

    w.remove(CONFIGMAPS, *CONFIG)
    w.settle()
    assert w.tree() == before


def test_a_configuration_that_is_none_leaves_the_last_and_is_told() -> None:
    w = racks()

    w.configure(text="a: [")
    w.configure(text="networkTopologyDiscovery: {}")
    w.change(CONFIGMAPS, *CONFIG, data={})
    w.settle()
    w.node("n9", rack="r9")
    w.advance(1)

    told = [message for reason, message in w.events if reason == "InvalidConfiguration"]
    assert told[0].startswith("volcano-controller.conf is not YAML: ")
    assert told[1:] == ["networkTopologyDiscovery must be a list", "there is no key volcano-controller.conf"]
    assert ["n9"] in w.tree().values()


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        (
            {"source": "rocee"},
            ".source: there is no source 'rocee'; did you mean 'roce'?; this source is off",
        ),
        (fabric("ufm", config={}), ".config.endpoint: must be the address of the server; this source is off"),
        (
            fabric("ufm", credentials={}),
            ".credentials.secretRef.name: must be a Secret's name; this source is off",
        ),
        (
            fabric("ufm", interval="soon"),
            ".interval: 'soon' is not a duration: write numbers with units, such as 10s, 1h30m or 500ms; "
            "this source is off",
        ),
        (
            fabric("roce", config={"endpoint": "e", "path": "lldp"}),
            ".config.path: must begin with /; this source is off",
        ),
        (
            fabric("roce", config={"endpoint": "e", "switches": "("}),
            ".config.switches: error parsing regexp: missing closing ): `(`; this source is off",
        ),
        (
            {"source": "label", "config": {"networkTopologyTypes": ["x"]}},
            ".config.networkTopologyTypes: must map names to lists of nodeLabel; this source is off",
        ),
        (
            {"source": "label", "config": {"networkTopologyTypes": {"a" * 21: [{"nodeLabel": "x"}]}}},
            f".config.networkTopologyTypes.{'a' * 21}: the name has more than 20 characters; this type is left out",
        ),
        (
            {
                "source": "label",
                "config": {"networkTopologyTypes": {"a": [{"nodeLabel": "x"}, {"nodeLabel": "x"}]}},
            },
            ".config.networkTopologyTypes.a: has a label twice; this type is left out",
        ),
        (
            {"source": "label", "config": {"networkTopologyTypes": {"a": [{"label": "x"}]}}},
            ".config.networkTopologyTypes.a: must be a list of nodeLabel; this type is left out",
        ),
    ],
)
def test_what_is_wrong_with_a_source_is_told_and_others_work(entry: JsonObject, told: str) -> None:
    w = Network()
    w.node("n1", rack="r1")

    first = entry.get("source") == "label"
    w.configure({**entry, "enabled": True}, *([] if first else [RACKS]))

    assert w.events == [("InvalidConfiguration", f"networkTopologyDiscovery[0]{told}")]
    assert len(w.tree()) == (0 if first else 1)


def test_of_several_entries_for_a_source_the_first_that_can_be_read_counts() -> None:
    w = Network()
    w.node("n1", zone="z", rack="r1")
    off, broken = {**RACKS, "enabled": False}, {**RACKS, "config": {"networkTopologyTypes": ["x"]}}
    types: JsonObject = {"late": [{"nodeLabel": "rack"}, {"nodeLabel": "kubernetes.io/hostname"}]}

    w.configure(off, broken, RACKS, {**RACKS, "config": {"networkTopologyTypes": types}})

    assert [message.partition(":")[0] for _, message in w.events] == [
        "networkTopologyDiscovery[1].config.networkTopologyTypes"
    ]
    assert sorted(name[:-5] for name in w.tree()) == [
        "hypernode-ether-net-tier1-",
        "hypernode-ether-net-tier2-",
    ]


def test_other_configmaps_and_changes_of_metadata_are_not_looked_at() -> None:
    w = racks()
    done = len(w.effects)

    w.put(
        CONFIGMAPS,
        {"metadata": {"name": "other", "namespace": CONFIG[0]}, "data": {"volcano-controller.conf": "["}},
    )
    w.change(CONFIGMAPS, *CONFIG, metadata__labels={"a": "b"})
    w.settle()

    assert w.effects[done:] == []


def test_types_become_parts_of_names() -> None:
    assert cleaned("My_Net.2-x") == "my-net.2-x"
    assert cleaned("né") == "n-"
