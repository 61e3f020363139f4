"""vcray's definitions on a real kube-apiserver: accepted, served as Volcano serves them, with Volcano's schemas."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from tests.conformance.harness.client import Client
from tests.conformance.harness.definitions import (
    DEFINITIONS,
    collection,
    condition_messages,
    conditions,
)
from tests.conformance.harness.server import ControlPlane
from tests.conformance.schema_shape import shape, without_descriptions
from vcray.api.crds import all_crds

ALPHA, BETA = "v1alpha1", "v1beta1"
OBJECT_LIMIT = 1_000_000  # bytes of one definition: etcd takes 1.5 MB, kubectl and Helm add to it
MANIFESTS = Path(__file__).resolve().parents[2] / "deploy" / "crds"
FIELDS = yaml.safe_load(Path(__file__).with_name("crd_fields.yaml").read_text())["kinds"]


class Served(NamedTuple):
    """How one kind is served, from Volcano's published definitions."""

    kind: str
    group: str
    version: str
    namespaced: bool
    plural: str
    short_names: tuple[str, ...] = ()
    status: bool = False
    columns: tuple[tuple[str, str, str, int], ...] = ()  # name, type, JSON path, priority

    @property
    def name(self) -> str:
        return f"{self.plural}.{self.group}"


AGE = ("AGE", "date", ".metadata.creationTimestamp", 0)
QUEUE = ("QUEUE", "string", ".spec.queue", 1)
RUNNINGS = ("RUNNINGS", "integer", ".status.running", 0)
KINDS = (
    Served("Job", "batch.volcano.sh", ALPHA, True, "jobs", ("vcjob", "vj"), True, (
        ("STATUS", "string", ".status.state.phase", 0), ("minAvailable", "integer", ".status.minAvailable", 0),
        RUNNINGS, AGE, QUEUE,
    )),
    Served("CronJob", "batch.volcano.sh", ALPHA, True, "cronjobs", ("cronvcjob", "cronvj"), True),
    Served("PodGroup", "scheduling.volcano.sh", BETA, True, "podgroups", ("pg", "podgroup-v1beta1"), False, (
        ("STATUS", "string", ".status.phase", 0), ("minMember", "integer", ".spec.minMember", 0),
        RUNNINGS, AGE, QUEUE,
    )),
    Served("Queue", "scheduling.volcano.sh", BETA, False, "queues", ("q", "queue-v1beta1"), True, (
        ("PARENT", "string", ".spec.parent", 0),
    )),
    Served("Command", "bus.volcano.sh", ALPHA, True, "commands"),
    Served("Numatopology", "nodeinfo.volcano.sh", ALPHA, False, "numatopologies", ("numatopo",)),
    Served("HyperNode", "topology.volcano.sh", ALPHA, False, "hypernodes", ("hn",), True, (
        ("Tier", "string", ".spec.tier", 0), ("TierName", "string", ".spec.tierName", 0),
        ("NodeCount", "integer", ".status.nodeCount", 0), ("Age", "date", ".metadata.creationTimestamp", 0),
    )),
    Served("JobFlow", "flow.volcano.sh", ALPHA, True, "jobflows", ("jf",), True, (
        ("Status", "string", ".status.state.phase", 0), ("Age", "date", ".metadata.creationTimestamp", 0),
    )),
    Served("JobTemplate", "flow.volcano.sh", ALPHA, True, "jobtemplates", ("jt",), True),
    Served("NodeShard", "shard.volcano.sh", ALPHA, False, "nodeshards", ("nsh",), True, (AGE,)),
    Served("ColocationConfiguration", "config.volcano.sh", ALPHA, True, "colocationconfigurations", (), True),
)  # fmt: skip

every_kind = pytest.mark.parametrize("served", KINDS, ids=lambda served: served.kind)


@pytest.fixture
def client(volcano_apiserver: ControlPlane) -> Client:
    """A client of a server on which all definitions are installed."""
    return volcano_apiserver.client


def stored(client: Client, served: Served) -> dict[str, Any]:
    """The definition of `served` as the server keeps it."""
    return client.get(f"{DEFINITIONS}/{served.name}")


def test_exactly_these_kinds_are_defined() -> None:
    names = sorted(str(crd["metadata"]["name"]) for crd in all_crds())  # type: ignore[index,call-overload]

    assert names == sorted(served.name for served in KINDS)


