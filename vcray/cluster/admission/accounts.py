"""ServiceAccount admission: each pod has an account, and its containers a token of it to talk to the server with.

Here as an option, as kube-apiserver can be run without. The account `default` is made by a controller, soon after its
namespace; a pod that comes before it is admitted as if it were there.
"""

from __future__ import annotations

import zlib

from vcray.api import suffixes
from vcray.api.jsonview import dig, dig_objects, dig_str
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import PODS, SERVICEACCOUNTS
from vcray.cluster.objects import refusals
from vcray.cluster.objects.record import section
from vcray.cluster.objects.review import Review
from vcray.cluster.objects.storage import Storage

DEFAULT_ACCOUNT = "default"
MOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
_VOLUME = "kube-api-access-"
_MIRROR = "kubernetes.io/config.mirror"
_TOKEN_SECONDS = 3607
_FILE_MODE = 0o644


class AccountGate:
    """Gives pods their service account and its token."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def mutate(self, review: Review) -> JsonObject | None:
        """A new pod with its account, pull secrets and token volume. Forbidden if its account is not there."""
        if (
            review.resource != PODS
            or review.operation != "CREATE"
            or review.subresource
            or review.obj is None
        ):
            return None
        pod = review.obj
        if dig(pod, "metadata", "annotations", _MIRROR) is not None:
            self._check_mirror(review, pod)
            return None
        spec = section(pod, "spec")
        name = dig_str(spec, "serviceAccountName") or DEFAULT_ACCOUNT
        spec["serviceAccountName"] = spec["serviceAccount"] = name
        record = self._storage.get(SERVICEACCOUNTS, review.namespace, name)
        if record is None and name != DEFAULT_ACCOUNT:
            why = f'error looking up service account {review.namespace}/{name}: serviceaccount "{name}" not found'
            raise refusals.forbidden(PODS, review.name, why)
        account = record.decode() if record is not None else {}
        if _mounts_token(account, spec):
            _mount(spec, dig_str(pod, "metadata", "uid"))
        if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
            spec["imagePullSecrets"] = account["imagePullSecrets"]
        return pod

    def validate(self, review: Review) -> None:
        """Nothing more to check."""

    def charge(self, review: Review) -> None:
        """Accounts count nothing."""

    @staticmethod
    def _check_mirror(review: Review, pod: JsonObject) -> None:
        if dig_str(pod, "spec", "serviceAccountName"):
            raise refusals.forbidden(PODS, review.name, "a mirror pod may not reference service accounts")


def _mounts_token(account: JsonObject, spec: JsonObject) -> bool:
    for holder in (spec, account):
        said = holder.get("automountServiceAccountToken")
        if isinstance(said, bool):
            return said
    return True


def _mount(spec: JsonObject, uid: str) -> None:
    """Mount a token volume into every container that has nothing at its place."""
    volumes = dig_objects(spec, "volumes")
    present = next((dig_str(v, "name") for v in volumes if dig_str(v, "name").startswith(_VOLUME)), "")
    name = present or _VOLUME + suffixes.of_number(zlib.crc32(uid.encode()), 5)
    needed = False
    for list_name in ("initContainers", "containers"):
        for container in dig_objects(spec, list_name):
            mounts = dig_objects(container, "volumeMounts")
            if any(dig_str(mount, "mountPath") == MOUNT_PATH for mount in mounts):
                continue
            mount: JsonObject = {"name": name, "readOnly": True, "mountPath": MOUNT_PATH}
            container["volumeMounts"] = [*mounts, mount]
            needed = True
    if needed and not present:
        spec["volumes"] = [*volumes, {"name": name, "projected": _projection()}]


def _projection() -> JsonObject:
    namespace: JsonObject = {
        "path": "namespace",
        "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"},
    }
    sources: list[JsonValue] = [
        {"serviceAccountToken": {"expirationSeconds": _TOKEN_SECONDS, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [namespace]}},
    ]
    return {"sources": sources, "defaultMode": _FILE_MODE}
