"""Reading kubeconfig files: what works, and one sentence for everything that does not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from vcray.api.meta import JsonObject
from vcray.errors import ServerError
from vcray.kube import auth
from vcray.kube.auth import load
from vcray.kube.http import HttpTransport


def kubeconfig(folder: Path, **changes: object) -> Path:
    document: dict[str, object] = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "clusters": [
            {"name": "c", "cluster": {"server": "http://127.0.0.1:1"}},
            {"name": "d", "cluster": {"server": "http://127.0.0.1:2"}},
        ],
        "users": [{"name": "u", "user": {"token": "secret"}}],
        "contexts": [
            {"name": "here", "context": {"cluster": "c", "user": "u"}},
            {"name": "there", "context": {"cluster": "d", "user": "u"}},
        ],
    }
    path = folder / "config"
    path.write_text(yaml.safe_dump({**document, **changes}))
    return path


def user(**fields: object) -> dict[str, object]:
    return {"users": [{"name": "u", "user": fields}]}


async def header(transport: HttpTransport) -> str | None:
    return await transport._credentials.authorization()


async def complaint(path: Path, context: str | None = None) -> str:
    with pytest.raises(ServerError) as refused:
        await load(path, context)
    text = str(refused.value)
    assert text.startswith("VC0403 ")
    assert "\n" not in text
    return text


async def test_the_current_context_names_server_and_token(tmp_path: Path) -> None:
    transport = await load(kubeconfig(tmp_path))

    assert transport.address == "http://127.0.0.1:1"
    assert await header(transport) == "Bearer secret"


async def test_another_context_can_be_named(tmp_path: Path) -> None:
    assert (await load(kubeconfig(tmp_path), "there")).address == "http://127.0.0.1:2"


async def test_a_user_name_with_a_password_is_basic_authentication(tmp_path: Path) -> None:
    transport = await load(kubeconfig(tmp_path, **user(username="me", password="pw")))

    assert await header(transport) == "Basic bWU6cHc="


async def test_a_missing_file_is_named(tmp_path: Path) -> None:
    assert f"{tmp_path}/none: the kubeconfig cannot be used: there is no such file" in await complaint(
        tmp_path / "none"
    )


async def test_a_file_that_is_not_yaml_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text("clusters: [")

    assert "it is not YAML" in await complaint(path)


@pytest.mark.parametrize("text", ["", "[]", "just words", "a: 1", "clusters: 3"])
async def test_a_file_that_is_no_kubeconfig_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config"
    path.write_text(text)

    assert "it is not a kubeconfig" in await complaint(path)


async def test_an_unknown_context_is_answered_with_the_nearest_one(tmp_path: Path) -> None:
    assert "it has no context 'hear'; did you mean 'here'?" in await complaint(kubeconfig(tmp_path), "hear")


async def test_a_file_without_a_current_context_is_refused(tmp_path: Path) -> None:
    assert "it has no current context" in await complaint(kubeconfig(tmp_path, **{"current-context": ""}))


async def test_a_context_without_its_cluster_is_refused(tmp_path: Path) -> None:
    contexts = [{"name": "here", "context": {"cluster": "nowhere", "user": "u"}}]

    assert "nowhere" in await complaint(kubeconfig(tmp_path, contexts=contexts))


async def test_a_certificate_authority_that_is_not_there_is_refused(tmp_path: Path) -> None:
    cluster = {"server": "https://127.0.0.1:1", "certificate-authority": str(tmp_path / "ca.crt")}

    assert "ca.crt" in await complaint(kubeconfig(tmp_path, clusters=[{"name": "c", "cluster": cluster}]))


async def test_a_certificate_authority_that_is_no_certificate_is_refused(tmp_path: Path) -> None:
    cluster = {"server": "https://127.0.0.1:1", "certificate-authority-data": "bm90IGEgY2VydGlmaWNhdGU="}

    assert "a certificate in it cannot be used" in await complaint(
        kubeconfig(tmp_path, clusters=[{"name": "c", "cluster": cluster}])
    )


async def test_a_cluster_without_a_proper_address_is_refused(tmp_path: Path) -> None:
    clusters = [{"name": "c", "cluster": {"server": "127.0.0.1:1"}}]

    assert "has no server that begins with https://" in await complaint(
        kubeconfig(tmp_path, clusters=clusters)
    )


async def test_files_named_in_a_kubeconfig_are_looked_for_beside_it(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("beside")

    transport = await load(kubeconfig(tmp_path, **user(tokenFile="token")))

    assert await header(transport) == "Bearer beside"


async def test_of_several_files_each_gives_what_the_others_lack(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    first = kubeconfig(tmp_path / "one", users=[])
    second = kubeconfig(tmp_path / "two", clusters=[{"name": "c", "cluster": {"server": "http://other:1"}}])

    transport = await load(Path(f"{first}:{second}"))

    assert (transport.address, await header(transport)) == ("http://127.0.0.1:1", "Bearer secret")


def test_a_plain_kubeconfig_does_not_wait_for_the_kubernetes_library(tmp_path: Path) -> None:
    code = (
        "import asyncio, pathlib, sys; from vcray.kube.auth import load\n"
        f"asyncio.run(load(pathlib.Path({str(kubeconfig(tmp_path))!r})))\n"
        "sys.exit('kubernetes_asyncio' in sys.modules)"
    )

    done = subprocess.run([sys.executable, "-c", code], check=False)

    assert done.returncode == 0


async def test_a_token_file_is_read_again_after_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = tmp_path / "token"
    token.write_text("one")
    transport = await load(kubeconfig(tmp_path, **user(tokenFile=str(token))))
    assert await header(transport) == "Bearer one"

    token.write_text("two")
    assert await header(transport) == "Bearer one"
    credentials = transport._credentials
    assert isinstance(credentials, auth.TokenFile)
    monkeypatch.setattr(credentials, "_clock", lambda: 1e12)

    assert await header(transport) == "Bearer two"


def plugin(folder: Path, expires: str | None) -> dict[str, object]:
    """An exec plugin that answers with a new token on each call."""
    status: JsonObject = {"expirationTimestamp": expires} if expires else {}
    script = folder / "plugin.py"
    script.write_text(
        "import json, pathlib\n"
        f"count = pathlib.Path({str(folder / 'calls')!r})\n"
        "number = int(count.read_text()) + 1 if count.exists() else 1\n"
        "count.write_text(str(number))\n"
        f"status = {{'token': f'token-{{number}}', **json.loads({json.dumps(json.dumps(status))})}}\n"
        "version = 'client.authentication.k8s.io/v1'\n"
        "print(json.dumps({'apiVersion': version, 'kind': 'ExecCredential', 'status': status}))\n"
    )
    return user(
        exec={
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": sys.executable,
            "args": [str(script)],
            "interactiveMode": "Never",
        }
    )


async def test_a_plugins_token_is_fetched_again_once_it_has_expired(tmp_path: Path) -> None:
    transport = await load(kubeconfig(tmp_path, **plugin(tmp_path, "2001-01-01T00:00:00Z")))

    first, second = await header(transport), await header(transport)

    assert first != second
    assert (first or "").startswith("Bearer token-")


async def test_a_plugins_token_without_an_end_is_kept_until_it_is_refused(tmp_path: Path) -> None:
    transport = await load(kubeconfig(tmp_path, **plugin(tmp_path, None)))
    assert [await header(transport), await header(transport)] == ["Bearer token-1"] * 2

    await transport._credentials.renew()

    assert await header(transport) == "Bearer token-2"


async def test_a_plugin_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    missing = user(exec={"apiVersion": "client.authentication.k8s.io/v1", "command": str(tmp_path / "gone")})

    assert "gone" in await complaint(kubeconfig(tmp_path, **missing))


async def test_kubeconfig_files_are_found_by_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig(tmp_path)))

    assert (await load()).address == "http://127.0.0.1:1"


async def test_nothing_to_go_by_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setattr(auth, "DEFAULT_KUBECONFIG", tmp_path / "none")

    with pytest.raises(ServerError, match="VC0403 the kubeconfig cannot be used: there is none"):
        await load()


async def test_a_pod_without_a_service_account_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setattr(auth, "DEFAULT_KUBECONFIG", tmp_path / "none")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")

    with pytest.raises(ServerError, match="VC0403 the pod's service account"):
        await load()
