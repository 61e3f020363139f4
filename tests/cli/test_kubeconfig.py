"""Plain kubeconfigs are read without the large library; everything else is left to it."""

import asyncio
import sys
from pathlib import Path

import pytest
import yaml

from vcray.errors import ServerError
from vcray.kube.auth import load


def write(folder, user=None, server="http://127.0.0.1:9", name="config"):
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": user if user is not None else {"token": "secret"}}],
    }
    file = folder / name
    file.write_text(yaml.safe_dump(document))
    return str(file)


def opened(kubeconfig="", context=None, master=None):
    return asyncio.run(load(Path(kubeconfig) if kubeconfig else None, context, master))


async def authorization(found):
    return await found._credentials.authorization()


def test_a_token_is_read_without_importing_the_large_library(tmp_path):
    before = set(sys.modules)

    found = opened(write(tmp_path))

    assert found.address == "http://127.0.0.1:9"
    assert asyncio.run(authorization(found)) == "Bearer secret"
    assert not any(name.startswith("kubernetes_asyncio") for name in set(sys.modules) - before)


def test_the_variable_names_the_file_when_no_flag_does(tmp_path, monkeypatch):
    monkeypatch.setenv("KUBECONFIG", write(tmp_path, server="http://127.0.0.1:10"))

    assert opened().address == "http://127.0.0.1:10"


def test_master_replaces_the_address_and_keeps_the_credentials(tmp_path):
    found = opened(write(tmp_path), master="http://127.0.0.1:11/")

    assert found.address == "http://127.0.0.1:11"
    assert asyncio.run(authorization(found)) == "Bearer secret"


def test_master_alone_is_enough(tmp_path, monkeypatch):
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))

    assert opened(master="http://127.0.0.1:12").address == "http://127.0.0.1:12"


def test_a_plugin_that_is_not_there_is_one_sentence_with_a_master_too(tmp_path):
    file = write(
        tmp_path,
        user={"exec": {"command": "no-such-login", "apiVersion": "client.authentication.k8s.io/v1"}},
    )

    with pytest.raises(ServerError, match=r"^VC0403 .*the kubeconfig cannot be used: .*no-such-login"):
        opened(file, master="http://127.0.0.1:13")


@pytest.mark.parametrize("content", [None, "a: [", "kind: Config"])
def test_a_file_that_cannot_be_used_is_one_sentence(tmp_path, content):
    file = tmp_path / "broken"
    if content is not None:
        file.write_text(content)

    with pytest.raises(ServerError) as raised:
        opened(str(file))

    assert str(raised.value).startswith(f"VC0403 {file}: the kubeconfig cannot be used: ")
    assert "\n" not in str(raised.value)


def test_a_context_that_is_missing_is_one_sentence(tmp_path):
    with pytest.raises(ServerError, match=r"VC0403 .*no context 'there'"):
        opened(write(tmp_path), "there")
