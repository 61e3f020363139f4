"""Source `ufm`: the ports of an InfiniBand network, as NVIDIA's Unified Fabric Manager lists them.

Asked for is `/ufmRest/resources/ports`. A port whose description speaks of a computer is one of a host: `system_name` is the node,
`peer_node_name` the leaf switch. A port that lacks either, because it is down, makes no link.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from vcray.api.meta import JsonObject
from vcray.api.resources import SECRETS
from vcray.controllers import raw
from vcray.controllers.base import Change, Fetch, Read, Seen
from vcray.controllers.hypernode.discovery import Discovery, DiscoveryError
from vcray.controllers.hypernode.fabric import Server, credentials, listed, two_tiers

PORTS: Final = "/ufmRest/resources/ports"


@dataclass(frozen=True, slots=True)
class UfmDiscoverer:
    """One fabric manager."""

    server: Server
    interval_s: float

    def wakes(self, change: Change) -> bool:
        """Never: the network is asked, not the cluster."""
        return False

    def discover(self, seen: Seen) -> Discovery:
        """HyperNodes `leaf-hn-N` with the nodes of leaf switches, and `spine-hn` above them."""
        secret = yield Read(SECRETS, self.server.secret_namespace, self.server.secret_name)
        known = credentials(secret, self.server)
        user, password = known.get("username", ""), known.get("password", "")
        if not user or not password:
            place = f"Secret {self.server.secret_namespace}/{self.server.secret_name}"
            raise DiscoveryError(f"{place} must have username and password")
        url = self.server.url(PORTS)
        page = yield Fetch(url, user, password, verify=self.server.verify)
        return two_tiers(_links(listed(page, url)), "leaf-hn", "spine-hn")


def _links(ports: Iterable[JsonObject]) -> Iterable[tuple[str, str]]:
    for port in ports:
        leaf, node = raw.text(port, "peer_node_name"), raw.text(port, "system_name")
        if "Computer" in raw.text(port, "description") and leaf and node:
            yield leaf, node