@every_kind
def test_a_definition_is_accepted_and_structural(client: Client, served: Served) -> None:
    found = conditions(client, served.name)

    assert (found["NamesAccepted"], found["Established"]) == ("True", "True")
    assert "NonStructuralSchema" not in found, condition_messages(client, served.name)["NonStructuralSchema"]


@every_kind
def test_discovery_tells_names_scope_and_subresources(client: Client, served: Served) -> None:
    listed = client.get(f"/apis/{served.group}/{served.version}")["resources"]
    resources = {resource["name"]: resource for resource in listed}
    main = resources[served.plural]

    assert main["kind"] == served.kind
    assert main["singularName"] == served.kind.lower()
    assert main["namespaced"] == served.namespaced
    assert tuple(main.get("shortNames", ())) == served.short_names
    assert (f"{served.plural}/status" in resources) == served.status
    assert f"{served.plural}/scale" not in resources


@every_kind
def test_one_version_is_served_and_stored_with_upstreams_annotations(client: Client, served: Served) -> None:
    definition = stored(client, served)
    versions = definition["spec"]["versions"]

    assert [(v["name"], v["served"], v["storage"]) for v in versions] == [(served.version, True, True)]
    assert definition["spec"]["names"]["listKind"] == f"{served.kind}List"
    assert definition["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"
    assert definition["metadata"]["annotations"]["controller-gen.kubebuilder.io/version"] == "v0.20.0"


@every_kind
def test_printer_columns_are_volcanos(client: Client, served: Served) -> None:
    columns = stored(client, served)["spec"]["versions"][0].get("additionalPrinterColumns", [])

    found = tuple((c["name"], c["type"], c["jsonPath"], c.get("priority", 0)) for c in columns)
    assert found == served.columns


@every_kind
def test_a_table_shows_the_columns(client: Client, served: Served) -> None:
    definition = stored(client, served)

    header = client.table(collection(definition))["columnDefinitions"]

    wanted = [column[0] for column in served.columns] or ["Age"]
    assert [column["name"] for column in header] == ["Name", *wanted]


@every_kind
def test_the_schema_has_exactly_volcanos_fields_bounds_and_defaults(client: Client, served: Served) -> None:
    schema = stored(client, served)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    found = shape(without_descriptions(schema))
    common = {"apiVersion": "string", "kind": "string", "metadata": {}}

    assert {key: found.pop(key, None) for key in common} == common
    assert found == FIELDS[served.kind]


@every_kind
def test_every_field_of_ours_is_described(client: Client, served: Served) -> None:
    silent: list[str] = []

    def walk(schema: dict[str, Any], path: str) -> None:
        for name, field in schema.get("properties", {}).items():
            inside_core = name in ("template", "volumeClaim", "metadata", "resource")
            if "description" not in field and not inside_core:
                silent.append(f"{path}.{name}")
            if not inside_core:
                walk(field, f"{path}.{name}")
        for key in ("items", "additionalProperties"):
            if key in schema:
                walk(schema[key], path + "[]")

    walk(stored(client, served)["spec"]["versions"][0]["schema"]["openAPIV3Schema"], served.kind)

    assert silent == []


@every_kind
def test_a_definition_is_far_from_the_limit_of_one_object(client: Client, served: Served) -> None:
    answer, _ = client.raw("GET", f"{DEFINITIONS}/{served.name}")

    assert len(answer) < OBJECT_LIMIT


def test_kubectl_applies_the_committed_manifests(volcano_apiserver: ControlPlane) -> None:
    said = volcano_apiserver.kubectl("apply", "--filename", MANIFESTS)

    assert said.returncode == 0, said.stderr
    assert len(said.stdout.splitlines()) == len(KINDS)


def test_kubectl_reads_volcanos_short_names(volcano_apiserver: ControlPlane) -> None:
    for served in KINDS:
        for short in served.short_names:
            said = volcano_apiserver.kubectl("get", short, "--output=name")
            assert said.returncode == 0, f"kubectl get {short}: {said.stderr}"


def test_kubectl_explain_tells_our_descriptions(volcano_apiserver: ControlPlane) -> None:
    said = volcano_apiserver.kubectl("explain", "vcjob.spec.minAvailable")

    assert said.returncode == 0, said.stderr
    assert "minAvailable <integer>" in said.stdout
