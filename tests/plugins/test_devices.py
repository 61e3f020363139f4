"""ResourceClaims in predicates: which devices a claim gets, on which node, and what of them is left for others."""

from __future__ import annotations

import json

from tests.builders import node, pod, podgroup
from tests.plugins.worlds import World
from vcray.actions.allocate import Allocate
from vcray.api.jsonview import dig, dig_objects, dig_str
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.quantity import thousandths
from vcray.core.check import check_plugin
from vcray.core.claims_dra import demand
from vcray.core.decisions import Decisions
from vcray.core.policy import policy_of
from vcray.core.session import decide
from vcray.plugins.gang import Gang
from vcray.plugins.predicates import Predicates, PredicatesArgs

POLICY = policy_of([Allocate({})], [[(Gang, {}), (Predicates, {})]])
DRIVER = "gpu.example.com"
NODES = [node("n1", cpu=64), node("n2", cpu=64)]


def device(name: str, capacity: str | None = None, **attributes: JsonValue) -> JsonObject:
    kinds = {str: "string", int: "int", bool: "bool"}
    found: JsonObject = {"name": name, "attributes": {k: {kinds[type(v)]: v} for k, v in attributes.items()}}
    return found | ({"capacity": {"memory": {"value": capacity}}} if capacity else {})


def slice_of(
    name: str,
    *devices: JsonObject | str,
    host: str | None = None,
    pool: str | None = None,
    generation: int = 1,
    count: int = 1,
    **spec: JsonValue,
) -> JsonObject:
    """A slice of a node (of its own name) unless `spec` says where else it is."""
    listed = [device(each) if isinstance(each, str) else each for each in devices]
    where: JsonObject = (
        {}
        if spec.keys() & {"nodeSelector", "allNodes", "perDeviceNodeSelection"}
        else {"nodeName": host or name}
    )
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"slice-{name}"},
        "spec": {
            "driver": DRIVER,
            "pool": {"name": pool or name, "generation": generation, "resourceSliceCount": count},
            "devices": list(listed),
            **where,
            **spec,
        },
    }


def device_class(name: str = "gpu", *expressions: str, **spec: JsonValue) -> JsonObject:
    selectors: list[JsonValue] = [{"cel": {"expression": each}} for each in expressions]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"selectors": selectors, **spec},
    }


def exactly(name: str = "gpu", *expressions: str, **ask: JsonValue) -> JsonObject:
    selectors: list[JsonValue] = [{"cel": {"expression": each}} for each in expressions]
    return {"name": name, "exactly": {"deviceClassName": "gpu", "selectors": selectors, **ask}}


def resource_claim(
    name: str, *requests: JsonObject, allocation: JsonObject | None = None, **devices: JsonValue
) -> JsonObject:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"},
        "spec": {"devices": {"requests": list(requests or [exactly()]), **devices}},
        "status": {"allocation": allocation} if allocation is not None else {},
    }


def users(group: str, *claims: str, least: int | None = None) -> list[JsonObject]:
    """A group of pods, each with one of the claims."""
    pods = [
        pod(
            f"{group}-{i}",
            group=group,
            cpu=1,
            spec={"resourceClaims": [{"name": "d", "resourceClaimName": name}]},
        )
        for i, name in enumerate(claims)
    ]
    return [podgroup(group, len(claims) if least is None else least), *pods]


def decided(*objects: JsonObject | list[JsonObject]) -> Decisions:
    return decide(World(*objects).snapshot, POLICY)


def places(decisions: Decisions) -> dict[str, str]:
    return {bind.task.partition("/")[2]: bind.node for commit in decisions.commits for bind in commit.binds}


def allocations(decisions: Decisions) -> dict[str, JsonObject]:
    """Claim -> the allocation that is to be written."""
    found: dict[str, JsonObject] = {}
    for commit in decisions.commits:
        for bind in commit.binds:
            for claim, _, text in bind.before.devices if bind.before else ():
                if text:
                    found[claim.partition("/")[2]] = json.loads(text)
    return found


def given(decisions: Decisions, claim: str) -> list[str]:
    results = dig_objects(allocations(decisions)[claim], "devices", "results")
    return [dig_str(each, "device") for each in results]


