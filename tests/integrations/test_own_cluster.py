"""The Ray cluster that hosts vcray is not vcray's to schedule, and its account has the rights of all components."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from vcray.api.resources import RAYCLUSTERS, RAYJOBS
from vcray.integrations.choices import is_ours
from vcray.integrations.known import built_in
from vcray.integrations.trails import Trails

DEPLOY = Path(__file__).parents[2] / "deploy"


@pytest.mark.parametrize(("file", "resource"), [("raycluster", RAYCLUSTERS), ("rayjob", RAYJOBS)])
def test_ray_cluster_that_hosts_vcray_is_left_alone(file: str, resource: Any) -> None:
    host = yaml.safe_load((DEPLOY / f"ray/{file}.yaml").read_text())
    speaker = Trails(built_in()).speaker(resource, host)

    assert speaker is not None
    assert not is_ours(speaker.asks(host), host, {"metadata": {"name": "volcano-system"}}, ["volcano"])


def test_account_of_the_ray_cluster_has_the_rights_of_all_components() -> None:
    components = ("scheduler", "controllers", "integrations", "admission")

    for kind in ("ClusterRole", "Role"):
        wanted = set().union(*(rights(f"{each}/rbac.yaml", kind) for each in components))
        assert rights("ray/rbac.yaml", kind) == wanted


def rights(file: str, kind: str) -> set[tuple[str, ...]]:
    """(group, resource, verb, names) of the roles of a kind in a file."""
    found = set()
    for document in yaml.safe_load_all((DEPLOY / file).read_text()):
        for rule in document["rules"] if document["kind"] == kind else ():
            names = ",".join(rule.get("resourceNames", ()))
            found |= {
                (group, resource, verb, names)
                for group in rule["apiGroups"]
                for resource in rule["resources"]
                for verb in rule["verbs"]
            }
    return found
