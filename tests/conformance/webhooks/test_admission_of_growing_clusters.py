"""Replicas that an autoscaler raises, through an API server, our webhook and our scheduler."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conformance.harness.base import Server, wait_until
from tests.conformance.harness.definitions import DEFINITIONS, install
from tests.conformance.harness.embedded import EmbeddedServer
from tests.conformance.harness.server import ControlPlane
from tests.conftest import BOTH, EMBEDDED
from tests.e2e.arena import Arena
from tests.e2e.hosting import Hosted
from tools.kubernetes.build import programs_folder
from vcray.actors.deployment import ADMISSION
from vcray.api.crds import all_crds
from vcray.api.resources import RAYCLUSTERS
from vcray.app import SCHEDULER
from vcray.cluster.operators.definitions import definitions
from vcray.config.settings import Settings

JSON_PATCH = "application/json-patch+json"
REPLICAS = "/spec/workerGroupSpecs/0/replicas"


@pytest.fixture(scope="module", params=BOTH)
def volcano_apiserver(request: pytest.FixtureRequest) -> Iterator[Server]:
    """A server of its own: another admission actor on it would register the same webhook, and has no scheduler to ask."""
    if request.param == EMBEDDED:
        server: Server = EmbeddedServer(programs_folder())
    else:
        server = ControlPlane(request.getfixturevalue("kubernetes_programs"))
    with server:
        install(server.client, all_crds())
        yield server


@pytest.fixture(scope="module")
def hosted(volcano_apiserver: Server) -> Iterator[Hosted]:
    """Admission and the scheduler; RayClusters are served."""
    install(volcano_apiserver.client, definitions((RAYCLUSTERS,)))
    settings = Settings(admission=True, admission_port=0, enabled_admission=())
    with Hosted(volcano_apiserver.kubeconfig, ADMISSION, SCHEDULER, settings=settings) as made:
        yield made
        assert made.failures() == {}
    volcano_apiserver.client.delete(f"{DEFINITIONS}/{RAYCLUSTERS.full_name}")


def ask_for(arena: Arena, name: str, replicas: int, query: str = "") -> tuple[int, str]:
    """Raise a cluster's replicas as the autoscaler does: what is stored, and the warning."""
    path = f"/apis/ray.io/v1/namespaces/{arena.namespace}/rayclusters/{name}{query}"
    patch = [{"op": "replace", "path": REPLICAS, "value": replicas}]
    answer, headers = arena.client.raw("PATCH", path, patch, JSON_PATCH)
    stored: dict[str, Any] = json.loads(answer)
    return stored["spec"]["workerGroupSpecs"][0]["replicas"], headers.get("warning", "")


def test_replicas_are_stored_as_far_as_they_have_room_and_the_answer_says_so(
    volcano_apiserver: Server, hosted: Hosted
) -> None:
    arena = Arena(volcano_apiserver)
    try:
        arena.node("n", cpu=4)
        arena.group("ray-r-pg", 1)
        arena.pod("head", "ray-r-pg")
        template = {"spec": arena.pod_spec(1)}
        cluster = {
            "apiVersion": "ray.io/v1",
            "kind": "RayCluster",
            "metadata": {"name": "r"},
            "spec": {
                "enableInTreeAutoscaling": True,
                "headGroupSpec": {"template": template},
                "workerGroupSpecs": [{"groupName": "w", "replicas": 1, "template": template}],
            },
        }
        arena.client.create(f"/apis/ray.io/v1/namespaces/{arena.namespace}/rayclusters", cluster)
        wait_until(lambda: "head" in arena.bound(), "the head to be bound")
        answers: list[int] = []

        def is_cut() -> bool:
            answers.append(ask_for(arena, "r", 8, "?dryRun=All")[0])
            return answers[-1] == 3

        try:
            wait_until(is_cut, "the webhook to be asked")
        except TimeoutError as error:
            raise AssertionError(f"the answers were {sorted(set(answers))}") from error

        cut, warning = ask_for(arena, "r", 8)
        within, silence = ask_for(arena, "r", 2)
        hosted.stop(SCHEDULER)
        unjudged, _ = ask_for(arena, "r", 8)
        hosted.start(SCHEDULER)
    finally:
        arena.clean()

    assert (cut, within, unjudged) == (3, 2, 8)
    assert "3 of 8 have room now in the queue of PodGroup ray-r-pg" in warning
    assert silence == ""
