"""Replays recorded histories on Ray, in a process of its own: prints one line of JSON a case, `name -> digest of decisions`.

`python -m tests.ray.replaying`: a Ray cluster of one node, then of two, on this machine.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import sys

from tests.ray.cases import CASES, NUMBER, Case
from tests.ray.recorded import StandingTime, connect, history, replay
from vcray.actors.deployment import SCHEDULER, components, plan
from vcray.actors.fleet import Connection, Fleet
from vcray.actors.host import Host
from vcray.actors.parts import Facts
from vcray.actors.ray_ground import Ground
from vcray.actors.ray_runtime import QuietNode, RayHost, RayRuntime, raylet_without_agents
from vcray.metrics import Metrics


class ReplayHost(RayHost):
    """A host whose clock stands and whose server is mute."""

    def __init__(self) -> None:
        super().__init__()
        self._host = Host(self._link, connect, StandingTime())


async def run(case: Case, address: str) -> tuple[str, int]:
    """The digest of all decisions of a case, and how many processes it ran in."""
    told = history(NUMBER)
    facts = Facts(case.settings(), told.conf, manual=True)
    scheduling = set(components(facts.settings)[SCHEDULER])
    hosts = tuple(each for each in plan(case.layout, facts.settings) if scheduling & set(each.parts))
    processes = RayRuntime(address, ReplayHost)
    fleet = Fleet(processes, hosts, facts, Connection(), Metrics(), lambda line: None)
    await fleet.start()
    try:
        decided = await replay(told, fleet.post, fleet.ask)
        return hashlib.sha256(b"".join(decided)).hexdigest(), len(set(fleet.processes().values()))
    finally:
        await fleet.stop()


def main() -> None:
    """All cases on Ray: those of one node first."""
    from ray._private import node, ray_constants
    from ray.cluster_utils import Cluster

    ray_constants.ENABLE_RAY_CLUSTER = False
    node.Node = QuietNode  # type: ignore[misc]
    ground = Ground()
    (ground.folder / "ray").mkdir()
    os.environ["RAY_TMPDIR"] = str(ground.folder)
    small = {"num_cpus": 2, "object_store_memory": 100 * 2**20, "temp_dir": str(ground.folder)}
    with raylet_without_agents(ground):
        cluster = Cluster(initialize_head=True, head_node_args={**small, "include_dashboard": False})
        try:
            for nodes in (1, 2):
                if nodes == 2:
                    cluster.add_node(**small)
                for case in (each for each in CASES if each.runtime == "ray" and each.nodes == nodes):
                    digest, processes = asyncio.run(run(case, cluster.address))
                    print(json.dumps([case.name, digest, processes]), flush=True)
        finally:
            cluster.shutdown()
            ground.remove()


if __name__ == "__main__":
    sys.exit(main())
