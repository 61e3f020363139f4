"""`check_integration` finds what authors get wrong, and finds nothing in ours."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
import yaml

from tests.integrations.objects import ray_cluster, ray_pod
from vcray.api.meta import JsonObject
from vcray.api.resources import RAYCLUSTERS, Resource, resource_for
from vcray.controllers import raw
from vcray.integrations.base import Asks, Gang, Member, Part
from vcray.integrations.examining import Given, check_integration
from vcray.integrations.known import built_in
from vcray.integrations.kuberay.raycluster import RayCluster
from vcray.integrations.trails import Trails

EXAMPLES = Path(__file__).parents[2] / "examples"


def cluster(**spec: Any) -> JsonObject:
    made = ray_cluster(**spec)
    raw.table(made, "metadata")["uid"] = "u"
    return made


def test_nothing_is_found_in_the_integration_of_ray_clusters() -> None:
    pods = [ray_pod(cluster(), "h", "headgroup"), ray_pod(cluster(), "w")]

    assert check_integration(RayCluster(), cluster(), pods, idle=[cluster(suspend=True)]) == []


def examples() -> list[Any]:
    """The objects of our examples that an integration speaks for."""
    found = []
    trails = Trails(built_in())
    for file in sorted(EXAMPLES.glob("*/*.yaml")):
        if file.name == "workflow.yaml":
            continue  # Argo's
        objects = list(yaml.safe_load_all(file.read_text()))
        seen: dict[Resource, list[JsonObject]] = {}
        for obj in objects:
            seen.setdefault(resource_for(obj["apiVersion"], obj["kind"]), []).append(obj)
        for obj in objects:
            speaker = trails.speaker(resource_for(obj["apiVersion"], obj["kind"]), obj)
            if speaker is not None:
                obj["metadata"] |= {"uid": "u", "namespace": "default"}
                name = f"{file.parent.name}-{obj['metadata']['name']}"
                found.append(pytest.param(speaker, obj, Given(seen), id=name))
    return found


@pytest.mark.parametrize(("integration", "owner", "seen"), examples())
def test_nothing_is_found_in_what_the_examples_show(integration: Any, owner: JsonObject, seen: Given) -> None:
    assert check_integration(integration, owner, seen=seen) == []


class Careless(RayCluster):
    """Gets one thing wrong in each rule."""

    name: ClassVar[str] = "Careless"
    kinds: ClassVar[tuple[Resource, ...]] = (RAYCLUSTERS,)
    pod_labels: ClassVar[tuple[str, ...]] = ("another/label",)

    def asks(self, owner: JsonObject) -> Asks:
        return Asks(queue=owner["spec"]["headGroupSpec"]["template"]["spec"].get("queue", ""))  # type: ignore

    def gangs(self, owner: JsonObject, seen: Any) -> Sequence[Gang]:
        owner["touched"] = True
        return (Gang("Not A Name", (Part("t", 2, 1), Part("t", 0, 0))),)

    def member(self, owner: JsonObject, pod: JsonObject) -> Member | None:
        return Member("elsewhere", "t")


def test_each_rule_that_is_broken_is_told() -> None:
    found = check_integration(Careless(), cluster(), [ray_pod(cluster())], idle=[cluster(suspend=True)])

    assert {breach.rule for breach in found} == {1, 2, 3, 4, 5, 6}
    assert "the object was changed" in [breach.what for breach in found]
