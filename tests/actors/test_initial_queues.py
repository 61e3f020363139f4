"""The queues that must exist before anything acts, and the webhooks that may have to be waited for."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from vcray.actors.timekeeping import VirtualTime
from vcray.api.jsonview import dig_str
from vcray.api.resources import QUEUES
from vcray.app import WEBHOOK_ATTEMPTS, WEBHOOK_PAUSE_S, ControlPlane
from vcray.cluster.objects.store import Store
from vcray.cluster.server.inprocess import InProcessTransport
from vcray.config.settings import Settings
from vcray.errors import ServerError
from vcray.kube.client import KubeClient
from vcray.kube.errors import ApiError
from vcray.kube.transport import Response


class Pauses(VirtualTime):
    """Time that passes when it is slept through."""

    def __init__(self) -> None:
        super().__init__()
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


class Refusing(InProcessTransport):
    """A server that refuses the first creates with this status."""

    def __init__(self, status: int, times: int) -> None:
        super().__init__(Store())
        self.status, self.left = status, times

    async def request(self, method: str, *more: Any, **further: Any) -> Response:
        if method == "POST" and self.left:
            self.left -= 1
            body = {"kind": "Status", "code": self.status, "message": "no"}
            page = b"404 page not found\n" if self.status == 404 else msgspec.json.encode(body)
            return Response(self.status, page)
        return await super().request(method, *more, **further)


async def created(transport: InProcessTransport, **settings: Any) -> tuple[list[str], list[float]]:
    """Names of all queues afterwards, and the pauses."""
    time = Pauses()
    plane = ControlPlane(transport, Settings(**settings), time=time)
    try:
        await plane.ensure_queues()
    finally:
        queues = (await KubeClient(InProcessTransport(transport.store)).list(QUEUES)).items
    return sorted(dig_str(each, "metadata", "name") for each in queues), time.slept


async def test_queues_that_are_missing_are_created_and_others_stay() -> None:
    transport = InProcessTransport(Store())

    assert await created(transport) == (["default", "root"], [])
    assert await created(transport, default_queue="main") == (["default", "main", "root"], [])
    assert await created(InProcessTransport(Store()), only=("controllers",)) == ([], [])


@pytest.mark.parametrize("settings", [{"admission": True}, {"only": ("scheduler",)}], ids=["ours", "others"])
async def test_a_webhook_that_is_not_yet_served_is_waited_for(settings: dict[str, Any]) -> None:
    refusing = Refusing(500, times=2)

    assert await created(refusing, **settings) == (["default", "root"], [WEBHOOK_PAUSE_S] * 2)


async def test_the_patience_with_webhooks_ends() -> None:
    refusing = Refusing(500, times=WEBHOOK_ATTEMPTS + 1)

    with pytest.raises(ApiError, match="no"):
        await created(refusing, admission=True)

    assert refusing.left == 1


@pytest.mark.parametrize(
    ("status", "admission", "error"),
    [(500, False, ApiError), (403, True, ApiError), (404, True, ServerError)],
)
async def test_other_refusals_end_the_start_at_once(
    status: int, admission: bool, error: type[Exception]
) -> None:
    refusing = Refusing(status, times=2)

    with pytest.raises(error):
        await created(refusing, admission=admission)

    assert refusing.left == 1
