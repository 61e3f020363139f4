"""What every namespace has: the service account `default`, and the ConfigMap with the certificate of the API server."""

from __future__ import annotations

from contextlib import suppress

from vcray.api.jsonview import dig_object, dig_str
from vcray.api.meta import JsonObject
from vcray.api.resources import CONFIGMAPS, NAMESPACES, SERVICEACCOUNTS, Resource
from vcray.cluster.workloads.base import Controller, Shared
from vcray.kube.errors import AlreadyExists, Forbidden, NotFound

ROOT_CONFIG_MAP = "kube-root-ca.crt"
_ANNOTATION = "kubernetes.io/description"
_DESCRIPTION = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the "
    "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes "
    "clusters."
)


class _NamespacedController(Controller):
    """Keeps one object in each namespace that is not being deleted; the keys are namespaces."""

    resource: Resource
    object_name: str

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared, workers=1)
        self.namespaces = shared.objects(NAMESPACES)
        self.kept = shared.objects(self.resource)
        self.namespaces.on_change(self._namespace_changed)
        self.kept.on_change(self._object_changed)

    def _namespace_changed(self, old: JsonObject | None, new: JsonObject | None) -> None:
        if new is not None:
            self.queue.add(dig_str(new, "metadata", "name"))

    def _object_changed(self, old: JsonObject | None, new: JsonObject | None) -> None:
        found = new or old
        if found is not None and dig_str(found, "metadata", "name") == self.object_name:
            self.queue.add(dig_str(found, "metadata", "namespace"))

    def _open(self, namespace: str) -> bool:
        found = self.namespaces.get("", namespace)
        return found is not None and not dig_str(found, "metadata", "deletionTimestamp")

    async def _create(self, namespace: str, body: JsonObject) -> None:
        with suppress(AlreadyExists, Forbidden, NotFound):  # it is there, or the namespace is going
            await self.client.create(self.resource, namespace, body)


class ServiceAccountController(_NamespacedController):
    """The service account that pods have which name none."""

    name = "serviceaccount-controller"
    resource = SERVICEACCOUNTS
    object_name = "default"

    async def reconcile(self, key: str) -> float | None:
        if self._open(key) and self.kept.get(key, self.object_name) is None:
            await self._create(key, {"metadata": {"name": self.object_name}})
        return None


class RootCertificateController(_NamespacedController):
    """The certificate that clients within the cluster check the server by."""

    name = "root-ca-certificate-publisher-controller"
    resource = CONFIGMAPS
    object_name = ROOT_CONFIG_MAP

    async def reconcile(self, key: str) -> float | None:
        authority = self.shared.certificate_authority
        if not authority or not self._open(key):
            return None
        wanted: JsonObject = {"ca.crt": authority}
        present = self.kept.get(key, self.object_name)
        if present is None:
            metadata: JsonObject = {"name": self.object_name, "annotations": {_ANNOTATION: _DESCRIPTION}}
            await self._create(key, {"metadata": metadata, "data": wanted})
        elif dig_object(present, "data") != wanted:
            with suppress(NotFound):
                await self.client.update(CONFIGMAPS, {**present, "data": wanted})
        return None
