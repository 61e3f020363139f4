"""HyperNodes from what servers of the network tell: UFM and, for RoCE, NetQ."""

from __future__ import annotations

import pytest

from tests.controllers.networks import Network, exact, fabric
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.names import NETWORK_TOPOLOGY_SOURCE
from vcray.api.resources import HYPERNODES, SECRETS
from vcray.controllers import raw
from vcray.controllers.base import Delete, Effect, Fetch, Outcome, Update
from vcray.controllers.hypernode.configuration import read_sources
from vcray.controllers.hypernode.fabric import two_tiers

PORTS = "https://fabric.example/ufmRest/resources/ports"
NEIGHBOURS = "https://fabric.example/netq/telemetry/v1/object/lldp"


def port(node: str, leaf: str, description: str = "Computer IB Port") -> JsonObject:
    return {
        "description": description,
        "tier": 4,
        "system_name": node,
        "node_description": f"{node} mlx5_0",
        "peer_node_name": leaf,
    }


def link(one: str, other: str) -> JsonObject:
    return {"hostname": one, "ifname": "swp1", "peer_hostname": other, "peer_ifname": "eth1", "timestamp": 1}


def ufm(page: JsonValue | Outcome, **more: JsonValue) -> Network:
    w = Network()
    w.secret(username="admin", password="secret\n")
    w.pages[PORTS] = page
    w.configure(fabric("ufm", **more))
    return w


def told(w: Network) -> list[str]:
    return [message for reason, message in w.events if reason == "DiscoveryFailed"]


def test_leaf_switches_that_share_nodes_are_one_hypernode() -> None:
    w = ufm([port("n1", "leaf-b"), port("n1", "leaf-c"), port("n2", "leaf-c"), port("n3", "leaf-a")])

    assert w.tree() == {
        "leaf-hn-0": ["n3"],
        "leaf-hn-1": ["n1", "n2"],
        "spine-hn": ["leaf-hn-0", "leaf-hn-1"],
    }
    leaf, spine = (w.objects[HYPERNODES, "", name] for name in ("leaf-hn-1", "spine-hn"))
    assert leaf["spec"] == {"tier": 1, "members": [exact("n1"), exact("n2")]}
    assert raw.labels_of(leaf) == {NETWORK_TOPOLOGY_SOURCE: "ufm"}
    assert raw.at(spine, "spec", "members", 0) == exact("leaf-hn-0", "HyperNode")
    assert raw.at(spine, "spec", "tier") == 2
    assert (w.count("leaf-hn-1"), w.count("spine-hn")) == (2, 2)


def test_the_question_bears_the_credentials_of_the_secret() -> None:
    w = ufm([])

    (asked,) = w.asked
    assert (asked.url, asked.user, asked.password, asked.token) == (PORTS, "admin", "secret", "")
    assert (asked.verify, asked.timeout_s) == (True, 30.0)
    assert "secret" not in repr(asked)


def test_ports_of_switches_and_ports_that_are_down_are_no_links() -> None:
    w = ufm(
        [port("leaf-a", "spine", "Switch IB Port"), port("n1", ""), port("", "leaf-a"), port("n2", "leaf-a")]
    )

    assert w.tree() == {"leaf-hn-0": ["n2"], "spine-hn": ["leaf-hn-0"]}


@pytest.mark.parametrize(
    ("endpoint", "url"),
    [
        ("http://fabric.example/", "http://fabric.example/ufmRest/resources/ports"),
        ("https://fabric.example", PORTS),
        ("fabric.example:8443", "https://fabric.example:8443/ufmRest/resources/ports"),
    ],
)
def test_an_endpoint_without_a_scheme_is_asked_by_https(endpoint: str, url: str) -> None:
    w = ufm([], config={"endpoint": endpoint, "insecureSkipVerify": True})

    assert [(each.url, each.verify) for each in w.asked] == [(url, False)]


def test_it_is_asked_again_at_its_interval_and_hypernodes_follow() -> None:
    w = ufm([port("n1", "leaf-a"), port("n2", "leaf-b")], interval="10m")
    w.pages[PORTS] = [port("n1", "leaf-a"), port("n3", "leaf-a")]

    w.advance(599)
    assert w.tree()["leaf-hn-0"] == ["n1"]
    w.advance(1)
    assert w.tree() == {"leaf-hn-0": ["n1", "n3"], "spine-hn": ["leaf-hn-0"]}
    assert w.count("leaf-hn-0") == 2

    w.pages[PORTS] = []
    w.advance(600)
    assert w.tree() == {}