def reasons(world: World, name: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for reject in world.plugin(Predicates).why(world.view, world.shape(name)):
        for where, yes in world.by_node(reject.where).items():
            if yes:
                found.setdefault(where, set()).add(reject.reason)
    return found


# ---- one claim ----


def test_a_claim_gets_the_first_free_device_of_a_node_that_has_one() -> None:
    decisions = decided(NODES, device_class(), slice_of("n2", "a", "b"), resource_claim("c"), users("g", "c"))
    assert places(decisions) == {"g-0": "n2"}
    assert allocations(decisions)["c"] == {
        "devices": {"results": [{"request": "gpu", "driver": DRIVER, "pool": "n2", "device": "a"}]},
        "nodeSelector": {
            "nodeSelectorTerms": [
                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n2"]}]}
            ]
        },
    }


def test_a_claim_that_cannot_be_met_says_so_on_every_node() -> None:
    world = World(NODES, device_class(), slice_of("n1"), resource_claim("c"), users("g", "c"))
    assert reasons(world, "g-0") == {where: {"cannot allocate all claims"} for where in ("n1", "n2")}


def test_a_class_that_is_not_there_is_named() -> None:
    world = World(NODES, slice_of("n1", "a"), resource_claim("c"), users("g", "c"))
    assert reasons(world, "g-0")["n1"] == {"request gpu: device class gpu does not exist"}


def test_a_missing_claim_or_one_not_made_yet_holds_its_own_pod_alone() -> None:
    made = pod(
        "t", group="t", cpu=1, spec={"resourceClaims": [{"name": "d", "resourceClaimTemplateName": "x"}]}
    )
    objects = [*NODES, *users("g", "c"), podgroup("t", 1), made, podgroup("h", 1), pod("h", group="h", cpu=1)]
    assert list(places(decided(objects))) == ["h"]
    assert reasons(World(objects), "g-0")["n1"] == {'resourceclaim.resource.k8s.io "c" not found'}
    assert reasons(World(objects), "t")["n1"] == {"ResourceClaim not created yet"}


def test_a_claim_made_from_a_template_is_found_by_the_pods_status() -> None:
    made = pod(
        "t", group="t", cpu=1, spec={"resourceClaims": [{"name": "d", "resourceClaimTemplateName": "x"}]}
    )
    made["status"] = {"phase": "Pending", "resourceClaimStatuses": [{"name": "d", "resourceClaimName": "c"}]}
    decisions = decided(
        NODES, device_class(), slice_of("n1", "a"), resource_claim("c"), podgroup("t", 1), made
    )
    assert given(decisions, "c") == ["a"]


def test_count_and_all_take_several_devices() -> None:
    three = slice_of("n1", "a", "b", "c")
    two = decided(NODES, device_class(), three, resource_claim("c", exactly(count=2)), users("g", "c"))
    assert given(two, "c") == ["a", "b"]
    every = resource_claim("c", exactly(allocationMode="All"))
    assert given(decided(NODES, device_class(), three, every, users("g", "c")), "c") == ["a", "b", "c"]
    taken = resource_claim("x", allocation=whole("n1", "b"))
    assert places(decided(NODES, device_class(), three, every, taken, users("g", "c"))) == {}


def whole(pool: str, *devices: str) -> JsonObject:
    results: list[JsonValue] = [
        {"request": "gpu", "driver": DRIVER, "pool": pool, "device": each} for each in devices
    ]
    return {"devices": {"results": results}}


def test_selectors_of_class_and_request_must_all_hold() -> None:
    devices = slice_of(
        "n1",
        device("small", "10Gi", model="A"),
        device("other", "80Gi", model="B"),
        device("right", "80Gi", model="A"),
    )
    memory = f'device.capacity["{DRIVER}"].memory.compareTo(quantity("40Gi")) >= 0'
    model = f'device.attributes["{DRIVER}"].model == "A"'
    claim = resource_claim("c", exactly("gpu", memory))
    assert given(decided(NODES, device_class("gpu", model), devices, claim, users("g", "c")), "c") == [
        "right"
    ]


def test_an_expression_without_a_value_for_a_device_passes_it_by() -> None:
    selector = f'device.attributes["{DRIVER}"].nothing == 1'
    guarded = '"x" in device.attributes["other.example.com"]'
    for expression in (selector, guarded, "this is no CEL"):
        claim = resource_claim("c", exactly("gpu", expression))
        assert places(decided(NODES, device_class(), slice_of("n1", "a"), claim, users("g", "c"))) == {}


def test_the_first_alternative_that_can_be_met_is_taken() -> None:
    ways: list[JsonValue] = [
        {"name": "two", "deviceClassName": "gpu", "count": 2},
        {"name": "one", "deviceClassName": "gpu"},
    ]
    claim = resource_claim("c", {"name": "gpu", "firstAvailable": ways})
    one = decided(NODES, device_class(), slice_of("n1", "a"), claim, users("g", "c"))
    assert dig(allocations(one)["c"], "devices", "results", 0, "request") == "gpu/one"
    two = decided(NODES, device_class(), slice_of("n1", "a", "b"), claim, users("g", "c"))
    assert given(two, "c") == ["a", "b"]


def test_nodes_where_an_early_alternative_can_be_met_are_preferred() -> None:
    ways: list[JsonValue] = [
        {"name": "two", "deviceClassName": "gpu", "count": 2},
        {"name": "one", "deviceClassName": "gpu"},
    ]
    claim = resource_claim("c", {"name": "gpu", "firstAvailable": ways})
    for rich, poor in (("n1", "n2"), ("n2", "n1")):
        slices = [slice_of(rich, "a", "b"), slice_of(poor, "a")]
        assert places(decided(NODES, device_class(), slices, claim, users("g", "c"))) == {"g-0": rich}


def test_devices_that_must_have_an_attribute_in_common_do_or_differ() -> None:
    devices = slice_of("n1", device("a", numa=0), device("b", numa=1), device("c", numa=0), device("d"))
    requests = [exactly("x"), exactly("y")]
    same: list[JsonValue] = [{"matchAttribute": f"{DRIVER}/numa"}]
    apart: list[JsonValue] = [{"distinctAttribute": f"{DRIVER}/numa", "requests": ["x", "y"]}]
    matched = resource_claim("c", *requests, constraints=same)
    assert given(decided(NODES, device_class(), devices, matched, users("g", "c")), "c") == ["a", "c"]
    distinct = resource_claim("c", *requests, constraints=apart)
    assert given(decided(NODES, device_class(), devices, distinct, users("g", "c")), "c") == ["a", "b"]


def test_a_later_request_can_make_an_earlier_one_choose_again() -> None:
    devices = slice_of("n1", device("a", fast=True), device("b", fast=False))
    fast = f'device.attributes["{DRIVER}"].fast'
    claim = resource_claim("c", exactly("any"), exactly("fast", fast))
    assert given(decided(NODES, device_class(), devices, claim, users("g", "c")), "c") == ["b", "a"]


def test_looking_takes_nothing() -> None:
    looks = resource_claim("c", exactly(adminAccess=True))
    taken = resource_claim("x", allocation=whole("n1", "a"))
    decisions = decided(NODES, device_class(), slice_of("n1", "a"), looks, taken, users("g", "c"))
    assert dig(allocations(decisions)["c"], "devices", "results", 0, "adminAccess") is True


def test_a_tainted_device_needs_a_toleration_and_the_result_repeats_it() -> None:
    bad = device("a") | {"taints": [{"key": "broken", "effect": "NoSchedule"}]}
    objects = [*NODES, device_class(), slice_of("n1", bad), *users("g", "c")]
    assert places(decided(objects, resource_claim("c"))) == {}
    tolerations: list[JsonValue] = [{"key": "broken", "operator": "Exists", "effect": "NoSchedule"}]
    decisions = decided(objects, resource_claim("c", exactly(tolerations=tolerations)))
    assert dig(allocations(decisions)["c"], "devices", "results", 0, "tolerations") == tolerations


def test_configuration_of_class_and_claim_goes_with_the_devices() -> None:
    of_class: list[JsonValue] = [{"opaque": {"driver": DRIVER, "parameters": {"mode": "a"}}}]
    of_claim: list[JsonValue] = [
        {"requests": ["gpu"], "opaque": {"driver": DRIVER, "parameters": {"mode": "b"}}},
        {"requests": ["other"], "opaque": {"driver": DRIVER, "parameters": {}}},
    ]
    claim = resource_claim("c", config=of_claim)
    objects = [*NODES, device_class("gpu", config=of_class), slice_of("n1", "a"), claim, *users("g", "c")]
    found = dig_objects(allocations(decided(objects))["c"], "devices", "config")
    assert [(each["source"], each["requests"]) for each in found] == [
        ("FromClass", ["gpu"]),
        ("FromClaim", ["gpu"]),
    ]


# ---- several claims and pods ----


def test_a_device_goes_to_one_claim_and_a_gang_that_fits_in_part_gets_none() -> None:
    claims = [resource_claim(name) for name in ("x", "y", "z")]
    objects = [*NODES, device_class(), slice_of("n1", "a"), slice_of("n2", "b"), *claims]
    assert len(places(decided(objects, users("g", "x", "y", "z", least=1)))) == 2
    assert places(decided(objects, users("g", "x", "y", "z"))) == {}
    assert len(places(decided(objects, users("g", "x", "y", "z"), users("h", "x")))) == 1


def test_pods_that_share_a_claim_follow_the_first_one() -> None:
    objects = [*NODES, device_class(), slice_of("n1", "a"), slice_of("n2", "b"), resource_claim("c")]
    decisions = decided(objects, users("g", "c", "c", "c"))
    assert len(set(places(decisions).values())) == 1
    assert len(places(decisions)) == 3
    assert len(allocations(decisions)) == 1


def test_a_claim_with_devices_confines_its_pods_to_their_node() -> None:
    term: JsonObject = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n2"]}]}
    held: JsonObject = whole("n2", "b") | {"nodeSelector": {"nodeSelectorTerms": [term]}}
    objects = [*NODES, device_class(), resource_claim("c", allocation=held), *users("g", "c")]
    decisions = decided(objects)
    assert places(decisions) == {"g-0": "n2"}
    assert allocations(decisions) == {}
    assert reasons(World(objects), "g-0") == {"n1": {"resourceclaim not available on the node"}}


def test_a_claim_with_too_many_users_takes_no_more() -> None:
    claim = resource_claim("c", allocation=whole("n1", "a"))
    claim["status"] = {
        "allocation": whole("n1", "a"),
        "reservedFor": [{"resource": "pods", "name": f"p{i}", "uid": f"u{i}"} for i in range(256)],
    }
    assert reasons(World(NODES, device_class(), claim, users("g", "c")), "g-0")["n1"] == {
        "resourceclaim in use"
    }


# ---- pools ----


def test_devices_that_many_nodes_reach_are_given_once_and_by_selector() -> None:
    selector: JsonObject = {
        "nodeSelectorTerms": [{"matchExpressions": [{"key": "rack", "operator": "In", "values": ["r1"]}]}]
    }
    nodes = [
        node("n1", cpu=64, labels={"rack": "r1"}),
        node("n2", cpu=64),
        node("n3", cpu=64, labels={"rack": "r1"}),
    ]
    shared = slice_of("fabric", "a", "b", nodeSelector=selector)
    claims = [resource_claim(name) for name in "xyz"]
    decisions = decided(nodes, device_class(), shared, claims, users("g", *"xyz", least=1))
    assert len(places(decisions)) == 2
    assert set(places(decisions).values()) <= {"n1", "n3"}
    for found in allocations(decisions).values():
        assert found["nodeSelector"] == selector


def test_devices_of_all_nodes_bind_to_none() -> None:
    everywhere = slice_of("net", "a", allNodes=True)
    decisions = decided(NODES, device_class(), everywhere, resource_claim("c"), users("g", "c"))
    assert "nodeSelector" not in allocations(decisions)["c"]


def test_a_device_may_say_itself_where_it_is() -> None:
    here = device("a") | {"nodeName": "n2"}
    decisions = decided(
        NODES,
        device_class(),
        slice_of("p", here, perDeviceNodeSelection=True),
        resource_claim("c"),
        users("g", "c"),
    )
    assert places(decisions) == {"g-0": "n2"}


def test_devices_that_must_be_waited_for_come_last_and_say_so() -> None:
    slow = device("a") | {"bindingConditions": ["attached"], "bindingFailureConditions": ["broken"]}
    objects = [*NODES, device_class(), slice_of("p1", slow, host="n1"), resource_claim("c"), *users("g", "c")]
    assert given(decided(objects, slice_of("p2", "b", host="n1")), "c") == ["b"]
    result = dig(allocations(decided(objects))["c"], "devices", "results", 0)
    assert dig(result, "bindingConditions") == ["attached"]
    assert dig(result, "bindingFailureConditions") == ["broken"]


def test_only_the_newest_generation_of_a_whole_pool_counts() -> None:
    old, new = (
        slice_of("old", "a", host="n1", pool="p"),
        slice_of("new", "b", host="n1", pool="p", generation=2),
    )
    objects = [*NODES, device_class(), resource_claim("c"), *users("g", "c")]
    assert given(decided(objects, old, new), "c") == ["b"]
    assert places(decided(objects, slice_of("part", "a", host="n1", pool="p", count=2))) == {}
    assert places(decided(objects, slice_of("n1", "a", "a"))) == {}


# ---- parts of devices ----


def test_devices_cut_from_one_card_share_its_counters() -> None:
    def part(name: str, memory: str) -> JsonObject:
        use: JsonObject = {"counterSet": "card", "counters": {"memory": {"value": memory}}}
        return device(name) | {"consumesCounters": [use]}

    card: list[JsonValue] = [{"name": "card", "counters": {"memory": {"value": "40Gi"}}}]
    cut = slice_of(
        "n1", part("whole", "40Gi"), part("half-a", "20Gi"), part("half-b", "20Gi"), sharedCounters=card
    )
    claims = [resource_claim(name, exactly("gpu", 'device.driver != ""')) for name in ("x", "y")]
    assert len(places(decided(NODES, device_class(), cut, claims, users("g", "x", "y", least=1)))) == 1
    held = resource_claim("h", allocation=whole("n1", "half-a"))
    decisions = decided(NODES, device_class(), cut, held, claims, users("g", "x"))
    assert given(decisions, "x") == ["half-b"]


def sharing(*, value: str = "10Gi", policy: JsonObject | None = None) -> JsonObject:
    capacity: JsonObject = {"value": value} | ({"requestPolicy": policy} if policy else {})
    return {"name": "nic", "allowMultipleAllocations": True, "capacity": {"bandwidth": capacity}}


def wanting(amount: str) -> JsonObject:
    return exactly(capacity={"requests": {"bandwidth": amount}})


def test_a_shared_device_is_given_away_until_its_capacity_is_used_up() -> None:
    claims = [resource_claim(name, wanting("4Gi")) for name in "xyz"]
    objects = [*NODES, device_class(), slice_of("n1", sharing()), *claims]
    decisions = decided(objects, users("g", *"xyz", least=1))
    assert len(places(decisions)) == 2
    results = [dig(each, "devices", "results", 0) for each in allocations(decisions).values()]
    for each in results:
        assert thousandths(dig_str(each, "consumedCapacity", "bandwidth")) == 4 * 2**30 * 1000
    assert len({dig_str(each, "shareID") for each in results}) == 2


def test_a_policy_rounds_what_is_taken_and_forbids_the_rest() -> None:
    steps: JsonObject = {"default": "1Gi", "validRange": {"min": "2Gi", "max": "6Gi", "step": "2Gi"}}
    objects = [*NODES, device_class(), slice_of("n1", sharing(policy=steps))]
    claims = [resource_claim(name, wanting("3Gi")) for name in "xyz"]
    assert len(places(decided(objects, claims, users("g", *"xyz", least=1)))) == 2
    assert places(decided(objects, resource_claim("x", wanting("7Gi")), users("g", "x"))) == {}
    unsaid = [resource_claim(str(i)) for i in range(11)]
    assert len(places(decided(objects, unsaid, users("g", *map(str, range(11)), least=1)))) == 10


def test_what_a_claim_asks_for_is_told_for_quotas() -> None:
    ways: list[JsonValue] = [{"name": "one", "deviceClassName": "gpu"}]
    claims = [
        resource_claim("a", exactly("x", count=2), exactly("y")),
        resource_claim("b", {"name": "z", "firstAvailable": ways}),
        resource_claim("c", exactly(allocationMode="All")),
        resource_claim("d", wanting("4Gi")),
    ]
    table = World(NODES, claims, users("g", "a")).snapshot.details.devices
    assert table is not None
    assert demand(table, "default/a") == (("deviceclass/gpu", 3),)
    assert demand(table, "default/b") == demand(table, "default/c") == demand(table, "default/none") == ()
    assert demand(table, "default/d") == (
        ("bandwidth.deviceclass/gpu", 4 * 2**30 * 1000),
        ("deviceclass/gpu", 1),
    )


def test_the_laws_of_hooks_hold_for_pods_with_devices() -> None:
    everywhere = slice_of("net", "x", allNodes=True)
    claims = [resource_claim(name) for name in "abc"]
    objects = [*NODES, device_class(), slice_of("n1", "a"), everywhere, *claims, *users("g", *"abc")]
    assert check_plugin(Predicates, PredicatesArgs(), World(objects).snapshot) == []
