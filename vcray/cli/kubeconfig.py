"""A short way from a plain kubeconfig to a transport, for commands that live for a moment.

`vcray.kube.auth` reads every kind of kubeconfig through kubernetes-asyncio, whose import takes two seconds. A file with a
token or a client certificate, which is what most hold, needs none of it. Anything else, broken files included, is left to
that module: it has the sentences.
"""

from __future__ import annotations

import base64
import binascii
import os
import ssl
import tempfile
from pathlib import Path

import yaml

from vcray.api.jsonview import dig_object, dig_objects, dig_str
from vcray.api.meta import JsonObject
from vcray.errors import Problem, ServerError
from vcray.kube.auth import DEFAULT_KUBECONFIG, load
from vcray.kube.http import Credentials, HttpTransport, NoCredentials, StaticToken

_CLUSTER_KEYS = frozenset(
    {
        "server",
        "certificate-authority",
        "certificate-authority-data",
        "insecure-skip-tls-verify",
        "tls-server-name",
        "extensions",
    }
)
_USER_KEYS = frozenset(
    {"token", "client-certificate", "client-certificate-data", "client-key", "client-key-data", "extensions"}
)


async def transport(kubeconfig: str = "", context: str = "", master: str = "") -> HttpTransport:
    """A transport to the server of a kubeconfig, or to `master` with the kubeconfig's credentials.

    Raises ServerError VC0403 when that cannot be."""
    file = _file(kubeconfig)
    if file is None and master:
        return HttpTransport(master)
    found = _plain(file, context, master) if file is not None else None
    if found is not None:
        return found
    if master:
        what = "--master goes with a kubeconfig that holds a token or a client certificate; leave it out"
        raise ServerError(Problem("VC0403", str(file), what))
    return await load(Path(kubeconfig) if kubeconfig else None, context or None)


def _file(kubeconfig: str) -> Path | None:
    """The one file that counts; None when there is none, or several."""
    named = kubeconfig or os.environ.get("KUBECONFIG", "")
    if os.pathsep in named:
        return None
    file = Path(named).expanduser() if named else DEFAULT_KUBECONFIG.expanduser()
    return file if named or file.is_file() else None


def _plain(file: Path, context: str, master: str) -> HttpTransport | None:
    try:
        document = yaml.load(file.read_text(encoding="utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        chosen = dig_object(
            _named(document, "contexts", context or dig_str(document, "current-context")), "context"
        )
        cluster = dig_object(_named(document, "clusters", dig_str(chosen, "cluster")), "cluster")
        user = dig_object(_named(document, "users", dig_str(chosen, "user")), "user")
        if not dig_str(cluster, "server") or not set(cluster) <= _CLUSTER_KEYS or not set(user) <= _USER_KEYS:
            return None
        server = master or dig_str(cluster, "server")
        token = dig_str(user, "token")
        credentials: Credentials = StaticToken(token) if token else NoCredentials()
        tls = _tls(cluster, user, file.parent) if server.startswith("https") else None
    except (OSError, ValueError, KeyError, yaml.YAMLError, binascii.Error):
        return None
    return HttpTransport(
        server, credentials, tls, server_hostname=dig_str(cluster, "tls-server-name") or None
    )


def _named(document: JsonObject, section: str, name: str) -> JsonObject:
    return next(
        each for each in [*dig_objects(document, section), {}] if each.get("name") == name or not each
    )


def _tls(cluster: JsonObject, user: JsonObject, folder: Path) -> ssl.SSLContext:
    authority = _bytes(cluster, "certificate-authority", folder)
    context = ssl.create_default_context(cadata=authority.decode() if authority else None)
    if cluster.get("insecure-skip-tls-verify"):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    certificate, key = _bytes(user, "client-certificate", folder), _bytes(user, "client-key", folder)
    if certificate and key:
        with tempfile.TemporaryDirectory() as place:  # ssl reads them from files only
            both = Path(place, "both.pem")
            both.touch(0o600)
            both.write_bytes(certificate + b"\n" + key)
            context.load_cert_chain(both)
    return context


def _bytes(section: JsonObject, key: str, folder: Path) -> bytes:
    """What `key-data` holds in base64, else the file that `key` names, else nothing."""
    if data := dig_str(section, f"{key}-data"):
        return base64.b64decode(data, validate=True)
    path = dig_str(section, key)
    return (folder / path).read_bytes() if path else b""
