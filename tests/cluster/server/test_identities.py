"""Who somebody is and may do: tokens of accounts, roles, impersonation, classes of fairness."""

from __future__ import annotations

import asyncio

import pytest

from vcray.api.meta import JsonObject
from vcray.api.resources import SERVICEACCOUNTS
from vcray.clock import ManualClock
from vcray.cluster.objects.review import User
from vcray.cluster.objects.store import Store
from vcray.cluster.server.accounts import Accounts, Binding
from vcray.cluster.server.attributes import Attributes
from vcray.cluster.server.authorization import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, Authority
from vcray.cluster.server.bootstrap import FLOW_SCHEMAS, bootstrap
from vcray.cluster.server.fairness import SCHEMA_HEADER, Fairness
from vcray.cluster.server.figures import exposition
from vcray.cluster.server.requests import Request
from vcray.cluster.server.tokens import ADMIN, impersonated

EVA = User("eva", "", ("system:authenticated", "crew"))


@pytest.fixture
def store() -> Store:
    store = Store(ManualClock())
    bootstrap(store)
    return store


def account(store: Store) -> str:
    return store.create(SERVICEACCOUNTS, "default", {"metadata": {"name": "robot"}}).uid


def test_a_token_ends_with_its_time(store: Store) -> None:
    uid, accounts = account(store), Accounts(store.storage, store.clock)
    token, ends = accounts.issue("default", "robot", uid, Binding(seconds=600))

    found = accounts.user_of(token)
    assert found is not None
    assert found.name == "system:serviceaccount:default:robot"
    assert ends == store.clock.now() + 600
    assert isinstance(store.clock, ManualClock)
    store.clock.advance(601)
    assert accounts.user_of(token) is None


def test_a_token_ends_with_its_account_and_is_good_for_its_audience_alone(store: Store) -> None:
    uid, accounts = account(store), Accounts(store.storage, store.clock)
    token, _ = accounts.issue("default", "robot", uid, Binding(audiences=("vault",)))

    assert accounts.user_of(token) is None
    assert accounts.user_of(token, "vault") is not None
    store.delete(SERVICEACCOUNTS, "default", "robot")
    assert accounts.user_of(token, "vault") is None


def test_a_forged_token_is_nobodys(store: Store) -> None:
    uid = account(store)
    token, _ = Accounts(store.storage, store.clock).issue("default", "robot", uid, Binding())
    accounts = Accounts(store.storage, store.clock)

    assert accounts.user_of(token) is None
    assert accounts.user_of("a.b.c") is None
    assert accounts.user_of("no token") is None


def grant(store: Store, rule: JsonObject) -> Authority:
    store.create(CLUSTER_ROLES, "", {"metadata": {"name": "r"}, "rules": [rule]})
    subject: JsonObject = {"kind": "Group", "name": "crew", "apiGroup": "rbac.authorization.k8s.io"}
    role: JsonObject = {"kind": "ClusterRole", "name": "r", "apiGroup": "rbac.authorization.k8s.io"}
    store.create(
        CLUSTER_ROLE_BINDINGS, "", {"metadata": {"name": "b"}, "subjects": [subject], "roleRef": role}
    )
    return Authority(store.storage)


def test_a_rule_holds_for_its_verbs_resources_and_names(store: Store) -> None:
    authority = grant(
        store,
        {"apiGroups": ["apps"], "resources": ["*/scale"], "verbs": ["get"], "resourceNames": ["d"]},
    )

    def may(verb: str, subresource: str, name: str) -> bool:
        return authority.may(EVA, Attributes(verb, "", "apps", "v1", "deployments", subresource, "n", name))

    assert may("get", "scale", "d")
    assert not may("update", "scale", "d")
    assert not may("get", "", "d")
    assert not may("get", "scale", "other")
    assert authority.may(ADMIN, Attributes("delete", "", "apps", "v1", "deployments"))
    assert authority.may(EVA, Attributes("get", "/apis/apps"))
    assert not authority.may(EVA, Attributes("get", "/metrics"))


def test_headers_may_name_another_user() -> None:
    headers = [
        ("Impersonate-User", "eva"),
        ("Impersonate-Group", "crew"),
        ("Impersonate-Extra-Team", "red"),
        ("Accept", "*/*"),
    ]

    assert impersonated(headers) == User("eva", "", ("crew", "system:authenticated"), {"team": ["red"]})
    assert impersonated([("Accept", "*/*")]) is None


async def test_requests_are_classed_by_the_first_schema_that_matches(store: Store) -> None:
    fairness = Fairness(store)
    spec: JsonObject = {
        "priorityLevelConfiguration": {"name": "global-default"},
        "matchingPrecedence": 500,
        "rules": [
            {
                "subjects": [{"kind": "User", "user": {"name": "eva"}}],
                "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/version"]}],
            }
        ],
    }
    made = store.create(FLOW_SCHEMAS, "", {"metadata": {"name": "evas"}, "spec": spec})
    await asyncio.sleep(0)

    def schema_of(path: str, user: User) -> str:
        uid = fairness.headers(Request("GET", path, user=user))[SCHEMA_HEADER]
        record = store.storage.by_uid(uid)
        assert record is not None
        return record.name

    assert schema_of("/version", EVA) == "evas"
    assert schema_of("/api", EVA) == "global-default"
    assert schema_of("/version", ADMIN) == "exempt"
    settled = store.read(FLOW_SCHEMAS, "", made.name).decode()
    assert b'"Dangling"' in store.read(FLOW_SCHEMAS, "", made.name).body
    assert settled["kind"] == "FlowSchema"
    fairness.close()


def test_figures_tell_seats_and_counts(store: Store) -> None:
    text = exposition(store.storage)

    assert 'apiserver_flowcontrol_nominal_limit_seats{priority_level="global-default"} 480\n' in text
    assert 'apiserver_storage_objects{resource="namespaces"} 4\n' in text
