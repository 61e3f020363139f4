"""The back end of scenarios on a server beside us: the embedded one over HTTPS, or a real kube-apiserver.

Rounds on demand and virtual time are the control plane's, which runs here; the server has a clock and watches of its own. So
every request is noted (`traffic`), `rest` waits until the watches have told all that was written, and times come from the
scenario's clock (`stamps`). What the control plane hears can be withheld on our side of the wire.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from vcray.actors.local_runtime import QUIET_TURNS
from vcray.api.jsonview import dig_str
from vcray.api.meta import JsonObject
from vcray.api.resources import JOBS, NODES, PODGROUPS, PODS, QUEUES, Resource
from vcray.errors import InputError, Problem
from vcray.kube.client import KubeClient
from vcray.kube.transport import Transport
from vcray.sim.admitting import Admitting
from vcray.sim.belongings import Belongings, remove_all
from vcray.sim.observer import Observers, too_late
from vcray.sim.operating import install
from vcray.sim.overwriting import overwrite
from vcray.sim.traffic import TappedTransport, TrackedTransport, Traffic
from vcray.sim.world import MakeControlPlane, ManualWorld

PATIENCE_S = 60.0
"""How long a server may take to tell what was written."""

FIRST_QUEUES = ("root", "default")


class RemoteWorld(ManualWorld):
    """One scenario's part of a server, which must hold no nodes, pods, groups or jobs but its own.

    `order` picks the order of creation alone: in which order watchers hear of changes is the server's business.
    """

    def __init__(self, make: MakeControlPlane, transport: Transport, order: int = 0) -> None:
        super().__init__(make)
        del order  # of creation: the steps know it
        self._server = transport
        self._observers = Observers(transport)
        self._traffic = Traffic(self._observers, self.time.now)
        admitting = Admitting(self._traffic)
        self._watched = TappedTransport(transport, self._traffic, admitting)
        self._own = TrackedTransport(transport, self._traffic, admitting)
        self._belongings = Belongings(self._own, self._traffic, self._observers)
        self._open(self._own)

    # -- life -------------------------------------------------------------------------------------------------

    async def start(
        self,
        scheduler_conf: str,
        settings: JsonObject | None = None,
        operators: Mapping[str, str] | None = None,
    ) -> None:
        await require_empty(self._client)
        await install(self._server, operators or ())  # they stay: the next scenario may want them too
        await self._begin(self._watched, scheduler_conf, settings or {}, operators or {})

    async def stop(self) -> None:
        """Stop the control plane and take away all that the scenario and it have created."""
        await self._end()
        await remove_all(self._own, self._traffic)
        await self._settled()
        await self._observers.stop()

    # -- rest -------------------------------------------------------------------------------------------------

    async def rest(self) -> None:
        """Until nothing is under way, the watches have told everything, and what lost its owners is gone."""
        await self._settled()
        while await self._belongings.collect():
            await self._settled()

    async def _settled(self) -> None:
        changed = self._observers.changed
        while True:
            changed.clear()
            waiting = self._waiting()
            if not waiting:
                if await self._still():
                    return
                continue
            try:
                async with asyncio.timeout(PATIENCE_S):
                    await changed.wait()
            except TimeoutError:
                raise too_late(waiting, self._server.address) from None

    def _waiting(self) -> list[str]:
        if self._traffic.under_way:
            return ["an answer"]
        return self._observers.behind() or self._watched.behind()

    async def _still(self) -> bool:
        """Nothing moves for some turns of the loop: then nobody here has anything left to do."""
        seen = self.activity.count
        for _ in range(QUIET_TURNS):
            await asyncio.sleep(0)
            if self.activity.count != seen or self._traffic.under_way:
                return False
        return not self._waiting()

    # -- the hand on the control plane's watches ----------------------------------------------------------------

    async def hold(self, resource: Resource, namespace: str, name: str) -> None:
        self._watched.hold(resource.path(), namespace, name)

    async def release(self, resource: Resource, namespace: str, name: str) -> None:
        self._watched.release(resource.path(), namespace, name)
        await self.rest()

    async def disconnect(self) -> None:
        self._watched.cut()
        await self.rest()

    async def overwrite(self, resource: Resource, namespace: str, name: str, patch: JsonObject) -> None:
        await overwrite(self._client, resource, namespace, name, patch)
        await self.rest()

    def version(self) -> int:
        return self._traffic.version


async def require_empty(client: KubeClient) -> None:
    """InputError VC0305 when the server holds something that a scenario would count as its own."""
    for resource in (NODES, PODS, PODGROUPS, JOBS, QUEUES):
        for obj in (await client.list(resource)).items:
            name = dig_str(obj, "metadata", "name")
            if resource != QUEUES or name not in FIRST_QUEUES:
                what = f"a scenario needs a cluster without nodes, pods, groups, jobs and queues, and there is {resource.kind} {name}"
                raise InputError(Problem("VC0305", client.transport.address, what))
