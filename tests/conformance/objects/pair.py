"""The same request to the embedded server and to the real one, and what of their answers must be alike."""

from __future__ import annotations

import base64
import json
import re
import secrets
import ssl
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.conformance.harness.base import ADMIN_TOKEN, wait_until
from vcray.cluster.objects.catalog import default_catalog

FOLDER = Path(__file__).parent
OWN = ("uid", "resourceVersion", "creationTimestamp", "time", "clusterIP", "clusterIPs")
"""Fields whose values each server chooses for itself."""

_UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TIME = re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_WARNING = re.compile(r'299 - "((?:[^"\\]|\\.)*)"')


def normal(value: Any) -> Any:
    """An answer without what differs from server to server."""
    if isinstance(value, dict):
        shown = {
            key: "*" if key in OWN and not isinstance(item, dict) else normal(item)
            for key, item in value.items()
        }
        if "managedFields" in shown:  # their order depends on where a second ends
            shown["managedFields"].sort(key=lambda entry: json.dumps(entry, sort_keys=True))
        return shown
    if isinstance(value, list):
        return [normal(item) for item in value]
    return _TIME.sub("TIME", _UID.sub("UID", value)) if isinstance(value, str) else value


def by_field(answer: Any) -> Any:
    """A Status whose causes stand in one order, in its message too: a server walks the fields of a schema, and tells conflicts,
    in any."""
    causes = answer.get("details", {}).get("causes") if isinstance(answer, dict) else None
    if isinstance(causes, list):
        told = _listed(causes)
        causes.sort(key=json.dumps)
        if answer["message"].endswith(told):
            answer["message"] = answer["message"].removesuffix(told) + _listed(causes)
    return answer


def _listed(causes: list[dict[str, str]]) -> str:
    """Several causes as they stand at the end of a message."""
    sentences = [f"{cause.get('field')}: {cause.get('message')}" for cause in causes]
    return f"[{', '.join(sentences)}]"


@dataclass
class Pair:
    """Both servers, with a namespace of one name on each."""

    servers: tuple[Any, Any]
    namespace: str = field(default_factory=lambda: f"pair-{secrets.token_hex(4)}")

    def __post_init__(self) -> None:
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}}
        for server in self.servers:
            server.client.create("/api/v1/namespaces", body)

    def await_served(self, path: str) -> None:
        """Wait until both servers serve a new collection."""
        for server in self.servers:
            wait_until(lambda client=server.client: client.exists(path), f"{path} to be served")

    def answers(self, method: str, path: str, body: Any, media: str = "application/json") -> list[Any]:
        """Code, normal body and warnings of the embedded server's answer and of the real one's."""
        return [_send(server, method, path, body, media) for server in self.servers]


def _send(server: Any, method: str, path: str, body: Any, media: str) -> tuple[int, Any, list[str]]:
    data = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(server.url + path, method=method, data=data)
    for name, value in (
        ("Authorization", f"Bearer {ADMIN_TOKEN}"),
        ("Content-Type", media),
        ("Accept", "application/json"),
        ("User-Agent", "pair"),
    ):
        request.add_header(name, value)
    context = ssl.create_default_context(cafile=str(server.certificate_authority))
    try:
        with urllib.request.urlopen(request, context=context, timeout=30) as answer:
            told = answer.headers.get_all("Warning") or []
            return answer.status, normal(json.loads(answer.read())), _warnings(told)
    except urllib.error.HTTPError as failure:
        return failure.code, by_field(normal(json.loads(failure.read()))), []


def _warnings(headers: list[str]) -> list[str]:
    return [text for header in headers for text in _WARNING.findall(header)]


def signing_request() -> str:
    """A PEM certificate request in base64."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "me")])
    request = x509.CertificateSigningRequestBuilder().subject_name(name).sign(key, hashes.SHA256())
    return base64.b64encode(request.public_bytes(serialization.Encoding.PEM)).decode()


def samples(namespace: str, mark: str) -> dict[str, dict[str, Any]]:
    """`Kind/name` -> the sample objects, cluster-wide ones named after `mark`."""
    text = (FOLDER / "samples.yaml").read_text()
    for word, value in (("NAMESPACE", namespace), ("CLUSTER", mark), ("CSRBYTES", signing_request())):
        text = text.replace(word, value)
    found: dict[str, dict[str, Any]] = {}
    for document in yaml.safe_load_all(text):
        found.setdefault(
            f"{document['apiVersion']} {document['kind']}/{document['metadata']['name']}", document
        )
    return found


def path_of(document: dict[str, Any], namespace: str) -> str:
    """The collection that a sample belongs into."""
    kind = _CATALOG.named(document["apiVersion"], document["kind"])
    assert kind is not None
    return kind.resource.path(namespace)


_CATALOG = default_catalog(volcano=False)
