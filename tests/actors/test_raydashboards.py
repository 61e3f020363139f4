"""From Ray's dashboards onto pods, and from there into what a queue takes back."""

from __future__ import annotations

import asyncio
import base64
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from tests.integrations.objects import ray_cluster, ray_pod
from tests.kube.dashboard_server import DashboardServer, dashboard_server
from vcray.actors.objects import ObjectMirrors
from vcray.actors.raydashboards import AT_ONCE, GRACE_S, RayDashboards
from vcray.actors.timekeeping import VirtualTime
from vcray.api.meta import JsonObject
from vcray.api.resources import NAMESPACES, NODES, PODGROUPS, PODS, QUEUES, RAYCLUSTERS, SECRETS
from vcray.app import ControlPlane
from vcray.cluster.objects.store import Store
from vcray.cluster.server.inprocess import InProcessTransport
from vcray.config.settings import Settings
from vcray.controllers import raw
from vcray.integrations.rayworkers import ClusterWork, NodeWork
from vcray.kube.client import KubeClient
from vcray.kube.raydashboard import DashboardError
from vcray.metrics import Metrics
from vcray.sim import shorthand
from vcray.sim.operating import install

COST, OURS = "controller.kubernetes.io/pod-deletion-cost", "vcray.io/ray-work"
PERIOD_S = 30.0
Answer = ClusterWork | Exception


class Bench:
    """Clusters `r0`, `r1` … with a worker `r0-w` … each at 10.0.0.N, dashboards that answer as told, virtual time."""

    def __init__(self, clusters: int = 1, period_s: float = PERIOD_S, **spec: object) -> None:
        self.time, self.metrics = VirtualTime(), Metrics()
        self.client = KubeClient(InProcessTransport(Store(collects=False)))
        self.mirrors = ObjectMirrors([RAYCLUSTERS, PODS])
        self.answers: dict[str, Answer] = {}
        self.asked: list[tuple[str, str]] = []
        self.under_way, self.most_under_way = 0, 0
        self.names = [f"r{index}" for index in range(clusters)]
        self._spec = spec
        self.feed = RayDashboards(
            self.client,
            self.mirrors,
            self._full,
            self.time,
            self.metrics,
            period_s,
            ["volcano"],
            self._read,
        )

    async def _full(self) -> None:
        return None

    async def _read(self, url: str, token: str) -> ClusterWork:
        self.asked.append((url, token))
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        await asyncio.sleep(0)
        self.under_way -= 1
        answer = self.answers.get(url, ClusterWork(()))
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def fill(self) -> None:
        await self.client.create(NAMESPACES, None, {"metadata": {"name": "ns"}})
        for index, name in enumerate(self.names):
            cluster = {**ray_cluster(name, **self._spec), "status": {"head": {"podIP": f"10.1.0.{index}"}}}  # type: ignore[arg-type]
            raw.table(cluster, "metadata").update(uid=f"uid-{name}", resourceVersion="1")
            self.mirrors.put(RAYCLUSTERS, cluster)
            pod = ray_pod(cluster, f"{name}-w")
            raw.tables(pod, "spec", "containers")[0]["image"] = "ray"
            made = await self.client.create(PODS, "ns", pod)
            made["status"] = {"phase": "Running", "podIP": f"10.0.0.{index}"}
            await self.client.update_status(PODS, made)
        await self.see()

    async def see(self) -> None:
        """Let the mirrors hear of what was written."""
        for pod in (await self.client.list(PODS)).items:
            self.mirrors.put(PODS, pod)

    async def settle(self) -> None:
        for _ in range(60):
            await asyncio.sleep(0)
        await self.see()

    async def advance(self, seconds: float) -> None:
        await self.time.advance(seconds, self.settle)

    async def pod(self, name: str = "r0-w") -> JsonObject:
        return await self.client.get(PODS, "ns", name)

    async def costs(self) -> dict[str, tuple[str, str]]:
        """Worker -> its cost and what we say we gave; workers without either are left out."""
        pods = (await self.client.list(PODS)).items
        found = {raw.name(pod): (raw.annotation(pod, COST), raw.annotation(pod, OURS)) for pod in pods}
        return {name: pair for name, pair in found.items() if any(pair)}

    def tells(self, index: int, answer: Answer) -> None:
        self.answers[f"http://10.1.0.{index}:8265"] = answer

    def count(self, result: str) -> float:
        return self.metrics.ray_dashboard_refreshes.labels(result=result)._value.get()

    @property
    def silent(self) -> float:
        return self.metrics.ray_dashboards_silent._value.get()


