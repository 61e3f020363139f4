"""What follows from the components that a process runs, and from the release that it is part of."""

from __future__ import annotations

import pytest

from vcray.config.settings import Settings, load
from vcray.errors import ConfigError


def given(**flags: object) -> Settings:
    return load(flags, {})


def test_all_but_admission_run_when_nothing_is_said() -> None:
    every = ("scheduler", "agent-scheduler", "controllers", "admission")

    assert [name for name in every if given().runs(name)] == ["scheduler", "agent-scheduler", "controllers"]
    assert [name for name in every if given(admission="true").runs(name)] == [*every]


def test_only_decides_whatever_else_is_said() -> None:
    found = given(only=["scheduler", "admission"], agent_scheduler_names=["quick"])

    assert found.admission
    assert found.agent_scheduler_names == ()
    assert not found.runs("controllers")
    assert not given(only=["controllers"], admission="true").admission


@pytest.mark.parametrize(
    ("only", "lease"),
    [
        ((), "volcano"),
        (("scheduler",), "volcano"),
        (("controllers",), "vc-controller-manager"),
        (("agent-scheduler",), "vc-agent-scheduler"),
        (("scheduler", "controllers"), "volcano"),
    ],
)
def test_each_component_has_a_lease_of_its_own(only: tuple[str, ...], lease: str) -> None:
    assert given(only=only).lease_name == lease
    assert given(only=only, lease_name="mine").lease_name == "mine"


def test_a_component_that_does_not_exist_is_told_with_the_nearest() -> None:
    with pytest.raises(ConfigError) as refused:
        given(only=["controler"])

    assert (
        str(refused.value) == "VC0502 --only: there is no component 'controler'; did you mean 'controllers'?"
    )


def test_a_namespace_is_that_of_lease_webhooks_and_configmaps_where_they_name_none() -> None:
    found = given(namespace="here", sharding_configmap_namespace="there")

    places = (found.lease_namespace, found.release_namespace, found.sharding_configmap_namespace)
    assert places == ("here", "here", "there")


def test_a_release_names_its_objects_as_the_chart_does() -> None:
    found = given(namespace="here", release="integration")

    assert found.scheduler_conf_configmap == "here/integration-scheduler-configmap"
    assert found.sharding_configmap == "integration-sharding-configmap"
    assert (found.admission_service, found.admission_host) == (
        "here/integration-admission-service",
        "0.0.0.0",
    )
    assert found.admission_registration == "adopt"


def test_what_is_given_stands_before_what_a_release_would_say() -> None:
    found = given(release="x", scheduler_conf="file", admission_url="https://a", admission_host="127.0.0.1")

    assert (found.scheduler_conf_configmap, found.admission_service) == (None, None)
    assert found.admission_host == "127.0.0.1"
    assert given(release="x", only=["controllers"]).scheduler_conf_configmap is None


def test_webhooks_stay_registered_when_they_run_by_themselves() -> None:
    assert given(admission="true").admission_unregister
    assert not given(only=["admission"]).admission_unregister
    assert given(only=["admission"], admission_unregister="true").admission_unregister


def test_variables_of_volcanos_chart_name_the_release() -> None:
    found = load({}, {"HELM_RELEASE_NAME": "integration", "KUBE_POD_NAMESPACE": "here"})

    assert found.scheduler_conf_configmap == "here/integration-scheduler-configmap"


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        ({"scheduler_names": []}, "VC0502 --scheduler-names: must name one at least, got []"),
        (
            {"leader_elect": True, "lease_duration_s": 5.0},
            "VC0502 --lease-duration-s: must be more than --lease-renew-deadline-s (10 s): "
            "a Lease must not run out before its holder gives up, got 5 s",
        ),
    ],
)
def test_what_would_end_badly_later_is_refused_at_the_start(flags: dict[str, object], sentence: str) -> None:
    with pytest.raises(ConfigError) as refused:
        load(flags, {})

    assert str(refused.value) == sentence


def test_a_short_lease_is_nobodys_business_where_none_is_held() -> None:
    assert load({"lease_duration_s": 5.0}, {}).lease_duration_s == 5.0