@pytest.mark.parametrize(
    ("interval", "seconds"),
    [(None, 3600.0), ("90s", 90.0), (60_000_000_000, 60.0), (0, 3600.0), ("-1s", 3600.0)],
)
def test_the_interval_is_read_as_go_reads_it(interval: JsonValue, seconds: float) -> None:
    given = "" if interval is None else f"interval: {interval}"
    text = (
        "networkTopologyDiscovery:\n- source: ufm\n  enabled: true\n  credentials: {secretRef: {name: s}}\n"
        f"  config: {{endpoint: e}}\n  {given}\n"
    )

    reading = read_sources(text, "ns")

    assert reading.sources is not None
    assert reading.sources["ufm"].interval_s == seconds
    assert "secret_namespace='ns'" in repr(reading.sources["ufm"])


@pytest.mark.parametrize(
    ("page", "why"),
    [
        (
            Outcome(False, status=401, message=f"{PORTS} answered with status 401"),
            f"{PORTS} answered with status 401",
        ),
        (
            Outcome(False, status=0, message="VC0401 x: no answer within 30 s"),
            "VC0401 x: no answer within 30 s",
        ),
        (Outcome(body=b"<html>"), f"{PORTS} answered with no JSON"),
        (Outcome(body=b"\xff"), f"{PORTS} answered with no JSON"),
        (Outcome(body=b"[" * 100_000), f"{PORTS} answered with no JSON"),
        (Outcome(body=b"null"), f"{PORTS} answered with JSON that is no list of objects"),
        (Outcome(body=b"{}"), f"{PORTS} answered with JSON that is no list of objects"),
        (Outcome(body=b"[1]"), f"{PORTS} answered with JSON that is no list of objects"),
    ],
)
def test_an_answer_that_is_none_leaves_what_is_there_and_is_told(page: Outcome, why: str) -> None:
    w = ufm([port("n1", "leaf-a")])
    before = w.tree()
    w.pages[PORTS] = page

    w.advance(3600)

    assert told(w) == [f"ufm: {why}"]
    assert w.tree() == before
    assert w.did(Delete) == []


def test_failures_are_tried_again_ever_later_up_to_the_interval() -> None:
    w = ufm(Outcome(False, message="away"), interval="1m")

    times = [0.0]
    for _ in range(160):
        before = len(w.asked)
        w.advance(1)
        if len(w.asked) > before:
            times.append(w.now - 1_800_000_000.0)
    assert times == [0, 5, 15, 35, 75, 135]

    w.pages[PORTS] = [port("n1", "leaf-a")]
    w.advance(60)
    assert "leaf-hn-0" in w.tree()
    w.pages[PORTS] = Outcome(False, message="away")
    w.advance(60)
    w.advance(5)
    assert len(w.asked) == 9


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ({"username": "admin"}, "Secret net/fabric must have username and password"),
        ({"username": "", "password": "x"}, "Secret net/fabric must have username and password"),
    ],
)
def test_a_secret_that_lacks_something_is_told_and_nothing_is_asked(data: dict[str, str], why: str) -> None:
    w = Network()
    w.secret(**data)
    w.configure(fabric("ufm"))

    assert (told(w), w.asked) == ([f"ufm: {why}"], [])

    w.secret(username="a", password="b")
    w.pages[PORTS] = [port("n1", "leaf-a")]
    w.advance(5)
    assert "leaf-hn-0" in w.tree()


def test_a_secret_that_is_missing_or_no_text_is_told() -> None:
    w = Network()
    w.configure(fabric("ufm"))
    assert told(w) == ["ufm: Secret net/fabric: fabric not found"]

    w.put(SECRETS, {"metadata": {"name": "fabric", "namespace": "net"}, "data": {"username": "%%"}})
    w.advance(5)
    assert told(w)[1:] == ["ufm: Secret net/fabric: username is not text"]


def test_somebody_elses_hypernode_of_that_name_stays_as_it_is() -> None:
    w = Network()
    w.hypernode("spine-hn", exact("mine"))
    w.secret(username="admin", password="secret")
    w.pages[PORTS] = [port("n1", "leaf-a")]

    w.configure(fabric("ufm"))

    assert w.tree() == {"leaf-hn-0": ["n1"], "spine-hn": ["mine"]}
    assert told(w) == ["ufm: HyperNode spine-hn is there and not of this source"]


def test_a_new_configuration_starts_its_sources_anew_and_the_old_turns_end() -> None:
    w = ufm([port("n1", "leaf-a")], interval="10m")

    w.configure(fabric("ufm", interval="15m"))
    assert len(w.asked) == 2
    w.advance(600)
    assert len(w.asked) == 2
    w.advance(300)
    assert len(w.asked) == 3

    w.configure()
    w.advance(1000)
    assert len(w.asked) == 3