@asynccontextmanager
async def running(bench: Bench) -> AsyncIterator[Bench]:
    await bench.fill()
    task = asyncio.create_task(bench.feed.run())
    await bench.settle()
    try:
        yield bench
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def work(index: int = 0, actors: int = 1, tasks: int = 0) -> ClusterWork:
    return ClusterWork((NodeWork(f"10.0.0.{index}", actors, tasks),))


async def test_busy_workers_get_a_cost_each_period_and_idle_ones_lose_it() -> None:
    bench = Bench(clusters=2)
    bench.tells(0, work(0, actors=2))
    async with running(bench):
        assert await bench.costs() == {"r0-w": ("2000", "2000")}
        before = raw.version(await bench.pod())
        await bench.advance(PERIOD_S)
        assert raw.version(await bench.pod()) == before, "nothing changed, nothing is written"
        bench.tells(0, ClusterWork(()))
        bench.tells(1, work(1, tasks=1, actors=0))
        await bench.advance(PERIOD_S - 1)
        assert await bench.costs() == {"r0-w": ("2000", "2000")}
        await bench.advance(1)
        assert await bench.costs() == {"r1-w": ("1", "1")}
    assert (bench.count("ok"), bench.count("failed"), bench.silent) == (6, 0, 0)


async def test_one_that_does_not_answer_is_told_once_and_its_costs_are_taken_back_after_a_while(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "vcray")
    bench = Bench(clusters=2)
    for index in range(2):
        bench.tells(index, work(index))
    async with running(bench):
        bench.tells(0, DashboardError("it is away"))
        await bench.advance(GRACE_S - 1)
        assert await bench.costs() == {"r0-w": ("1000", "1000"), "r1-w": ("1000", "1000")}
        assert (bench.count("failed"), bench.silent) == (4, 1), "asked after 1, 2, 4 and 8 periods"
        await bench.advance(1)
        assert await bench.costs() == {"r1-w": ("1000", "1000")}
        bench.tells(0, work(0))
        await bench.advance(8 * PERIOD_S)
        assert await bench.costs() == {"r0-w": ("1000", "1000"), "r1-w": ("1000", "1000")}
        assert bench.silent == 0
    told = [line for line in caplog.messages if "dashboard" in line]
    assert [("does not answer" in line, "ns/r0" in line) for line in told] == [(True, True), (False, True)]
    assert "it is away" in told[0]


async def test_a_fault_with_one_cluster_stops_no_other() -> None:
    bench = Bench(clusters=2)
    bench.tells(0, RuntimeError("a bug"))
    bench.tells(1, work(1))
    async with running(bench):
        assert await bench.costs() == {"r1-w": ("1000", "1000")}


async def test_no_more_than_some_are_asked_at_one_time_and_only_those_whose_workers_run() -> None:
    bench = Bench(clusters=3 * AT_ONCE)
    async with running(bench):
        assert len(bench.asked) == 3 * AT_ONCE
        assert bench.most_under_way == AT_ONCE
        waiting = await bench.pod()
        waiting["status"] = {"phase": "Pending"}
        await bench.client.update_status(PODS, waiting)
        await bench.see()
        bench.asked.clear()
        await bench.advance(PERIOD_S)
        assert len(bench.asked) == 3 * AT_ONCE - 1


async def test_switched_off_it_asks_nobody_and_takes_back_what_it_wrote() -> None:
    bench = Bench(clusters=2, period_s=0)
    await bench.fill()
    for name, ours in (("r0-w", "1000"), ("r1-w", None)):
        await bench.client.patch(PODS, "ns", name, {"metadata": {"annotations": {COST: "1000", OURS: ours}}})
    await bench.see()

    await bench.feed.run()

    assert await bench.costs() == {"r1-w": ("1000", "")}
    assert bench.asked == []


async def test_a_write_that_is_refused_or_comes_too_late_stops_nothing() -> None:
    bench = Bench(clusters=2)
    bench.tells(0, work(0))
    bench.tells(1, work(1))
    await bench.fill()
    await bench.client.delete(PODS, "ns", "r0-w", grace_seconds=0)
    again = ray_pod(bench.mirrors.list(RAYCLUSTERS)[0], "r0-w")
    raw.tables(again, "spec", "containers")[0]["image"] = "ray"
    await bench.client.create(PODS, "ns", again)

    await bench.feed.look()

    assert await bench.costs() == {"r1-w": ("1000", "1000")}, "another pod of that name is left alone"


