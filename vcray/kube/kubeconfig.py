"""Reading kubeconfig files: which server, which user, and the one sentence for whatever is wrong (VC0403)."""

from __future__ import annotations

import base64
import binascii
import os
import ssl
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import yaml

from vcray.errors import Problem, ServerError, did_you_mean

Section: TypeAlias = Mapping[str, object]

_BY_LIBRARY = ("exec", "auth-provider")
"""User entries that need a program or a service to get a token."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The cluster, the user and the namespace of one context. File names in them are relative to their folders."""

    where: str
    server: str
    cluster: Section
    cluster_folder: Path
    user: Section
    user_folder: Path
    namespace: str = "default"

    @property
    def plain(self) -> bool:
        """True if everything that is needed stands in the files themselves."""
        return not any(name in self.user for name in _BY_LIBRARY)


def unusable(where: str, what: str) -> ServerError:
    """The error for a kubeconfig that cannot be used."""
    return ServerError(Problem("VC0403", where, f"the kubeconfig cannot be used: {what}"))


def one_line(error: BaseException) -> str:
    """An error's text without line breaks; of a file that cannot be had only what the system says."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return " ".join(str(error).split()) or type(error).__name__


def choose(files: str, context: str | None = None) -> Choice:
    """The named or current context of the files (separated as in KUBECONFIG; of equal names the first counts)."""
    documents = _documents(files)
    contexts, clusters, users = (_named(documents, part) for part in ("contexts", "clusters", "users"))
    wanted = context or next(
        (str(d["current-context"]) for _, d in documents if d.get("current-context")), ""
    )
    if not wanted:
        raise unusable(files, "it has no current context; name one")
    if wanted not in contexts:
        raise unusable(files, f"it has no context '{wanted}'{did_you_mean(wanted, contexts)}")
    chosen = _section(contexts[wanted][1].get("context"))
    cluster_name, user_name = str(chosen.get("cluster") or ""), str(chosen.get("user") or "")
    if cluster_name not in clusters:
        raise unusable(files, f"context '{wanted}' means cluster '{cluster_name}', which is not in it")
    if user_name and user_name not in users:
        raise unusable(files, f"context '{wanted}' means user '{user_name}', which is not in it")
    cluster_folder, cluster = clusters[cluster_name]
    user_folder, user = users.get(user_name, (cluster_folder, {}))
    server = str(_section(cluster.get("cluster")).get("server") or "")
    if not server.startswith(("http://", "https://")):
        raise unusable(files, f"cluster '{cluster_name}' has no server that begins with https://")
    return Choice(
        files,
        server.rstrip("/"),
        _section(cluster.get("cluster")),
        cluster_folder,
        _section(user.get("user")),
        user_folder,
        str(chosen.get("namespace") or "default"),
    )


def _documents(files: str) -> list[tuple[Path, Section]]:
    paths = [Path(name).expanduser() for name in files.split(os.pathsep) if name]
    present = [path for path in paths if path.is_file()]
    if not present:
        raise unusable(files, "there is no such file; check the path")
    found: list[tuple[Path, Section]] = []
    for path in present:
        try:
            document = yaml.safe_load(path.read_text())
        except yaml.YAMLError as error:
            raise unusable(str(path), f"it is not YAML ({one_line(error)})") from error
        except (OSError, UnicodeDecodeError) as error:
            raise unusable(str(path), f"it cannot be read ({one_line(error)})") from error
        if not isinstance(document, dict) or not isinstance(document.get("clusters"), list):
            raise unusable(str(path), "it is not a kubeconfig: it has no list of clusters")
        found.append((path.absolute().parent, document))
    return found


def _named(documents: list[tuple[Path, Section]], part: str) -> dict[str, tuple[Path, Section]]:
    found: dict[str, tuple[Path, Section]] = {}
    for folder, document in documents:
        items = document.get(part)
        for item in items if isinstance(items, list) else []:
            if isinstance(item, dict):
                found.setdefault(str(item.get("name")), (folder, item))
    return found


def _section(value: object) -> Section:
    return value if isinstance(value, dict) else {}


def _content(section: Section, name: str, folder: Path, where: str) -> bytes | None:
    """What `<name>-data` holds, else what the file `<name>` holds, else None."""
    data, file = section.get(f"{name}-data"), section.get(name)
    try:
        if data:
            return base64.b64decode(str(data), validate=True)
        return (folder / str(file)).read_bytes() if file else None
    except (OSError, binascii.Error) as error:
        raise unusable(where, f"its {name} cannot be read ({one_line(error)})") from error


def tls_context(choice: Choice) -> ssl.SSLContext | None:
    """How to check the server and to show the client's certificate; None for a server without TLS."""
    if not choice.server.startswith("https"):
        return None
    authority = _content(choice.cluster, "certificate-authority", choice.cluster_folder, choice.where)
    certificate = _content(choice.user, "client-certificate", choice.user_folder, choice.where)
    key = _content(choice.user, "client-key", choice.user_folder, choice.where)
    try:
        context = ssl.create_default_context(cadata=authority.decode() if authority else None)
        if certificate:
            _load_certificate(context, certificate, key or b"")
    except (ssl.SSLError, ValueError) as error:
        raise unusable(choice.where, f"a certificate in it cannot be used ({one_line(error)})") from error
    if choice.cluster.get("insecure-skip-tls-verify"):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _load_certificate(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """OpenSSL reads a client's certificate only from a file; this one lives as long as the call."""
    with tempfile.NamedTemporaryFile(prefix="vcray-", suffix=".pem") as file:
        file.write(certificate + b"\n" + key)
        file.flush()
        context.load_cert_chain(file.name)
