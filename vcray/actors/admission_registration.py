"""Telling the API server of the webhooks: one configuration a service, created when missing, changed when it differs.

Configurations that somebody else made, such as Volcano's chart, may be left as they are but for the certificates that vouch for
us. Names, rules and selectors are those of Volcano's chart. Nothing but Volcano's own kinds must have our answer, and neither those
of kube-system nor of the release's own namespace, so that an outage of ours holds up nobody else: pods pass without an answer
after a short while, and of those only what our schedulers are to place is judged.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Final, Literal

from vcray.api.jsonview import dig_object, dig_objects, dig_str
from vcray.api.meta import JsonObject, JsonValue
from vcray.api.resources import Resource
from vcray.kube.client import KubeClient
from vcray.kube.errors import AlreadyExists, NotFound
from vcray.log import get_logger
from vcray.webhooks.base import Rules
from vcray.webhooks.services import ALL_SERVICES, EXEMPT_NAMESPACE, Service

GROUP: Final = "admissionregistration.k8s.io"
MUTATING: Final = Resource(
    GROUP, "v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations", False
)
VALIDATING: Final = Resource(
    GROUP, "v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", False
)
INJECTED: Final = (
    "cert-manager.io/inject-ca-from",
    "cert-manager.io/inject-ca-from-secret",
    "cert-manager.io/inject-apiserver-ca",
)
"""Annotations by which cert-manager writes the caBundle; then it is not ours to write."""
MANAGED_BY: Final = "app.kubernetes.io/managed-by"

log = get_logger("admission")


@dataclass(frozen=True, slots=True)
class Address:
    """Where an API server finds the webhooks: a base `url`, or a `service` as (namespace, name) on port 443."""

    url: str = ""
    service: tuple[str, str] | None = None

    def client_config(self, path: str, bundle: bytes) -> JsonObject:
        """`clientConfig` of a webhook; `bundle` are the PEM certificates that vouch for the server."""
        trusted = base64.b64encode(bundle).decode()
        if self.service is None:
            return {"caBundle": trusted, "url": self.url.rstrip("/") + path}
        namespace, name = self.service
        reference: JsonObject = {"namespace": namespace, "name": name, "path": path, "port": 443}
        return {"caBundle": trusted, "service": reference}


def configuration(
    service: Service, address: Address, bundle: bytes, release_namespace: str, rules: Rules | None = None
) -> JsonObject:
    """The Mutating- or ValidatingWebhookConfiguration of a service; the `rules` say which schedulers are ours."""
    rule: JsonObject = {
        "apiGroups": [service.resource.group],
        "apiVersions": [service.resource.version],
        "operations": list(service.operations),
        "resources": [service.resource.plural],
        "scope": "*",
    }
    outside: JsonObject = {
        "key": "kubernetes.io/metadata.name",
        "operator": "NotIn",
        "values": [release_namespace, EXEMPT_NAMESPACE],
    }
    entry: JsonObject = {
        "name": service.entry,
        "admissionReviewVersions": ["v1"],
        "clientConfig": address.client_config(service.path, bundle),
        "failurePolicy": "Fail" if service.must_answer else "Ignore",
        "matchPolicy": "Equivalent",
        "namespaceSelector": {"matchExpressions": [outside]} if service.by_namespace else {},
        "objectSelector": {},
        "rules": [rule],
        "sideEffects": service.side_effects,
        "timeoutSeconds": service.timeout_s,
    }
    if service.of_our_schedulers:
        ours = json.dumps((rules or Rules()).scheduler_names, ensure_ascii=False)
        entry["matchConditions"] = [{"name": "ours", "expression": f"object.spec.schedulerName in {ours}"}]
    if service.only:
        entry["matchConditions"] = [{"name": "marked", "expression": service.only}]
    if service.mutates:
        entry["reinvocationPolicy"] = "Never"
    return {
        "metadata": {"name": service.configuration_name, "labels": {MANAGED_BY: "vcray"}},
        "webhooks": [entry],
    }


Manner = Literal["own", "adopt", "bundle"]
"""Whose configurations are: `own` all of them ours; `adopt` ours are created where there are none; `bundle` none is created."""


class Registrar:
    """Keeps the configurations of the enabled services as they should be. `fill_only`: a caBundle that somebody else wrote stays."""

    def __init__(
        self,
        client: KubeClient,
        services: Sequence[Service],
        address: Address,
        release_namespace: str,
        rules: Rules,
        manner: Manner = "own",
        fill_only: bool = False,
    ) -> None:
        self._client = client
        self._services = tuple(services)
        self._address = address
        self._namespace = release_namespace
        self._rules = rules
        self._manner = manner
        self._fill_only = fill_only

    async def register(self, bundle: bytes) -> None:
        """Create or correct every configuration, and take away those that we made for services no longer enabled.

        In manner `bundle` VcrayError tells of one that is not there (yet)."""
        for service in self._services:
            if self._manner != "own" and await self._adopt(service, bundle):
                continue
            wanted = configuration(service, self._address, bundle, self._namespace, self._rules)
            await self._settle(service, wanted)
        if self._manner != "bundle":
            await self.withdraw(service for service in ALL_SERVICES if service not in self._services)

    async def withdraw(self, services: Iterable[Service] | None = None) -> None:
        """Delete the configurations that are ours, all unless told which."""
        if self._manner == "bundle":
            return
        for service in self._services if services is None else services:
            resource = _resource(service)
            try:
                found = await self._client.get(resource, None, service.configuration_name)
                if dig_str(found, "metadata", "labels", MANAGED_BY) == "vcray":
                    await self._client.delete(resource, None, service.configuration_name)
            except NotFound:
                continue

    async def _adopt(self, service: Service, bundle: bytes) -> bool:
        """Let somebody else's configuration trust us; False where it is to be as ours is."""
        resource, name = _resource(service), service.configuration_name
        try:
            found = await self._client.get(resource, None, name)
        except NotFound:
            if self._manner == "adopt":
                return False
            raise
        if self._manner == "adopt" and dig_str(found, "metadata", "labels", MANAGED_BY) == "vcray":
            return False
        trusted = base64.b64encode(bundle).decode()

        def trusting(present: JsonObject) -> JsonObject | None:
            configs = [dig_object(entry, "clientConfig") for entry in dig_objects(present, "webhooks")]
            stale = [
                config
                for config in configs
                if config.get("caBundle") != trusted and not (self._fill_only and config.get("caBundle"))
            ]
            if not stale:
                return None
            for config in stale:
                config["caBundle"] = trusted
            log.info("certificates told", webhook=service.entry)
            return present

        if bundle and not _injected(found) and trusting(deepcopy(found)) is not None:
            await self._client.modify(resource, None, name, trusting)
        return True

    async def _settle(self, service: Service, wanted: JsonObject) -> None:
        resource = _resource(service)
        try:
            found = await self._client.get(resource, None, service.configuration_name)
        except NotFound:
            try:
                await self._client.create(resource, None, wanted)
                log.info("registered", webhook=service.entry)
                return
            except AlreadyExists:
                found = {}

        def corrected(present: JsonObject) -> JsonObject | None:
            entries = _with_injected(wanted, present)
            if _entries(present) == _entries(entries):
                return None
            log.info("registration corrected", webhook=service.entry)
            return {**present, "webhooks": entries["webhooks"]}

        if not found or corrected(found) is not None:
            await self._client.modify(resource, None, service.configuration_name, corrected)


