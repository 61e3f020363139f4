"""Pages of servers that are not Kubernetes', over real HTTP."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kube.fabric_server import fabric_server, own_certificate
from vcray.errors import Unreachable
from vcray.kube import fetching
from vcray.kube.fetching import fetch

PORTS = "/ufmRest/resources/ports"
LOGIN = {"Authorization": "Basic YWRtaW46c2VjcmV0"}


async def test_a_page_comes_with_its_status_and_body() -> None:
    async with fabric_server() as server:
        server.ports = [{"a": 1}]
        known = await fetch(server.address + PORTS, LOGIN, True, 5)
        stranger = await fetch(server.address + PORTS, {}, True, 5)

    assert (known.status, known.body) == (200, b'[{"a": 1}]')
    assert known.headers["content-type"].startswith("application/json")
    assert stranger.status == 401


async def test_a_certificate_that_nobody_vouches_for_is_refused_unless_any_will_do(tmp_path: Path) -> None:
    async with fabric_server(own_certificate(tmp_path)) as server:
        url = server.address + PORTS
        with pytest.raises(Unreachable) as failed:
            await fetch(url, LOGIN, True, 5)
        answer = await fetch(url, LOGIN, False, 5)

    assert (
        str(failed.value)
        == f"VC0401 {url}: the server's certificate is not trusted (self-signed certificate)"
    )
    assert answer.status == 200


async def test_a_server_that_does_not_answer_is_waited_for_no_longer_than_said() -> None:
    async with fabric_server() as server:
        server.stalled = True
        with pytest.raises(Unreachable, match=r": no answer within 0\.05 s$"):
            await fetch(server.address + PORTS, LOGIN, True, 0.05)


async def test_an_answer_without_end_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetching, "LARGEST", 2**20)
    async with fabric_server() as server:
        server.body = b"x" * (2**20 + 1)
        with pytest.raises(Unreachable, match=r": the answer has more than 1 MiB$"):
            await fetch(server.address + PORTS, LOGIN, True, 5)


async def test_a_server_that_is_not_there_or_no_server_says_so() -> None:
    async with fabric_server() as server:
        gone = server.address
        with pytest.raises(Unreachable, match="does not speak TLS as we do"):
            await fetch(gone.replace("http:", "https:") + PORTS, {}, True, 5)
    with pytest.raises(Unreachable, match=r"cannot connect \(Connection refused\)"):
        await fetch(gone + PORTS, {}, True, 5)
    for address in ("https://", "http://[::1", "http://x:port/"):
        with pytest.raises(Unreachable, match=r"is not a URL|the connection failed|cannot connect"):
            await fetch(address, {}, True, 5)
