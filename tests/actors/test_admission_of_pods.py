"""Pods at the admission actor: what is registered for them, and the resource groups that a file gives."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.actors.admission_host import admission_host, patch_of
from vcray.actors.admission import AdmissionOptions
from vcray.actors.admission_registration import VALIDATING, Address, configuration
from vcray.actors.timekeeping import VirtualTime
from vcray.api.meta import JsonObject
from vcray.cel.program import compiled
from vcray.config.settings import Settings
from vcray.errors import ConfigError
from vcray.webhooks.base import Rules
from vcray.webhooks.services import SERVICES

OUTSIDE = {
    "matchExpressions": [
        {
            "key": "kubernetes.io/metadata.name",
            "operator": "NotIn",
            "values": ["volcano-system", "kube-system"],
        }
    ]
}
POD: JsonObject = {
    "metadata": {"name": "p", "annotations": {"volcano.sh/resource-group": "g"}},
    "spec": {"schedulerName": "volcano", "containers": []},
}


def entry(path: str, rules: Rules | None = None) -> dict[str, Any]:
    """The webhook of a path as it is registered."""
    service = next(each for each in SERVICES if each.path == path)
    made: Any = configuration(service, Address("https://x"), b"", "volcano-system", rules)
    assert made["metadata"]["name"] == "volcano-admission-service" + path.replace("/", "-")
    (found,) = made["webhooks"]
    assert isinstance(found, dict)
    return found


def groups(pool: str) -> str:
    return f"resourceGroups: [{{resourceGroup: g, labels: {{pool: {pool}}}}}]"


async def settle() -> None:
    for _ in range(300):
        await asyncio.sleep(0)


# -- registration -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/pods/mutate", "/pods/validate"])
def test_outage_of_ours_stops_nobodys_pods(path: str) -> None:
    """api-controllers.md 10.50, decided otherwise: docs/differences.md."""
    found = entry(path)

    assert (found["failurePolicy"], found["timeoutSeconds"]) == ("Ignore", 2)
    assert found["namespaceSelector"] == OUTSIDE
    assert found["rules"] == [
        {
            "apiGroups": [""],
            "apiVersions": ["v1"],
            "operations": ["CREATE"],
            "resources": ["pods"],
            "scope": "*",
        }
    ]


def test_only_pods_of_our_schedulers_are_judged() -> None:
    found = entry("/pods/validate", Rules("volcano", other_scheduler_names=('a"b',)))

    assert found["matchConditions"] == [
        {"name": "ours", "expression": r'object.spec.schedulerName in ["volcano", "a\"b"]'}
    ]
    condition = compiled(found["matchConditions"][0]["expression"], ("object",))
    judged = [
        name
        for name in ("volcano", 'a"b', "default-scheduler", "")
        if condition.evaluate({"object": {"spec": {"schedulerName": name}}})
    ]
    assert judged == ["volcano", 'a"b']


def test_pods_of_all_schedulers_may_be_of_a_group() -> None:
    assert "matchConditions" not in entry("/pods/mutate")


@pytest.mark.parametrize(
    ("path", "name", "group", "plural"),
    [
        ("/hypernodes/validate", "validatehypernodes", "topology.volcano.sh", "hypernodes"),
        ("/jobflows/validate", "validatejob", "flow.volcano.sh", "jobflows"),
        ("/cronjobs/validate", "validatecronjob", "batch.volcano.sh", "cronjobs"),
    ],
)
def test_kinds_of_volcano_must_be_judged(path: str, name: str, group: str, plural: str) -> None:
    found = entry(path)

    assert found["name"] == f"{name}.volcano.sh"
    assert (found["failurePolicy"], found["timeoutSeconds"]) == ("Fail", 10)
    assert found["rules"] == [
        {
            "apiGroups": [group],
            "apiVersions": ["v1alpha1"],
            "operations": ["CREATE", "UPDATE"],
            "resources": [plural],
            "scope": "*",
        }
    ]


def test_hypernodes_have_no_namespace_to_be_passed_over() -> None:
    found = entry("/hypernodes/validate")

    assert (found["namespaceSelector"], found["sideEffects"]) == ({}, "None")
    assert entry("/cronjobs/validate")["namespaceSelector"] == OUTSIDE


async def test_server_takes_every_registration() -> None:
    async with admission_host() as host:
        await host.synced()

        found = await host.configuration("/pods/validate", VALIDATING)

    assert found is not None


# -- answers ------------------------------------------------------------------------------------------------------------


async def test_warning_reaches_whoever_wrote_the_object() -> None:
    twice: JsonObject = {"spec": {"flows": [{"name": "a"}, {"name": "a"}]}}
    async with admission_host() as host:
        response = await host.review("/jobflows/validate", "CREATE", twice)

    assert response["allowed"] is True
    assert response["warnings"] == [
        'spec.flows: the name "a" is there 2 times; such a JobFlow never succeeds'
    ]


async def test_pods_rules_read_nothing_from_the_server() -> None:
    async with admission_host() as host:
        before = host.transport.requests
        wrong: JsonObject = {**POD, "metadata": {"annotations": {"volcano.sh/jdb-min-available": "0"}}}
        refused = await host.review("/pods/validate", "CREATE", wrong)
        mutated = await host.review("/pods/mutate", "CREATE", POD)

        assert host.transport.requests == before
    assert (refused["allowed"], mutated) == (False, {"uid": "u-1", "allowed": True})


# -- the file of groups -------------------------------------------------------------------------------------------------


async def test_groups_of_the_file_are_given_and_follow_it(tmp_path: Path) -> None:
    conf, time = tmp_path / "volcano-admission.conf", VirtualTime()
    conf.write_text(groups("one"))
    async with admission_host(AdmissionOptions(conf=conf), time) as host:
        seen = [patch_of(await host.review("/pods/mutate", "CREATE", POD))]
        for text in (groups("two"), "resourceGroups: {}", None, groups("three")):
            conf.unlink() if text is None else conf.write_text(text)
            await settle()
            await time.advance(1.0, settle)
            seen.append(patch_of(await host.review("/pods/mutate", "CREATE", POD)))

    assert [patch[0]["value"]["pool"] for patch in seen] == ["one", "two", "two", "two", "three"]


@pytest.mark.parametrize(
    ("text", "told"), [(None, "cannot be read: No such file"), ("resourceGroups: 1", "must be a list")]
)
async def test_start_with_groups_that_cannot_be_used_ends_with_a_sentence(
    tmp_path: Path, text: str | None, told: str
) -> None:
    conf = tmp_path / "volcano-admission.conf"
    if text is not None:
        conf.write_text(text)

    with pytest.raises(ConfigError, match="VC0503") as refused:
        async with admission_host(AdmissionOptions(conf=conf)):
            pass

    assert told in str(refused.value)


def test_settings_reach_the_rules(tmp_path: Path) -> None:
    values = {
        "scheduler_names": ("one", "two"),
        "scheduling_gates_queue_admission": True,
        "admission_conf": tmp_path / "conf",
    }

    options = AdmissionOptions.of(Settings.model_validate(values))

    assert options.rules.scheduler_names == ("one", "two")
    assert options.rules.gate_pods
    assert options.conf == tmp_path / "conf"
