"""The cluster of the demo: as `vcray up` makes it, with a name of its own, and a client that knows only its kubeconfig."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from vcray.cli.hosting import ClusterOptions, hosted
from vcray.cli.runtime_folder import RuntimeFolder
from vcray.cli.up import control_plane_command
from vcray.kube.client import KubeClient

NODES = 4
CPU, MEMORY, GPU = "16", "64Gi", 8


@asynccontextmanager
async def demo_cluster(runtime: str, speed: float, say: Callable[[str], None]) -> AsyncIterator[KubeClient]:
    """A client of a cluster that is ready; both are gone afterwards. `speed`: how fast its containers live."""
    from vcray.config.scheduler import HELM_CONF
    from vcray.kube.auth import load

    began = time.monotonic()
    say(f"starting a cluster, as `vcray up --runtime {runtime} --nodes {NODES} --node-gpu {GPU}` does")
    with tempfile.TemporaryDirectory(prefix="vcray-demo-") as folder:
        conf = Path(folder) / "volcano-scheduler.conf"
        conf.write_text(HELM_CONF)
        flags = {
            "runtime": runtime,
            "scheduler_conf": conf,
            "metrics_port": "-1",
            "log_level": "ERROR",
        }
        options = ClusterOptions(
            nodes=NODES,
            node_cpu=CPU,
            node_memory=MEMORY,
            node_gpu=GPU,
            speed=speed,
            control_plane=control_plane_command(flags),
        )
        async with hosted(options, RuntimeFolder(f"demo-{os.getpid()}"), say, say) as cluster:
            took = time.monotonic() - began
            say(
                f"{cluster.url} is ready after {took:.1f} s: {NODES} simulated nodes with {CPU} cores, {MEMORY} and {GPU} GPUs each"
            )
            transport = await load(cluster.kubeconfig)
            try:
                yield KubeClient(transport, "demo")
            finally:
                await transport.close()