@pytest.mark.parametrize(
    ("data", "asked", "failed"),
    [
        ({"auth_token": base64.b64encode(b"t0ken\n").decode()}, [("http://10.1.0.0:8265", "t0ken")], 0),
        ({"auth_token": base64.b64encode(b"\xff").decode()}, [], 1),
        (None, [], 1),
    ],
)
async def test_the_token_of_the_clusters_secret_is_shown(
    data: JsonObject | None, asked: list[tuple[str, str]], failed: int
) -> None:
    bench = Bench(authOptions={"mode": "token"})
    await bench.fill()
    if data is not None:
        await bench.client.create(SECRETS, "ns", {"metadata": {"name": "r0"}, "data": data})

    await bench.feed.look()

    assert (bench.asked, bench.count("failed")) == (asked, failed)


# ---- the whole control plane ----

CONF = """\
actions: allocate, reclaim, backfill
tiers:
- plugins: [{name: priority}, {name: gang}, {name: conformance}]
- plugins: [{name: drf}, {name: predicates}, {name: proportion}, {name: nodeorder}]
"""


async def until(what: Callable[[], Awaitable[bool]]) -> None:
    for _ in range(500):
        if await what():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it did not come true")


async def ray(client: KubeClient, name: str, dashboard: DashboardServer, net: int) -> None:
    """An elastic cluster that runs: a head and workers w0 to w2 of 1 cpu each."""
    spec = ray_cluster(name, "volcano", "a")["spec"]
    assert isinstance(spec, dict)
    spec["enableInTreeAutoscaling"] = True
    group = raw.tables(spec, "workerGroupSpecs")[0]
    group.update(replicas=3, minReplicas=1)
    body: JsonObject = {"metadata": {"name": name, "labels": {"volcano.sh/queue-name": "a"}}, "spec": spec}
    made = await client.create(RAYCLUSTERS, "ns", body)
    host, port = dashboard.address.removeprefix("http://").split(":")
    made["status"] = {"head": {"podIP": host}, "endpoints": {"dashboard": port}}
    made = await client.update_status(RAYCLUSTERS, made)
    for index, part in enumerate(("head", "w0", "w1", "w2")):
        pod = ray_pod(made, f"{name}-{part}", "headgroup" if part == "head" else "w")
        raw.table(pod, "spec")["nodeName"] = "n1"
        raw.tables(pod, "spec", "containers")[0].update(image="ray", resources={"requests": {"cpu": "1"}})
        pod = await client.create(PODS, "ns", pod)
        pod["status"] = {"phase": "Running", "podIP": f"10.0.{net}.{index}"}
        await client.update_status(PODS, pod)


@pytest.mark.parametrize("busy", [0, 1, 2])
async def test_a_queue_takes_idle_ray_workers_back_before_busy_ones(busy: int) -> None:
    kept = {f"r1-w{busy}", f"r2-w{busy}"}
    transport = InProcessTransport(Store())
    client = KubeClient(transport)
    await install(transport, ["kuberay"])
    await client.create(NAMESPACES, None, {"metadata": {"name": "ns"}})
    await client.create(NODES, None, shorthand.node("n1", "8c", "n1"))
    for name in ("a", "b"):
        await client.create(QUEUES, None, shorthand.queue(name, {}, name))
    settings = Settings(ray_dashboard_period_s=0.05)
    plane = ControlPlane(transport, settings, scheduler_conf=CONF)
    async with dashboard_server() as one, dashboard_server() as two:
        for net, (name, server) in enumerate({"r1": one, "r2": two}.items()):
            for index in range(4):
                server.node(f"10.0.{net}.{index}", actors=index == busy + 1)
            await ray(client, name, server, net)
        await plane.start()
        try:

            async def known() -> bool:
                pods = (await client.list(PODS, "ns")).items
                joined = all(raw.annotation(pod, "scheduling.k8s.io/group-name") for pod in pods)
                costs = {raw.name(pod) for pod in pods if raw.annotation(pod, COST)}
                return joined and costs == kept

            await until(known)
            await client.create(PODGROUPS, "default", shorthand.group("g", {"min": 4, "queue": "b"}, "g"))
            for pod in shorthand.pods("new", {"size": "1c", "count": 4, "group": "g"}, "new"):
                await client.create(PODS, "default", pod)

            async def taken() -> bool:
                return len(await going(client)) == 4

            await until(taken)
            gone = await going(client)
        finally:
            await plane.stop()
    assert gone == {f"{name}-w{index}" for name in ("r1", "r2") for index in range(3)} - kept


async def going(client: KubeClient) -> set[str]:
    return {raw.name(pod) for pod in (await client.list(PODS, "ns")).items if raw.terminating(pod)}