def _resource(service: Service) -> Resource:
    return MUTATING if service.mutates else VALIDATING


def _injected(present: JsonObject) -> bool:
    """Does cert-manager write the bundles of a configuration?"""
    return any(dig_str(present, "metadata", "annotations", key) for key in INJECTED)


def _with_injected(wanted: JsonObject, present: JsonObject) -> JsonObject:
    """The configuration wanted, with the bundles that cert-manager keeps in the present one."""
    if not _injected(present):
        return wanted
    kept = {
        dig_str(each, "name"): dig_str(each, "clientConfig", "caBundle")
        for each in dig_objects(present, "webhooks")
    }
    webhooks: list[JsonValue] = []
    for entry in dig_objects(wanted, "webhooks"):
        bundle = kept.get(dig_str(entry, "name"), "")
        config = dig_object(entry, "clientConfig")
        webhooks.append({**entry, "clientConfig": {**config, "caBundle": bundle}} if bundle else entry)
    return {**wanted, "webhooks": webhooks}


def _entries(configuration: JsonObject) -> list[JsonValue]:
    """The webhooks without what is empty or a default that servers write in various ways."""
    return [
        {key: value for key, value in entry.items() if value not in (None, [], {})}
        for entry in dig_objects(configuration, "webhooks")
    ]
