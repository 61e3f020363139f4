"""Source `roce`: the neighbours that machines of an Ethernet network told of by LLDP, as NVIDIA NetQ lists them.

Asked for is `/netq/telemetry/v1/object/lldp`, or another page of that form: a list of `hostname` and `peer_hostname`. What is a node
of the cluster is a host, whatever its neighbour calls it is a switch; so both views of a link say the same. A network for
management that joins all hosts would make one group of them all: `switches` is a pattern over the names of those that count.

Volcano names this source and has no code for it (pkg/controllers/hypernode/api/example.yaml): the token is as its example has it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from vcray.api.meta import JsonObject
from vcray.api.patterns import compiled
from vcray.api.resources import NODES, SECRETS
from vcray.controllers import raw
from vcray.controllers.base import Change, Fetch, Read, Seen
from vcray.controllers.hypernode.discovery import Discovery, DiscoveryError
from vcray.controllers.hypernode.fabric import Server, credentials, listed, two_tiers

NEIGHBOURS: Final = "/netq/telemetry/v1/object/lldp"


@dataclass(frozen=True, slots=True)
class RoceDiscoverer:
    """One list of neighbours. `switches`: RE2 pattern, empty for all."""

    server: Server
    interval_s: float
    path: str = NEIGHBOURS
    switches: str = ""

    def wakes(self, change: Change) -> bool:
        """Never: the network is asked, not the cluster."""
        return False

    def discover(self, seen: Seen) -> Discovery:
        """HyperNodes `roce-leaf-hn-N` with the nodes of leaf switches, and `roce-spine-hn` above them."""
        secret = yield Read(SECRETS, self.server.secret_namespace, self.server.secret_name)
        token = credentials(secret, self.server).get("token", "")
        if not token:
            place = f"Secret {self.server.secret_namespace}/{self.server.secret_name}"
            raise DiscoveryError(f"{place} must have token")
        url = self.server.url(self.path)
        page = yield Fetch(url, token=token, verify=self.server.verify)
        nodes = frozenset(raw.name(node) for node in seen.list(NODES))
        return two_tiers(self._links(listed(page, url), nodes), "roce-leaf-hn", "roce-spine-hn")

    def _links(self, rows: list[JsonObject], nodes: frozenset[str]) -> Iterator[tuple[str, str]]:
        pattern = compiled(self.switches)
        for row in rows:
            ends = raw.text(row, "hostname"), raw.text(row, "peer_hostname")
            for node, switch in (ends, ends[::-1]):
                if node in nodes and switch and switch not in nodes and pattern.search(switch):
                    yield switch, node
