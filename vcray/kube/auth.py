"""Where the API server is and who we are: kubeconfig or in-cluster, read by kubernetes-asyncio.

Contexts, tokens, token files, exec plugins, client certificates, OIDC and proxies are that library's work; here its
outcome becomes an `HttpTransport`, and everything that can be wrong with the file becomes one sentence (VC0403).
"""

from __future__ import annotations

import os
import ssl
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from vcray.errors import Problem, ServerError, did_you_mean
from vcray.kube.http import HttpTransport

if TYPE_CHECKING:
    from kubernetes_asyncio.client import Configuration

DEFAULT_KUBECONFIG = Path("~/.kube/config")
TOKEN_FILE_SECONDS = 60.0
"""How long a token read from a file is used before the file is read again."""

_BROKEN = (yaml.YAMLError, ValueError, KeyError, TypeError, AttributeError, AssertionError, OSError)
"""What kubernetes-asyncio raises, besides its ConfigException, for files that are not as they should be."""

Load = Callable[[], Awaitable["Configuration"]]


class ConfiguredCredentials:
    """Credentials of a kubernetes-asyncio configuration, loaded again when they may have changed.

    `every` is the age in seconds at which they are loaded again unasked; None leaves that to the library's own hook.
    """

    def __init__(
        self,
        configuration: Configuration,
        load: Load,
        every: float | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._configuration = configuration
        self._load = load
        self._every = every
        self._clock = clock
        self._loaded_at = clock()

    async def authorization(self) -> str | None:
        """The header's value; files are read and plugins run again when it is time."""
        if self._every is not None and self._clock() - self._loaded_at >= self._every:
            await self.renew()
        found: str | None = await self._configuration.get_api_key_with_prefix("BearerToken")
        return found

    async def renew(self) -> None:
        """Load the configuration anew."""
        self._loaded_at = self._clock()
        self._configuration = await self._load()


async def load(kubeconfig: Path | None = None, context: str | None = None) -> HttpTransport:
    """A transport to the server that the kubeconfig names.

    Without `kubeconfig`: the files in KUBECONFIG, else ~/.kube/config, else the pod's service account. Raises
    ServerError (VC0403) with one sentence when none of them can be used; nothing is sent yet.
    """
    named = _named(kubeconfig)
    if named:
        return await _from_kubeconfig(named, context)
    if "KUBERNETES_SERVICE_HOST" in os.environ:
        return await _from_pod()
    raise _unusable(
        "", "no kubeconfig: give one with --kubeconfig, set KUBECONFIG, or put one at ~/.kube/config"
    )


def _named(kubeconfig: Path | None) -> str:
    """The kubeconfig files to read, as KUBECONFIG lists them; empty if there are none."""
    if kubeconfig is not None:
        return str(kubeconfig)
    usual = DEFAULT_KUBECONFIG.expanduser()
    return os.environ.get("KUBECONFIG", "") or (str(usual) if usual.is_file() else "")


def _present(files: str) -> list[str]:
    return [path for path in files.split(os.pathsep) if path and Path(path).expanduser().is_file()]


async def _from_kubeconfig(files: str, context: str | None) -> HttpTransport:
    present = _present(files)
    if not present:
        raise _unusable(files, "there is no such file; check the path")
    _check_context(files, present, context)

    async def read() -> Configuration:
        return await _read(files, context)

    configuration = await read()
    every = TOKEN_FILE_SECONDS if _token_in_file(present) else None
    return _transport(files, configuration, ConfiguredCredentials(configuration, read, every))


async def _read(files: str, context: str | None) -> Configuration:
    from kubernetes_asyncio.client import Configuration
    from kubernetes_asyncio.config import ConfigException, load_kube_config

    configuration = Configuration()
    try:
        loader = await load_kube_config(
            config_file=files, context=context, client_configuration=configuration
        )
    except ConfigException as error:
        raise _unusable(files, _one_line(error)) from error
    except _BROKEN as error:
        raise _unusable(files, f"it cannot be read ({_one_line(error)})") from error

    async def renew_plugin_token(_: Configuration) -> None:
        await loader.load_from_exec_plugin()
        configuration.api_key["BearerToken"] = loader.token

    if hasattr(loader, "exec_plugin_expiry") and hasattr(loader, "token"):
        configuration.refresh_api_key_hook = renew_plugin_token
    return configuration


async def _from_pod() -> HttpTransport:
    from kubernetes_asyncio.client import Configuration
    from kubernetes_asyncio.config import ConfigException, load_incluster_config

    async def read() -> Configuration:
        configuration = Configuration()
        try:
            load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
        except (ConfigException, OSError) as error:
            raise _unusable("the pod's service account", _one_line(error)) from error
        return configuration

    configuration = await read()
    return _transport(
        "the pod's service account", configuration, ConfiguredCredentials(configuration, read, None)
    )


def _transport(where: str, configuration: Configuration, credentials: ConfiguredCredentials) -> HttpTransport:
    tls: ssl.SSLContext | None = None
    host: str = configuration.host or ""
    if host.startswith("https"):
        try:
            tls = ssl.create_default_context(cafile=configuration.ssl_ca_cert)
            if configuration.cert_file:
                tls.load_cert_chain(configuration.cert_file, keyfile=configuration.key_file)
        except (ssl.SSLError, OSError) as error:
            raise _unusable(where, f"a certificate in it cannot be used ({_one_line(error)})") from error
        if not configuration.verify_ssl:
            tls.check_hostname = False
            tls.verify_mode = ssl.CERT_NONE
    return HttpTransport(
        host,
        credentials,
        tls,
        configuration.proxy or None,
        configuration.tls_server_name or None,
    )


def _documents(files: list[str]) -> list[dict[str, object]]:
    found = []
    for name in files:
        path = Path(name).expanduser()
        try:
            document = yaml.safe_load(path.read_text())
        except yaml.YAMLError as error:
            raise _unusable(name, f"it is not YAML ({_one_line(error)})") from error
        except (OSError, UnicodeDecodeError) as error:
            raise _unusable(name, f"it cannot be read ({_one_line(error)})") from error
        if not isinstance(document, dict) or not isinstance(document.get("clusters"), list):
            raise _unusable(name, "it is not a kubeconfig: it has no list of clusters")
        found.append(document)
    return found


def _check_context(files: str, present: list[str], context: str | None) -> None:
    """Refuse a missing context here, where the message can name those that exist."""
    documents = _documents(present)
    known = [
        str(item.get("name"))
        for document in documents
        for item in _list(document.get("contexts"))
        if isinstance(item, dict)
    ]
    wanted = context or next((str(d["current-context"]) for d in documents if d.get("current-context")), "")
    if not wanted:
        raise _unusable(files, "it has no current context; name one")
    if wanted not in known:
        raise _unusable(files, f"it has no context '{wanted}'{did_you_mean(wanted, known)}")


def _token_in_file(present: list[str]) -> bool:
    users = [item for document in _documents(present) for item in _list(document.get("users"))]
    return any(
        isinstance(item, dict) and isinstance(item.get("user"), dict) and "tokenFile" in item["user"]
        for item in users
    )


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _unusable(where: str, what: str) -> ServerError:
    return ServerError(Problem("VC0403", where, f"the kubeconfig cannot be used: {what}"))
