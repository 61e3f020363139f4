"""What `vcray doctor` looks at: this machine, then the API server, then what the control plane needs of it.

Each examination answers with findings; one that fails says what to do, and those that rest on it are skipped.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from vcray.api.crds import all_crds
from vcray.api.jsonview import dig_objects, dig_str, holds
from vcray.api.meta import JsonObject
from vcray.api.resources import CUSTOMRESOURCEDEFINITIONS, QUEUES
from vcray.cli.rayaddress import check_ray_address
from vcray.cli.runtime_folder import RuntimeFolder
from vcray.errors import Unauthorized, VcrayError
from vcray.kube.client import KubeClient
from vcray.kube.errors import NotFound
from vcray.kube.transport import Transport

OK, FAULT, SKIPPED = "ok", "FAULT", "skipped"
SKEW_S = 5.0
"""Seconds by which two clocks may differ: leases and waiting times rest on them."""

OLDEST_MINOR = 30
NEEDED_RIGHTS = (
    ("create", "", "pods", "binding"),
    ("delete", "", "pods", ""),
    ("patch", "", "pods", "status"),
    ("list", "", "nodes", ""),
    ("create", "", "events", ""),
    ("update", "scheduling.volcano.sh", "podgroups", "status"),
    ("update", "batch.volcano.sh", "jobs", "status"),
)
"""(verb, group, resource, subresource) of what the control plane does."""

_WEBHOOKS = "/apis/admissionregistration.k8s.io/v1"
_OURS = "volcano-admission-service"
_PROBE_S = 5.0


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at: what was found and, when it is a fault, what to do."""

    check: str
    result: str
    found: str
    advice: str = ""


def machine(ray_address: str | None) -> list[Finding]:
    """Python, our package, Ray and a cluster of this user's."""
    python = ".".join(map(str, sys.version_info[:3]))
    return [Finding("python", OK, python), _package(), _ray(ray_address), _local_cluster()]


def _package() -> Finding:
    try:
        return Finding("vcray", OK, version("vcray"))
    except PackageNotFoundError:
        return Finding(
            "vcray", FAULT, "not installed as a package", "install it: `pip install .` in its folder"
        )


def _ray(address: str | None) -> Finding:
    if find_spec("ray") is None:
        return Finding(
            "ray", FAULT, "cannot be imported", "install it (`pip install ray`), or use --runtime local"
        )
    if address is None:
        return Finding("ray", OK, f"{version('ray')}, started when needed")
    try:
        check_ray_address(address)
    except VcrayError as error:
        return Finding("ray", FAULT, str(error), "start Ray there, or name another address")
    return Finding("ray", OK, f"{version('ray')}, {address} answers")


def _local_cluster() -> Finding:
    folder = RuntimeFolder()
    running = folder.running()
    if running is not None:
        state = "ready" if running.ready else "starting"
        return Finding("local cluster", OK, f"{state}, process {running.pid}, {running.url}")
    if folder.path.exists() and not folder.held():
        return Finding("local cluster", FAULT, f"one was killed and left {folder.path}", "run `vcray down`")
    return Finding("local cluster", OK, "none runs")


def port(number: int) -> Finding:
    """Is the port of `vcray up` free, or in the hands of our own cluster?"""
    running = RuntimeFolder().running()
    if running is not None and running.url.endswith(f":{number}"):
        return Finding("port", OK, f"{number} is our cluster's")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", number))
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else str(error)
            return Finding("port", FAULT, f"{number}: {reason}", "free it, or start `vcray up --port 0`")
    return Finding("port", OK, f"{number} is free")


# -- the API server -----------------------------------------------------------------------------------------------


async def server(transport: Transport) -> AsyncIterator[Finding]:
    """The server and who we are to it; then definitions, queues, rights and webhooks, when it can be used at all."""
    client = KubeClient(transport, "vcray")
    try:
        told = await client.version()
    except Unauthorized:  # whoever shows a wrong token may not even ask for the version
        told = {}
    except VcrayError as error:
        yield Finding("server", FAULT, str(error), _what_to_do(error))
        for name in ("identity", "clock", *_RESTING):
            yield Finding(name, SKIPPED, "the server cannot be used")
        return
    yield _server_version(transport.address, told)
    identity = await _identity(client)
    yield identity
    yield await _clock(transport)
    for name, examine in _RESTING.items():
        if identity.result == FAULT:
            yield Finding(name, SKIPPED, "the server does not know us")
            continue
        try:
            yield await examine(client)
        except VcrayError as error:
            yield Finding(name, FAULT, str(error), _what_to_do(error))


def _what_to_do(error: VcrayError) -> str:
    code = error.problems[0].code
    return {
        "VC0401": "start the server, or mend the address in the kubeconfig",
        "VC0402": "renew the token or certificate in the kubeconfig",
        "VC0404": "run `vcray crds | kubectl apply --server-side -f -`",
    }.get(code, "ask for the right, or use another user of the kubeconfig")


def _server_version(address: str, told: JsonObject) -> Finding:
    minor = dig_str(told, "minor").rstrip("+")
    found = ", ".join(each for each in (address, dig_str(told, "gitVersion")) if each)
    if minor.isdigit() and int(minor) < OLDEST_MINOR:
        return Finding("server", FAULT, found, f"use Kubernetes 1.{OLDEST_MINOR} or later")
    return Finding("server", OK, found)


