"""With the option, each pod has a service account and its containers the account's token."""

from __future__ import annotations

import pytest

from vcray.api.jsonview import dig, dig_objects
from vcray.api.meta import JsonObject
from vcray.api.resources import PODS, SERVICEACCOUNTS
from vcray.cluster.admission.accounts import AccountGate
from vcray.cluster.objects.store import Store
from vcray.kube.errors import ApiError


@pytest.fixture
def store() -> Store:
    one = Store()
    one.gates.append(AccountGate(one.storage))
    return one


def created(store: Store, **spec: object) -> JsonObject:
    containers = [{"name": "c", "image": "i"}]
    pod: JsonObject = {"metadata": {"name": "p"}, "spec": {"containers": containers, **spec}}  # type: ignore[dict-item]
    return store.create(PODS, "default", pod).decode()


def account(store: Store, name: str = "robot", **more: object) -> None:
    obj: JsonObject = {"metadata": {"name": name}, **more}  # type: ignore[dict-item]
    store.create(SERVICEACCOUNTS, "default", obj)


def test_a_pod_gets_the_default_account_and_a_token_volume(store: Store) -> None:
    pod = created(store)

    assert dig(pod, "spec", "serviceAccountName") == dig(pod, "spec", "serviceAccount") == "default"
    (volume,) = dig_objects(pod, "spec", "volumes")
    (mount,) = dig_objects(pod, "spec", "containers", 0, "volumeMounts")
    assert str(volume["name"]).startswith("kube-api-access-")
    assert mount == {
        "name": volume["name"],
        "readOnly": True,
        "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
    }
    assert volume["projected"] == {
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {
                "downwardAPI": {
                    "items": [
                        {
                            "path": "namespace",
                            "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"},
                        }
                    ]
                }
            },
        ],
        "defaultMode": 420,
    }


def test_an_account_that_is_not_there_is_refused(store: Store) -> None:
    with pytest.raises(ApiError) as caught:
        created(store, serviceAccountName="nobody")

    assert caught.value.message == (
        'pods "p" is forbidden: error looking up service account default/nobody: serviceaccount "nobody" not found'
    )


@pytest.mark.parametrize(
    ("of_account", "of_pod", "mounted"),
    [(None, None, True), (False, None, False), (False, True, True), (True, False, False)],
)
def test_the_pod_then_the_account_say_whether_a_token_is_mounted(
    of_account: bool | None, of_pod: bool | None, mounted: bool, store: Store
) -> None:
    told: dict[str, object] = {} if of_account is None else {"automountServiceAccountToken": of_account}
    account(store, "robot", **told)
    said = {} if of_pod is None else {"automountServiceAccountToken": of_pod}

    pod = created(store, serviceAccountName="robot", **said)

    assert bool(dig_objects(pod, "spec", "volumes")) is mounted


def test_pull_secrets_come_from_the_account_unless_the_pod_has_some(store: Store) -> None:
    account(store, imagePullSecrets=[{"name": "registry"}])

    assert dig(created(store, serviceAccountName="robot"), "spec", "imagePullSecrets") == [
        {"name": "registry"}
    ]


def test_a_mount_at_the_same_place_keeps_the_token_away(store: Store) -> None:
    mounts = [{"name": "own", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}]
    containers = [{"name": "c", "image": "i", "volumeMounts": mounts}]

    pod = created(store, containers=containers, volumes=[{"name": "own", "emptyDir": {}}])

    assert len(dig_objects(pod, "spec", "volumes")) == 1
