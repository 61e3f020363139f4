"""Leader election on a coordination.k8s.io/v1 Lease: one control plane acts, the others wait.

The rules are those of Kubernetes' own leader election: a holder renews well before its lease runs out and stops acting
if it could not; others take over only after they have themselves watched the lease stand still for its whole duration,
so clocks need not agree.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from vcray.api.meta import JsonObject
from vcray.api.resources import LEASES
from vcray.clock import Clock, WallClock
from vcray.errors import ServerError
from vcray.kube.backoff import Sleep
from vcray.kube.client import KubeClient
from vcray.kube.errors import AlreadyExists, ApiError, Conflict, NotFound
from vcray.log import get_logger

log = get_logger("lease")


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds: how long a lease holds, when a holder that cannot renew gives up, how often it tries."""

    duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0


class Leadership:
    """One candidate for one lease; `identity` must differ between candidates."""

    def __init__(
        self,
        client: KubeClient,
        namespace: str,
        name: str,
        identity: str,
        timing: Timing | None = None,
        clock: Clock | None = None,
        sleep: Sleep | None = None,
    ) -> None:
        self._client = client
        self._namespace, self._name, self.identity = namespace, name, identity
        self._timing = timing or Timing()
        self._clock: Clock = clock or WallClock()
        self._sleep: Sleep = sleep or asyncio.sleep
        self._seen: tuple[str, str, int] = ("", "", 0)  # holder, renew time, transitions as last read
        self._seen_at = 0.0
        self._renewed_at = 0.0
        self._claimed = False  # a claim was sent that may have been written
        self.holder = ""
        self.obstacle = ""
        """Why the last try did not get the lease."""

    @property
    def held(self) -> bool:
        """True while this candidate may act: it holds the lease and renewed it within the deadline."""
        fresh = self._clock.now() - self._renewed_at < self._timing.renew_deadline
        return self.holder == self.identity and fresh

    async def acquire(self) -> None:
        """Wait until the lease is ours; what stands in the way is logged when it changes."""
        told = ""
        while not await self.try_once():
            if self.obstacle != told:
                told = self.obstacle
                log.warning("waiting for the lease", lease=f"{self._namespace}/{self._name}", why=told)
            await self._sleep(self._timing.retry_period)

    async def keep(self) -> None:
        """Renew until that fails for the renew deadline or somebody else holds the lease; then return."""
        while True:
            await self._sleep(self._timing.retry_period)
            left = self._renewed_at + self._timing.renew_deadline - self._clock.now()
            with contextlib.suppress(TimeoutError):  # a server that does not answer must not keep us acting
                async with asyncio.timeout(max(1.0, left)):
                    await self.try_once()
            if not self.held:
                return

    async def run(self, started: Callable[[], None], stopped: Callable[[], None]) -> None:
        """Acquire, call `started`, keep; call `stopped` when the lease is lost or the task is cancelled."""
        await self.acquire()
        started()
        try:
            await self.keep()
        finally:
            stopped()

    async def try_once(self) -> bool:
        """Acquire or renew if that is possible now; True if we hold the lease after it."""
        try:
            held = await self._attempt()
        except (Conflict, AlreadyExists):
            return False
        except NotFound as error:
            self.obstacle = str(error)
            return False
        except (ApiError, ServerError) as error:
            self.obstacle = str(error)
            return self.held
        self.obstacle = "" if held else f"held by {self.holder}"
        if held:
            self.holder = self.identity
            self._renewed_at = self._clock.now()
        return held

    async def release(self) -> None:
        """Give the lease up, so that another candidate need not wait for it to run out.

        A claim whose answer was not waited for may have been written as well."""
        if not self._claimed:
            return
        self.holder, self._claimed = "", False

        def vacate(lease: JsonObject) -> JsonObject | None:
            spec = _spec(lease)
            if spec.get("holderIdentity") != self.identity:
                return None
            spec["holderIdentity"] = ""
            spec["leaseDurationSeconds"] = 1
            spec["renewTime"] = _micro_time(self._clock.now())
            return lease

        try:
            await self._client.modify(LEASES, self._namespace, self._name, vacate)
        except (ApiError, ServerError):
            return

    async def _attempt(self) -> bool:
        now = self._clock.now()
        try:
            lease = await self._client.get(LEASES, self._namespace, self._name)
        except NotFound:
            metadata: JsonObject = {"name": self._name, "namespace": self._namespace}
            lease = {"metadata": metadata, "spec": self._claim(now, transitions=0, acquired=now)}
            self._claimed = True
            await self._client.create(LEASES, self._namespace, lease)
            return True
        spec = _spec(lease)
        holder, transitions = str(spec.get("holderIdentity") or ""), _whole(spec.get("leaseTransitions"))
        self._observe(holder, str(spec.get("renewTime") or ""), transitions, now)
        self.holder = holder
        duration = _whole(spec.get("leaseDurationSeconds")) or self._timing.duration
        if holder not in ("", self.identity) and now - self._seen_at < duration:
            return False
        taken_over = holder != self.identity
        claim = self._claim(now, transitions + taken_over, now if taken_over else None)
        lease["spec"] = {**spec, **claim}
        self._claimed = True
        await self._client.update(LEASES, lease)
        return True

    def _observe(self, holder: str, renewed: str, transitions: int, now: float) -> None:
        seen = (holder, renewed, transitions)
        if seen != self._seen:
            self._seen, self._seen_at = seen, now

    def _claim(self, now: float, transitions: int, acquired: float | None) -> JsonObject:
        claim: JsonObject = {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": max(1, int(self._timing.duration)),
            "renewTime": _micro_time(now),
            "leaseTransitions": transitions,
        }
        if acquired is not None:
            claim["acquireTime"] = _micro_time(acquired)
        return claim


def _spec(lease: JsonObject) -> JsonObject:
    spec = lease.get("spec")
    if not isinstance(spec, dict):
        spec = {}
        lease["spec"] = spec
    return spec


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0


def _micro_time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