async def _identity(client: KubeClient) -> Finding:
    review: JsonObject = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    try:
        path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
        answer = await client.transport.request("POST", path, None, _bytes(review))
    except VcrayError as error:
        return Finding("identity", FAULT, str(error), _what_to_do(error))
    if answer.status == 401:
        return Finding("identity", FAULT, "the server refuses the credentials", "renew the token")
    user = dig_str(_json(answer.body), "status", "userInfo", "username")
    return Finding("identity", OK, user or "the server does not tell")


async def _clock(transport: Transport) -> Finding:
    before = time.time()
    answer = await transport.request("GET", "/version")
    told = answer.headers.get("date", "")
    if not told:
        return Finding("clock", SKIPPED, "the server tells no time")
    now = (before + time.time()) / 2
    skew = parsedate_to_datetime(told).timestamp() + 0.5 - now  # the header has whole seconds
    found = f"the server is {abs(skew):.0f} s {'ahead' if skew > 0 else 'behind'}"
    if abs(skew) > SKEW_S + (time.time() - before):
        return Finding("clock", FAULT, found, "set the clocks of both machines by NTP")
    return Finding("clock", OK, found)


async def _definitions(client: KubeClient) -> Finding:
    page = await client.list(CUSTOMRESOURCEDEFINITIONS)
    served = {dig_str(each, "metadata", "name") for each in page.items if _established(each)}
    wanted = [dig_str(each, "metadata", "name") for each in all_crds()]
    missing = [name for name in wanted if name not in served]
    if missing:
        found = f"{len(missing)} of {len(wanted)} are missing: {', '.join(missing[:3])}{', …' if len(missing) > 3 else ''}"
        return Finding("definitions", FAULT, found, "run `vcray crds | kubectl apply --server-side -f -`")
    return Finding("definitions", OK, f"all {len(wanted)} are served")


def _established(definition: JsonObject) -> bool:
    return holds(definition, "Established")


async def _queues(client: KubeClient) -> Finding:
    try:
        await client.get(QUEUES, None, "default")
    except NotFound:
        return Finding("queues", FAULT, "there is no queue 'default'", "start the control plane: `vcray run`")
    return Finding("queues", OK, "queue 'default' is there")


async def _rights(client: KubeClient) -> Finding:
    async def may(verb: str, group: str, resource: str, subresource: str) -> bool:
        attributes: JsonObject = {
            "verb": verb, "group": group, "resource": resource, "subresource": subresource,
        }  # fmt: skip
        review: JsonObject = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes},
        }
        path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
        answer = _json(await client.request("POST", path, None, review))
        status = answer.get("status")
        return isinstance(status, dict) and status.get("allowed") is True

    allowed = await asyncio.gather(*(may(*right) for right in NEEDED_RIGHTS))
    refused = [right for right, given in zip(NEEDED_RIGHTS, allowed, strict=True) if not given]
    if refused:
        verb, _, resource, subresource = refused[0]
        first = f"{verb} {resource}{f'/{subresource}' if subresource else ''}"
        found = f"{len(refused)} of {len(NEEDED_RIGHTS)} are missing, such as {first}"
        return Finding("rights", FAULT, found, "give the user a role with them, or use another user")
    return Finding("rights", OK, "all that the control plane needs")


async def _webhooks(client: KubeClient) -> Finding:
    found: list[tuple[str, JsonObject]] = []
    for kind in ("mutatingwebhookconfigurations", "validatingwebhookconfigurations"):
        page = _json(await client.request("GET", f"{_WEBHOOKS}/{kind}"))
        found += [
            (dig_str(hook, "name"), hook)
            for each in dig_objects(page, "items")
            if dig_str(each, "metadata", "name").startswith(_OURS)
            for hook in dig_objects(each, "webhooks")
        ]
    if not found:
        return Finding("webhooks", SKIPPED, "none are registered; jobs are not checked at admission")
    urls = {dig_str(hook, "clientConfig", "url") for _, hook in found} - {""}
    dead = [url for url in sorted(urls) if not await asyncio.to_thread(_speaks_tls, url)]
    if dead:
        advice = "start the control plane with --admission, or delete the registration"
        return Finding("webhooks", FAULT, f"{dead[0]} does not answer", advice)
    return Finding("webhooks", OK, f"{len(found)} are registered" + (" and answer" if urls else ""))


def _speaks_tls(url: str) -> bool:
    parts = urlsplit(url)
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with socket.create_connection((parts.hostname or "", parts.port or 443), _PROBE_S) as plain:
            context.wrap_socket(plain, server_hostname=parts.hostname).close()
    except OSError:
        return False
    return True


_RESTING: dict[str, Callable[[KubeClient], Awaitable[Finding]]] = {
    "definitions": _definitions,
    "queues": _queues,
    "rights": _rights,
    "webhooks": _webhooks,
}
"""What can be looked at once the server knows us."""


def _json(body: bytes) -> JsonObject:
    import msgspec

    decoded: JsonObject = msgspec.json.decode(body)
    return decoded


def _bytes(document: JsonObject) -> bytes:
    import msgspec

    return msgspec.json.encode(document)


def local_kubeconfig() -> Path | None:
    """The kubeconfig of this user's running cluster, for those who have named none."""
    folder = RuntimeFolder()
    return folder.kubeconfig if folder.held() and folder.kubeconfig.exists() else None
