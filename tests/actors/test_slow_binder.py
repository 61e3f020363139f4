"""A binding that takes long is still a binding: nobody decides it anew while the request is under way."""

from __future__ import annotations

from typing import Any

import pytest

from tests.actors.own_rounds import Cluster, cluster
from vcray.cache.assume import ASSUMED_S
from vcray.kube.client import KubeClient

__all__ = ["cluster"]


async def test_a_placement_does_not_expire_while_its_binding_is_under_way(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []
    bind = KubeClient.bind

    async def slowly(client: KubeClient, namespace: str, name: str, *arguments: Any) -> None:
        sent.append(name)
        await cluster.time.sleep(1.5 * ASSUMED_S)
        await bind(client, namespace, name, *arguments)

    monkeypatch.setattr(KubeClient, "bind", slowly)
    await cluster.submit("slow", "2 x 1c")
    await cluster.pass_time(1.2 * ASSUMED_S)
    await cluster.submit("next", "2 x 1c")  # a round while the first two are under way
    await cluster.pass_time(1.7 * ASSUMED_S)

    assert sorted(sent) == ["next-t-0", "next-t-1", "slow-t-0", "slow-t-1"]
