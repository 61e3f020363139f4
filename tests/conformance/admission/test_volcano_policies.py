"""The policies of deploy/policies on both servers: every file is taken, and jobs, queues, pods and flows meet them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conformance.harness.base import Server, wait_until
from tests.conformance.harness.client import ApiError
from tests.webhooks.verdicts import flow, job, members, pod, queue, reacting, task
from vcray.actors.admission_registration import Address, configuration
from vcray.webhooks.services import TENANT_SERVICES

REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
FOLDER = Path(__file__).parents[3] / "deploy" / "policies"


class Judged:
    """A namespace on a server in which the policies are in force."""

    def __init__(self, server: Server, namespace: str) -> None:
        self.client = server.client
        self.paths = {
            "Job": f"/apis/batch.volcano.sh/v1alpha1/namespaces/{namespace}/jobs",
            "JobFlow": f"/apis/flow.volcano.sh/v1alpha1/namespaces/{namespace}/jobflows",
            "Pod": f"/api/v1/namespaces/{namespace}/pods",
            "Queue": "/apis/scheduling.volcano.sh/v1beta1/queues",
            "HyperNode": "/apis/topology.volcano.sh/v1alpha1/hypernodes",
        }

    def told(self, obj: Any) -> str:
        """What is said of an object that is not really created; empty when it would be."""
        obj["metadata"].pop("namespace", None)
        try:
            self.client.create(f"{self.paths[obj['kind']]}?dryRun=All", obj)
        except ApiError as error:
            return error.message
        return ""


@pytest.fixture
def judged(volcano_apiserver: Server, namespace: str) -> Iterator[Judged]:
    found, made = Judged(volcano_apiserver, namespace), []
    bad = (
        job(plugins={"typo": []}),
        queue(parent="new"),
        pod(least="0"),
        flow(("a", ["a"])),
        members({"regexMatch": {"pattern": "["}}),
    )
    try:
        for file in sorted(FOLDER.glob("*.yaml")):
            for obj in yaml.safe_load_all(file.read_text()):
                made.append(f"{REGISTRATION}/{plural(obj['kind'])}/{obj['metadata']['name']}")
                found.client.create(f"{REGISTRATION}/{plural(obj['kind'])}", obj)
        wait_until(lambda: all(found.told(each) for each in bad), "the policies to be in force")
        yield found
    finally:
        for path in made:
            with suppress(ApiError):
                found.client.delete(path)


def plural(kind: str) -> str:
    """How a path names a kind of policy or binding."""
    return kind.lower().removesuffix("y") + "ies" if kind.endswith("Policy") else f"{kind.lower()}s"


def test_objects_are_judged_and_given_their_defaults(judged: Judged) -> None:
    partition = {"totalPartitions": 1, "partitionSize": 2}
    good = job(
        task(
            "a",
            2,
            partitionPolicy=partition,
            policies=[{"events": ["PodFailed", "PodEvicted"], "action": "RestartPartition"}],
        ),
        task("b", dependsOn={"name": ["a"]}),
        policies=[reacting("*", "AbortJob"), {"exitCode": 3}],
    )
    del good["spec"]["minAvailable"], good["spec"]["queue"]  # type: ignore[union-attr, arg-type]
    good["metadata"].pop("namespace")  # type: ignore[union-attr, call-arg, arg-type]
    made = judged.client.create(f"{judged.paths['Job']}?dryRun=All", good)

    assert (made["spec"]["queue"], made["spec"]["minAvailable"], made["spec"]["schedulerName"]) == (
        "default",
        3,
        "volcano",
    )
    assert [each["minAvailable"] for each in made["spec"]["tasks"]] == [2, 1]
    assert "duplicate event" in judged.told(
        job(task(policies=[reacting("PodFailed"), {"events": ["PodFailed"], "action": "AbortJob"}]))
    )
    assert "directed acyclic graph" in judged.told(
        job(task("a", dependsOn={"name": ["b"]}), task("b", dependsOn={"name": ["a"]}))
    )
    assert "must be >= guarantee" in judged.told(queue(guarantee={"resource": {"cpu": "1"}}))
    assert "must be larger than 0" in judged.told(
        queue(annotations={"volcano.sh/hierarchy": "root/a", "volcano.sh/hierarchy-weights": "1/0"})
    )
    assert judged.told(queue(deserved={"cpu": "1"}, capability={"cpu": "1000m"})) == ""
    assert judged.told(pod(least="5%")) == ""
    assert judged.told(flow(("a", []), ("b", ["a"]))) == ""
    assert judged.told(members({"regexMatch": {"pattern": "^n[0-9]$"}})) == ""


def test_webhooks_of_tenants_can_be_registered(volcano_apiserver: Server) -> None:
    for service in TENANT_SERVICES:
        wanted = configuration(service, Address("https://127.0.0.1:1"), b"", "volcano-system")
        made = volcano_apiserver.client.create(
            f"{REGISTRATION}/validatingwebhookconfigurations?dryRun=All", wanted
        )

        assert made["webhooks"][0]["name"] == service.entry  # type: ignore[index]
