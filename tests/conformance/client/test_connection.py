"""Reaching a real kube-apiserver, and the one sentence for each way in which that fails."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest
import yaml

from tests.conformance.harness.base import STRANGER_TOKEN
from tests.conformance.harness.server import ControlPlane
from vcray.api.resources import NODES
from vcray.errors import ServerError, Unauthorized, Unreachable
from vcray.kube.auth import load
from vcray.kube.client import KubeClient
from vcray.kube.errors import Forbidden
from vcray.kube.http import HttpTransport, StaticToken

pytestmark = pytest.mark.apiserver


def with_token(server: ControlPlane, token: str) -> KubeClient:
    tls = ssl.create_default_context(cafile=str(server.certificate_authority))
    return KubeClient(HttpTransport(server.url, StaticToken(token), tls))


async def test_a_kubeconfig_leads_to_the_server(apiserver: ControlPlane) -> None:
    client = KubeClient(await load(apiserver.kubeconfig))

    version = await client.version()

    await client.close()
    assert str(version["gitVersion"]).startswith("v1.")


async def test_a_wrong_token_is_one_sentence(apiserver: ControlPlane) -> None:
    client = with_token(apiserver, "wrong")

    with pytest.raises(Unauthorized) as refused:
        await client.list(NODES)
    with pytest.raises(Unauthorized):
        await anext(client.transport.stream(NODES.path(), {"watch": "true"}))

    await client.close()
    assert str(refused.value) == (
        f"VC0402 {apiserver.url}: the API server refused the credentials; check the token or certificate"
    )


async def test_a_known_user_without_rights_is_forbidden_in_the_servers_words(apiserver: ControlPlane) -> None:
    client = with_token(apiserver, STRANGER_TOKEN)

    with pytest.raises(Forbidden, match='User "stranger" cannot list resource "nodes"'):
        await client.list(NODES)

    await client.close()


async def test_a_certificate_that_nobody_vouches_for_is_one_sentence(apiserver: ControlPlane) -> None:
    client = KubeClient(HttpTransport(apiserver.url, StaticToken("any")))

    with pytest.raises(Unreachable) as failed:
        await client.version()

    await client.close()
    assert "certificate is not trusted (" in str(failed.value)
    assert "\n" not in str(failed.value)


async def test_a_kubeconfig_may_wave_the_certificate_through(apiserver: ControlPlane, tmp_path: Path) -> None:
    document = yaml.safe_load(apiserver.kubeconfig.read_text())
    document["clusters"][0]["cluster"] = {"server": apiserver.url, "insecure-skip-tls-verify": True}
    path = tmp_path / "config"
    path.write_text(yaml.safe_dump(document))
    client = KubeClient(await load(path))

    assert await client.version()

    await client.close()


async def test_a_client_certificate_is_shown_from_files_beside_the_kubeconfig(
    apiserver: ControlPlane,
) -> None:
    document = yaml.safe_load(apiserver.kubeconfig.read_text())
    document["users"][0]["user"] |= {
        "client-certificate": "certificates/apiserver.crt",
        "client-key": "certificates/apiserver.key",
    }
    path = apiserver.folder / "with-certificate"
    path.write_text(yaml.safe_dump(document))
    client = KubeClient(await load(path))

    assert await client.version()

    await client.close()


async def test_a_client_certificate_without_its_key_is_one_sentence(apiserver: ControlPlane) -> None:
    document = yaml.safe_load(apiserver.kubeconfig.read_text())
    document["users"][0]["user"]["client-certificate"] = "certificates/apiserver.crt"
    path = apiserver.folder / "without-key"
    path.write_text(yaml.safe_dump(document))

    with pytest.raises(ServerError, match=r"VC0403 .*a certificate in it cannot be used"):
        await load(path)
