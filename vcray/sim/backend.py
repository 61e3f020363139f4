"""What a scenario needs of a cluster: a client, rounds on demand, time, a kubelet, a hand on watch events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from vcray.api.meta import JsonObject
from vcray.api.resources import Resource
from vcray.core.decisions import Decisions
from vcray.kube.client import KubeClient
from vcray.sim.scenario import Kubelet


class Backend(Protocol):
    """A cluster with a control plane in manual-round mode."""

    @property
    def client(self) -> KubeClient: ...

    async def start(
        self,
        scheduler_conf: str,
        settings: JsonObject | None = None,
        operators: Mapping[str, str] | None = None,
    ) -> None:
        """Bring up the cluster and the control plane on it; `settings` go before those of the back end. `operators`: stand-ins
        that run, each with its gang support."""
        ...

    async def stop(self) -> None:
        """Take everything down, whatever state it is in."""
        ...

    async def cycle(self) -> Decisions:
        """One cycle: the kubelet acts, controllers come to rest, one whole round runs and its writes are done."""
        ...

    async def rest(self) -> None:
        """Wait until controllers and watches have nothing to do."""
        ...

    async def advance(self, seconds: float) -> None:
        """Let time pass: virtual where the back end allows, real elsewhere."""
        ...

    async def hold(self, resource: Resource, namespace: str, name: str) -> None:
        """Keep watch events of one object back until `release`."""
        ...

    async def release(self, resource: Resource, namespace: str, name: str) -> None:
        """Deliver what was held back, in order."""
        ...

    async def disconnect(self) -> None:
        """End all watches of the control plane, as an API server that goes away does; it opens them again."""
        ...

    async def stop_component(self, name: str) -> None:
        """Stop `scheduler`, `controllers` or `integrations`: it begins nothing more, and writes that are under way are waited for."""
        ...

    async def start_component(self, name: str) -> None:
        """Start it anew; it knows only what the API server tells."""
        ...

    def kubelet(self, rule: Kubelet) -> None:
        """Treat matching pods in this way from now on."""
        ...

    async def finish(self, namespace: str, name: str, code: int) -> None:
        """Let the containers of a pod end with an exit code."""
        ...

    async def overwrite(self, resource: Resource, namespace: str, name: str, patch: JsonObject) -> None:
        """Merge into a stored object past all defaults and checks."""
        ...

    async def measured(self, loads: Mapping[str, tuple[float, float]]) -> None:
        """A metrics source tells per cents of cpu and memory in use, by node."""
        ...

    def metrics(self) -> str:
        """The control plane's metrics in Prometheus' text form."""
        ...

    def version(self) -> int:
        """Grows whenever anything in the cluster changes."""
        ...
