"""Where the API server is and who we are: from a kubeconfig, or from the pod we run in.

A kubeconfig that holds its token or certificate is read directly, which keeps commands quick. Exec plugins, OIDC,
cloud providers and service accounts of pods are left to kubernetes-asyncio, whose import alone takes two seconds.
"""

from __future__ import annotations

import base64
import os
import ssl
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from vcray.kube.http import Credentials, HttpTransport, NoCredentials, StaticToken
from vcray.kube.kubeconfig import Choice, choose, one_line, tls_context, unusable

if TYPE_CHECKING:
    from kubernetes_asyncio.client import Configuration

DEFAULT_KUBECONFIG = Path("~/.kube/config")
TOKEN_FILE_SECONDS = 60.0
"""How long a token read from a file is used before the file is read again."""

_POD = "the pod's service account"
_BROKEN = (yaml.YAMLError, ValueError, KeyError, TypeError, AttributeError, AssertionError, OSError)
"""What kubernetes-asyncio raises, besides its ConfigException, for files that are not as they should be."""

Load = Callable[[], Awaitable["Configuration"]]


class TokenFile:
    """A bearer token that something else keeps fresh in a file."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._clock = clock
        self._read_at = 0.0
        self._token = ""
        self._read()

    async def authorization(self) -> str | None:
        """The header with a token at most a minute old."""
        if self._clock() - self._read_at >= TOKEN_FILE_SECONDS:
            await self.renew()
        return f"Bearer {self._token}"

    async def renew(self) -> None:
        """Read the file again."""
        self._read()

    def _read(self) -> None:
        try:
            self._token = self._path.read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            raise unusable(str(self._path), f"the token file cannot be read ({one_line(error)})") from error
        self._read_at = self._clock()


class BasicAuthentication:
    """A user name and a password."""

    def __init__(self, username: str, password: str) -> None:
        self._header = "Basic " + base64.b64encode(f"{username}:{password}".encode()).decode()

    async def authorization(self) -> str | None:
        return self._header

    async def renew(self) -> None:
        return None


class ConfiguredCredentials:
    """Credentials of a kubernetes-asyncio configuration, whose own hook keeps them fresh."""

    def __init__(self, configuration: Configuration, load: Load) -> None:
        self._configuration = configuration
        self._load = load

    async def authorization(self) -> str | None:
        """The header's value; an expired token is fetched again."""
        found: str | None = await self._configuration.get_api_key_with_prefix("BearerToken")
        return found

    async def renew(self) -> None:
        """Load the configuration anew."""
        self._configuration = await self._load()


async def load(
    kubeconfig: Path | None = None, context: str | None = None, server: str | None = None
) -> HttpTransport:
    """A transport to the server that the kubeconfig names, or to `server` with the kubeconfig's credentials.

    Without `kubeconfig`: the files in KUBECONFIG, else ~/.kube/config, else the pod's service account. Raises
    ServerError (VC0403) with one sentence when none of them can be used; nothing is sent yet.
    """
    named = _named(kubeconfig)
    if named:
        choice = choose(named, context)
        choice = replace(choice, server=server) if server else choice
        return _plain(choice) if choice.plain else await _by_library(choice, named, context)
    if server:
        return HttpTransport(server)
    if "KUBERNETES_SERVICE_HOST" in os.environ:
        return await _from_pod()
    raise unusable(
        "", "there is none; give one with --kubeconfig, set KUBECONFIG, or put one at ~/.kube/config"
    )


def context_namespace(kubeconfig: Path | None = None, context: str | None = None) -> str:
    """The namespace that a context names for requests without one; `default` where it names none, as kubectl has it.

    Files are looked for as `load` does. ServerError (VC0403) when they cannot be used."""
    named = _named(kubeconfig)
    return choose(named, context).namespace if named else "default"


def _named(kubeconfig: Path | None) -> str:
    """The kubeconfig files to read, as KUBECONFIG lists them; empty if there are none."""
    if kubeconfig is not None:
        return str(kubeconfig)
    usual = DEFAULT_KUBECONFIG.expanduser()
    return os.environ.get("KUBECONFIG", "") or (str(usual) if usual.is_file() else "")


def _plain(choice: Choice) -> HttpTransport:
    return _transport(choice, choice.server, _plain_credentials(choice), tls_context(choice))


def _plain_credentials(choice: Choice) -> Credentials:
    user = choice.user
    if user.get("tokenFile"):
        return TokenFile(choice.user_folder / str(user["tokenFile"]))
    if user.get("token"):
        return StaticToken(str(user["token"]))
    if user.get("username"):
        return BasicAuthentication(str(user["username"]), str(user.get("password") or ""))
    return NoCredentials()


def _transport(
    choice: Choice, server: str, credentials: Credentials, tls: ssl.SSLContext | None
) -> HttpTransport:
    proxy, name = choice.cluster.get("proxy-url"), choice.cluster.get("tls-server-name")
    return HttpTransport(server, credentials, tls, str(proxy) if proxy else None, str(name) if name else None)


async def _by_library(choice: Choice, files: str, context: str | None) -> HttpTransport:
    async def read() -> Configuration:
        return await _read(files, context)

    configuration = await read()
    tls = tls_context(choice)
    if tls is not None and configuration.cert_file:
        try:
            tls.load_cert_chain(configuration.cert_file, keyfile=configuration.key_file)
        except (ssl.SSLError, OSError) as error:
            raise unusable(files, f"a certificate in it cannot be used ({one_line(error)})") from error
    return _transport(choice, choice.server, ConfiguredCredentials(configuration, read), tls)


async def _read(files: str, context: str | None) -> Configuration:
    from kubernetes_asyncio.client import Configuration
    from kubernetes_asyncio.config import ConfigException, load_kube_config

    configuration = Configuration()
    try:
        loader = await load_kube_config(
            config_file=files, context=context, client_configuration=configuration
        )
    except ConfigException as error:
        raise unusable(files, one_line(error)) from error
    except _BROKEN as error:
        raise unusable(files, f"its user's credentials cannot be had ({one_line(error)})") from error

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
            raise unusable(_POD, one_line(error)) from error
        return configuration

    configuration = await read()
    try:
        tls = ssl.create_default_context(cafile=configuration.ssl_ca_cert)
    except (ssl.SSLError, OSError) as error:
        raise unusable(_POD, f"its certificate authority cannot be used ({one_line(error)})") from error
    return HttpTransport(configuration.host or "", ConfiguredCredentials(configuration, read), tls)
