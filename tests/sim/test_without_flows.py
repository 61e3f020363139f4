"""A cluster that has no definitions of JobFlow and JobTemplate, as where Volcano was installed without them."""

from __future__ import annotations

from vcray.actors.local_runtime import Activity
from vcray.actors.timekeeping import VirtualTime
from vcray.api.meta import JsonObject
from vcray.api.resources import JOBFLOWS, JOBS, NODES, PODS
from vcray.app import ControlPlane
from vcray.config.settings import Settings
from vcray.kube.transport import JSON, PassingTransport, Query, Response, Transport
from vcray.sim import shorthand
from vcray.sim.configurations import CONFIGURATIONS
from vcray.sim.world import World


class WithoutFlows(PassingTransport):
    """Answers as a server that does not know the group."""

    def __init__(self, transport: Transport) -> None:
        super().__init__(transport)
        self.asked = 0

    async def request(
        self,
        method: str,
        path: str,
        query: Query | None = None,
        body: bytes | None = None,
        content_type: str = JSON,
    ) -> Response:
        if path.startswith(f"/apis/{JOBFLOWS.group}/"):
            self.asked += 1
            return Response(404, b"404 page not found\n")
        return await self._transport.request(method, path, query, body, content_type)


async def test_vcjobs_run_where_flows_are_not_defined() -> None:
    passed: list[WithoutFlows] = []

    def make(
        transport: Transport, conf: str, given: JsonObject, time: VirtualTime, activity: Activity
    ) -> ControlPlane:
        passed.append(WithoutFlows(transport))
        return ControlPlane(passed[0], Settings(), conf, time, activity, manual=True)

    world = World(make)
    await world.start(CONFIGURATIONS["K0"])
    await world.advance(5)
    await world.client.create(NODES, None, shorthand.node("n1", "4c", "n1"))
    await world.client.create(JOBS, "default", shorthand.job("j", "2 x 1c", "j"))
    for _ in range(4):
        await world.cycle()

    assert passed[0].asked > 0
    assert len((await world.client.list(PODS)).items) == 2
    await world.stop()
