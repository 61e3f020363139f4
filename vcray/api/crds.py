"""CustomResourceDefinitions of all Volcano kinds, generated from the models.

`deploy/crds` holds what `write_crds` writes; a test keeps the two equal, so a change of a model is a change of a CRD.
Names, scopes, short names and subresources come from the resource table; printer columns stand here.
"""

from __future__ import annotations

from copy import deepcopy
from functools import cache
from pathlib import Path

import yaml

from vcray.api import names
from vcray.api.batch import CronJob, Job
from vcray.api.bus import Command
from vcray.api.config import ColocationConfiguration
from vcray.api.flow import JobFlow, JobTemplate
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.nodeinfo import Numatopology
from vcray.api.objects import KubeObject
from vcray.api.resources import CUSTOMRESOURCEDEFINITIONS, Resource
from vcray.api.scheduling import PodGroup, Queue
from vcray.api.schemas import model_schema
from vcray.api.shard import NodeShard
from vcray.api.topology import HyperNode

MODELS: tuple[type[KubeObject], ...] = (
    Job,
    CronJob,
    PodGroup,
    Queue,
    Command,
    Numatopology,
    HyperNode,
    JobFlow,
    JobTemplate,
    NodeShard,
    ColocationConfiguration,
)
"""All kinds that have a CRD."""

CONTROLLER_GEN = "v0.20.0"

_AGE = ".metadata.creationTimestamp"


def _column(name: str, type_: str, path: str, priority: int = 0) -> JsonObject:
    column: JsonObject = {"name": name, "type": type_, "jsonPath": path}
    if priority:
        column["priority"] = priority
    return column


_COLUMNS: dict[type[KubeObject], tuple[JsonObject, ...]] = {
    Job: (
        _column("STATUS", "string", ".status.state.phase"),
        _column("minAvailable", "integer", ".status.minAvailable"),
        _column("RUNNINGS", "integer", ".status.running"),
        _column("AGE", "date", _AGE),
        _column("QUEUE", "string", ".spec.queue", priority=1),
    ),
    PodGroup: (
        _column("STATUS", "string", ".status.phase"),
        _column("minMember", "integer", ".spec.minMember"),
        _column("RUNNINGS", "integer", ".status.running"),
        _column("AGE", "date", _AGE),
        _column("QUEUE", "string", ".spec.queue", priority=1),
    ),
    Queue: (_column("PARENT", "string", ".spec.parent"),),
    HyperNode: (
        _column("Tier", "string", ".spec.tier"),
        _column("TierName", "string", ".spec.tierName"),
        _column("NodeCount", "integer", ".status.nodeCount"),
        _column("Age", "date", _AGE),
    ),
    JobFlow: (_column("Status", "string", ".status.state.phase"), _column("Age", "date", _AGE)),
    NodeShard: (_column("AGE", "date", _AGE),),
}
_EMPTY_SUBRESOURCES = (PodGroup,)


def _version(model: type[KubeObject]) -> JsonObject:
    version: JsonObject = {
        "name": model.resource.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": deepcopy(model_schema(model))},
    }
    if columns := _COLUMNS.get(model):
        version["additionalPrinterColumns"] = list(columns)
    if "status" in model.resource.subresources:
        version["subresources"] = {"status": {}}
    elif model in _EMPTY_SUBRESOURCES:
        version["subresources"] = {}
    return version


def definition(resource: Resource, version: JsonObject, annotations: JsonObject) -> JsonObject:
    """A CustomResourceDefinition of one version, a fresh object."""
    spoken: JsonObject = {
        "kind": resource.kind,
        "listKind": resource.list_kind,
        "plural": resource.plural,
        "singular": resource.singular,
    }
    if resource.short_names:
        spoken["shortNames"] = list(resource.short_names)
    noted: JsonObject = {"annotations": annotations} if annotations else {}
    return {
        "apiVersion": CUSTOMRESOURCEDEFINITIONS.api_version,
        "kind": CUSTOMRESOURCEDEFINITIONS.kind,
        "metadata": {"name": resource.full_name, **noted},
        "spec": {
            "group": resource.group,
            "names": spoken,
            "scope": "Namespaced" if resource.namespaced else "Cluster",
            "versions": [version],
        },
    }


def crd_for(model: type[KubeObject]) -> JsonObject:
    """The CustomResourceDefinition of one kind, a fresh object."""
    annotations: JsonObject = {
        names.CONTROLLER_GEN_VERSION: CONTROLLER_GEN,
        names.HELM_RESOURCE_POLICY: "keep",
    }
    return definition(model.resource, _version(model), annotations)


def all_crds() -> list[JsonObject]:
    """All CustomResourceDefinitions, fresh objects. Raises FileNotFoundError if the pod template's data is missing."""
    return [crd_for(model) for model in MODELS]


@cache
def schema_for(kind: str, api_version: str = "") -> JsonObject:
    """The openAPIV3Schema of a Volcano kind, shared between callers: read only. Raises KeyError for another kind.

    `kind` alone is enough, since no two Volcano kinds share a name; `api_version` tells them from Kubernetes' Job.
    """
    for model in MODELS:
        if model.resource.kind == kind and api_version in ("", model.resource.api_version):
            return model_schema(model)
    raise KeyError(f"{api_version} {kind}".strip())


def file_name(crd: JsonObject) -> str:
    """`<group>_<plural>.yaml`."""
    metadata = crd["metadata"]
    assert isinstance(metadata, dict)
    plural, _, group = str(metadata["name"]).partition(".")
    return f"{group}_{plural}.yaml"


class _PlainDumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    """Writes repeated parts out instead of pointing back at them, which Kubernetes would not read."""

    def ignore_aliases(self, data: JsonValue) -> bool:
        return True


def crd_yaml(crd: JsonObject) -> str:
    """One CRD as a YAML document with sorted keys."""
    text: str = yaml.dump(crd, Dumper=_PlainDumper, sort_keys=True, width=110, allow_unicode=True)
    return f"---\n{text}"


def write_crds(folder: Path) -> list[Path]:
    """Write every CRD into the folder, one file each, and return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for crd in all_crds():
        target = folder / file_name(crd)
        target.write_text(crd_yaml(crd))
        written.append(target)
    return written