@pytest.mark.parametrize(
    "page", [Outcome(False, message="away"), [port("n2", "leaf-b")]], ids=["fails", "tells"]
)
def test_a_configuration_that_comes_while_a_look_waits_for_its_page_is_followed(
    page: JsonValue | Outcome,
) -> None:
    w = ufm([port("n1", "leaf-a")], interval="10m")
    old, answer = len(w.asked) + 1, w.page

    def page_of(effect: Fetch) -> Outcome:
        found = answer(effect)
        if len(w.asked) == old:
            w.pages[PORTS] = [port("n3", "leaf-c")]
            w.configure(fabric("ufm", interval="15m"), rest=False)
            w.take_turn()
        return found

    w.page, w.pages[PORTS] = page_of, page
    w.advance(600)

    assert (len(w.asked), told(w), w.tree()["leaf-hn-0"]) == (old + 1, [], ["n3"])
    w.advance(900)
    assert len(w.asked) == old + 2


@pytest.mark.parametrize("refused", [False, True])
def test_a_configuration_that_comes_while_a_look_writes_its_hypernodes_is_followed(refused: bool) -> None:
    w = ufm([port("n1", "leaf-a")], interval="10m")
    w.pages[PORTS] = [port("n2", "leaf-a")]
    asked, left = len(w.asked), [fabric("ufm", interval="15m")]

    def change(effect: Effect) -> Outcome | None:
        if not left or not isinstance(effect, Update):
            return None
        w.configure(left.pop(), rest=False)
        w.take_turn()
        return Outcome(False, status=500, message="slow") if refused else None

    w.fail = change
    w.advance(600)

    assert (left, len(w.asked) - asked, told(w)) == ([], 2, [])
    w.advance(900)
    assert len(w.asked) - asked == 3


def test_a_new_configuration_forgets_how_often_the_last_failed() -> None:
    w = ufm(Outcome(False, message="away"))
    w.advance(5)
    w.advance(10)
    assert len(w.asked) == 3

    w.configure(fabric("ufm", interval="59m"))
    w.advance(5)

    assert len(w.asked) == 5


def test_neighbours_of_nodes_are_switches_whoever_tells_of_them() -> None:
    w = Network()
    for name in ("n1", "n2", "n3"):
        w.node(name)
    w.secret(token="t0")
    w.pages[NEIGHBOURS] = [
        link("n1", "leaf01"),
        link("leaf01", "n1"),
        link("leaf01", "n2"),
        link("leaf02", "n3"),
        link("leaf01", "spine01"),
        link("n1", "n3"),
        link("n3", ""),
        {"hostname": "n1"},
    ]

    w.configure(fabric("roce"))

    assert w.tree() == {
        "roce-leaf-hn-0": ["n1", "n2"],
        "roce-leaf-hn-1": ["n3"],
        "roce-spine-hn": ["roce-leaf-hn-0", "roce-leaf-hn-1"],
    }
    assert raw.labels_of(w.objects[HYPERNODES, "", "roce-spine-hn"]) == {NETWORK_TOPOLOGY_SOURCE: "roce"}
    assert [(each.token, each.user) for each in w.asked] == [("t0", "")]


def test_a_network_for_management_is_left_out_by_a_pattern() -> None:
    w = Network()
    rows = []
    for node, leaf in (("n1", "leaf01"), ("n2", "leaf02")):
        w.node(node)
        rows += [link(node, "oob-mgmt-switch"), link(node, leaf)]
    w.secret(token="t")
    w.pages["https://fabric.example/api/lldp"] = list(rows)

    w.configure(
        fabric("roce", config={"endpoint": "fabric.example", "path": "/api/lldp", "switches": "^leaf[0-9]+$"})
    )

    assert (w.tree()["roce-leaf-hn-0"], w.tree()["roce-leaf-hn-1"]) == (["n1"], ["n2"])


def test_roce_wants_a_token() -> None:
    w = Network()
    w.secret(username="a", password="b")
    w.configure(fabric("roce"))

    assert (told(w), w.asked) == (["roce: Secret net/fabric must have token"], [])


def test_sources_leave_each_others_hypernodes_alone() -> None:
    w = ufm([port("n1", "leaf-a")])
    w.node("n1")
    w.secret(username="admin", password="secret", token="t")
    w.pages[NEIGHBOURS] = [link("n1", "leaf01")]
    w.configure(fabric("ufm"), fabric("roce"), {**fabric("ufm"), "config": {}})

    assert w.events == []
    assert set(w.tree()) == {"leaf-hn-0", "spine-hn", "roce-leaf-hn-0", "roce-spine-hn"}
    w.pages[PORTS] = []
    w.advance(3600)
    assert set(w.tree()) == {"roce-leaf-hn-0", "roce-spine-hn"}


def test_a_chain_of_switches_is_one_group_however_long() -> None:
    links = [(f"s{n:05}", f"n{n + k}") for n in range(20_000) for k in (0, 1)]

    leaf, top = two_tiers(links, "leaf", "top")

    assert (leaf.name, len(leaf.members), top.members) == ("leaf-0", 20_001, frozenset({"leaf-0"}))
    assert two_tiers([], "leaf", "top") == ()
