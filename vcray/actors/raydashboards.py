"""Asks the dashboards of Ray clusters now and then what their workers do, and writes on the pods what it costs to lose them.

The scheduler takes the cheapest pods of a job first, so a cluster that shrinks loses idle workers before busy ones. A dashboard
that does not answer is told of once and asked ever more seldom; what was written stays for `GRACE_S`, then it is taken back.
When each cluster answered last is remembered: after a restart that time begins anew.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from vcray.actors.runtime import Time
from vcray.actors.underway import UnderWay
from vcray.api.meta import JsonObject
from vcray.api.resources import PODS, RAYCLUSTERS, SECRETS
from vcray.controllers import raw
from vcray.controllers.base import Seen
from vcray.errors import VcrayError
from vcray.integrations.rayworkers import (
    ClusterWork,
    dashboard_of,
    runs,
    token_secret,
    workers_of,
    writes,
)
from vcray.kube.client import KubeClient
from vcray.kube.errors import Conflict, NotFound
from vcray.kube.raydashboard import DashboardError, read_work
from vcray.log import get_logger
from vcray.metrics import Metrics

if TYPE_CHECKING:
    from vcray.actors.parts import Place
    from vcray.actors.reconciler import ControllerHost

log = get_logger("raydashboards")

GRACE_S: Final = 300.0
"""How long costs stay without an answer, and at least three periods: a head that restarts is back by then."""
AT_ONCE: Final = 8
"""Clusters that are asked and written at one time."""
LONGEST_WAIT: Final = 8
"""Periods after which a dashboard that does not answer is asked again at the latest."""

Reader = Callable[[str, str], Awaitable[ClusterWork]]
"""The work of the cluster with this dashboard, shown this token. Raises DashboardError."""


@dataclass(slots=True)
class _Known:
    """`heard`: when the dashboard answered last; `due`: when it is to be asked next; `silent`: questions since without an answer."""

    heard: float
    due: float = 0.0
    silent: int = 0


def follow_dashboards(place: Place, client: KubeClient, host: ControllerHost) -> None:
    """Ask the dashboards of the RayClusters that a host hears of, beside its controllers; not in a scenario, which has no Ray."""
    settings = place.facts.settings
    if place.facts.manual or RAYCLUSTERS not in host.watched:
        return
    dashboards = RayDashboards(
        client,
        host.seen,
        host.wait_full,
        place.time,
        place.metrics,
        settings.ray_dashboard_period_s,
        settings.scheduler_names,
    )
    place.runtime.background("ray dashboards", dashboards.run)


class RayDashboards:
    """Follows all RayClusters that are `seen`, from when it is `full`; `period_s` 0: only what was written is taken back.

    Pods of other than these `schedulers` are left alone, and so are their clusters."""

    def __init__(
        self,
        client: KubeClient,
        seen: Seen,
        full: Callable[[], Awaitable[None]],
        time: Time,
        metrics: Metrics,
        period_s: float,
        schedulers: Collection[str],
        read: Reader = read_work,
    ) -> None:
        self._client, self._seen, self._full = client, seen, full
        self._time, self._metrics = time, metrics
        self._period_s, self._schedulers = period_s, frozenset(schedulers)
        self._read = read
        self._grace_s = max(GRACE_S, 3 * period_s)
        self._known: dict[str, _Known] = {}
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._under_way = UnderWay()

    async def run(self) -> None:
        """Ask at once and then every period, for ever."""
        await self._full()
        try:
            while True:
                await self.look()
                if self._period_s <= 0:
                    return
                await self._time.sleep(self._period_s)
        finally:
            await self._under_way.finish()

    async def look(self) -> None:
        """Ask all clusters that are due, and write what their answers change."""
        clusters = [each for each in self._seen.list(RAYCLUSTERS) if self._workers(each)]
        there = {raw.uid(each) for each in clusters}
        self._known = {uid: known for uid, known in self._known.items() if uid in there}
        try:
            await asyncio.gather(*(self._follow(each) for each in clusters))
        finally:
            silent = sum(known.silent > 0 for known in self._known.values())
            self._metrics.ray_dashboards_silent.set(silent)

    async def _follow(self, cluster: JsonObject) -> None:
        known = self._known.setdefault(raw.uid(cluster), _Known(self._time.now()))
        async with self._slots:
            try:
                await self._refresh(cluster, known, self._time.now())
            except Exception:  # the fence: a fault with one cluster must not stop the others
                log.exception("following a Ray dashboard crashed", cluster=_place(cluster))

    async def _refresh(self, cluster: JsonObject, known: _Known, now: float) -> None:
        off = self._period_s <= 0
        work = None if off else await self._ask(cluster, known, now)
        if work is not None or off or now - known.heard >= self._grace_s:
            await self._write(cluster, work)

    async def _ask(self, cluster: JsonObject, known: _Known, now: float) -> ClusterWork | None:
        url = dashboard_of(cluster)
        if not url or now < known.due or not any(map(runs, self._workers(cluster))):
            return None
        try:
            work = await self._read(url, await self._token(cluster))
        except (DashboardError, VcrayError) as error:
            self._metrics.ray_dashboard_refreshes.labels(result="failed").inc()
            if not known.silent:
                log.warning(
                    "a Ray dashboard does not answer; the costs of its workers stay for a while",
                    cluster=_place(cluster),
                    why=str(error),
                )
            known.silent += 1
            known.due = now + self._period_s * min(2 ** (known.silent - 1), LONGEST_WAIT)
            return None
        self._metrics.ray_dashboard_refreshes.labels(result="ok").inc()
        if known.silent:
            log.info("a Ray dashboard answers again", cluster=_place(cluster))
        known.heard, known.silent = now, 0
        return work

    async def _token(self, cluster: JsonObject) -> str:
        """What a dashboard asks for, "" for nothing. Raises VcrayError, DashboardError."""
        name = token_secret(cluster)
        if not name:
            return ""
        secret = await self._client.get(SECRETS, raw.namespace(cluster), name)
        try:
            return base64.b64decode(raw.text(secret, "data", "auth_token")).decode("ascii").strip()
        except (binascii.Error, UnicodeDecodeError) as error:
            raise DashboardError(f"Secret {name}: auth_token is no token") from error

    async def _write(self, cluster: JsonObject, work: ClusterWork | None) -> None:
        """Write what an answer changes, None taking all back; a write that is refused ends it until the next look."""
        for pod, patch in writes(self._workers(cluster), work):
            place = raw.namespace(pod), raw.name(pod)
            try:
                await self._under_way.to_its_end(self._client.patch(PODS, *place, patch))
            except (NotFound, Conflict):
                continue  # gone, or another pod of that name
            except VcrayError as error:
                log.warning(
                    "the cost of a Ray worker could not be written", pod="/".join(place), why=str(error)
                )
                return

    def _workers(self, cluster: JsonObject) -> list[JsonObject]:
        return workers_of(cluster, self._seen.owned(PODS, raw.uid(cluster)), self._schedulers)


def _place(cluster: JsonObject) -> str:
    return f"{raw.namespace(cluster)}/{raw.name(cluster)}"
