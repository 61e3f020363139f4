"""Pod -> form: what placement reads."""

from __future__ import annotations

import pytest

from tests.builders import pod
from vcray.api.meta import JsonObject
from vcray.api.wire import to_pod
from vcray.cache.podspec import (
    claims_of,
    normalised_image,
    resident_form,
    settled,
    waiting_form,
)
from vcray.core.tables import HostPort, Requirement


@pytest.mark.parametrize(
    ("name", "normal"),
    [
        ("busybox", "busybox:latest"),
        ("busybox:1", "busybox:1"),
        ("host:5000/busybox", "host:5000/busybox:latest"),
        ("busybox@sha256:abc", "busybox@sha256:abc"),
    ],
)
def test_image_names_get_the_tag_that_is_implied(name: str, normal: str) -> None:
    assert normalised_image(name) == normal


def test_a_host_port_without_ip_takes_all_addresses() -> None:
    assert resident_form(to_pod(pod("a", ports=[80]))).ports == (HostPort("0.0.0.0", "TCP", 80),)


def test_ports_of_sidecars_count_and_those_of_init_containers_do_not() -> None:
    def init(name: str, port: int, **more: str) -> JsonObject:
        return {"name": name, "ports": [{"containerPort": port, "hostPort": port}], **more}

    spec = {"initContainers": [init("setup", 1), init("proxy", 2, restartPolicy="Always")]}
    assert [port.port for port in resident_form(to_pod(pod("a", spec=spec))).ports] == [2]


def test_a_form_does_not_depend_on_labels_or_name() -> None:
    one = waiting_form(to_pod(pod("a", cpu=1, labels={"x": "1"})))
    assert one == waiting_form(to_pod(pod("b", cpu="1000m", labels={"x": "2"})))


def test_an_empty_required_term_is_kept_since_it_matches_no_node_and_an_empty_preference_is_dropped() -> None:
    affinity: JsonObject = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{}]},
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 5, "preference": {}},
                {
                    "weight": 7,
                    "preference": {
                        "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n"]}]
                    },
                },
            ],
        }
    }
    form = waiting_form(to_pod(pod("a", spec={"affinity": affinity})))
    assert form.node_required is not None
    assert [term.requirements for term in form.node_required] == [()]
    assert [term.weight for term in form.node_preferred] == [7]
    assert form.node_preferred[0].requirements == (Requirement("metadata.name", "In", ("n",), True),)


def test_the_settled_form_is_the_one_the_pod_has_once_it_runs() -> None:
    spec = {"nodeSelector": {"a": "b"}, "tolerations": [{"operator": "Exists"}]}
    waiting = to_pod(pod("a", cpu=1, ports=[80], spec=spec))
    running = to_pod(pod("a", cpu=1, ports=[80], node="n1", spec=spec))
    assert settled(waiting_form(waiting)) == resident_form(running)


def test_affinity_terms_without_namespaces_mean_the_pods_own() -> None:
    term: JsonObject = {"topologyKey": "zone", "labelSelector": {}}
    rules: JsonObject = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    form = waiting_form(to_pod(pod("a", namespace="team", spec={"affinity": rules})))
    assert form.anti_affinity[0].namespaces == ("team",)


def test_match_label_keys_of_a_spread_constraint_are_folded_in() -> None:
    constraint: JsonObject = {
        "topologyKey": "zone",
        "maxSkew": 1,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "a"}},
        "matchLabelKeys": ["hash"],
    }
    item = pod("a", labels={"app": "a", "hash": "7"}, spec={"topologySpreadConstraints": [constraint]})
    spread = waiting_form(to_pod(item)).spread[0]
    assert spread.requirements == (Requirement("app", "In", ("a",)), Requirement("hash", "In", ("7",)))
    assert spread.hard


def test_claims_are_those_of_volumes_and_of_templates() -> None:
    volumes: list[JsonObject] = [
        {"name": "data", "persistentVolumeClaim": {"claimName": "c"}},
        {"name": "own", "ephemeral": {"volumeClaimTemplate": {}}},
        {"name": "none", "emptyDir": {}},
    ]
    assert claims_of(to_pod(pod("a", spec={"volumes": [*volumes]}))) == (("c", False), ("a-own", True))


def test_the_floor_counts_defaults_only_for_containers_that_state_nothing() -> None:
    side: JsonObject = {"name": "side"}
    both = waiting_form(to_pod(pod("a", cpu=2, memory=1)))
    assert both.floor == (2000, 2**30)
    bare = waiting_form(to_pod(pod("a", cpu=2)))
    assert bare.floor == (2000, 200 * 2**20)
    two = to_pod(
        pod(
            "a",
            spec={
                "containers": [side, {"name": "b", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}]
            },
        )
    )
    assert waiting_form(two).floor == (1100, 2**30 + 200 * 2**20)
