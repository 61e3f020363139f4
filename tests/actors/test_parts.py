"""From settings to parts: what caches keep, what is watched, whose binder there is."""

from __future__ import annotations

import asyncio

import pytest

from tests.controllers.world import a_job
from vcray.actors.deployment import AGENT_BINDER, components
from vcray.actors.hosted import configmaps_of, controllers_of
from vcray.actors.local_runtime import LocalRuntime
from vcray.actors.parts import Facts, Place, build, facts_of, keeps_of, read_by_scheduler
from vcray.actors.timekeeping import VirtualTime
from vcray.api.jsonview import dig_int, dig_str
from vcray.api.resources import (
    COLOCATIONCONFIGURATIONS,
    CONFIGMAPS,
    HYPERNODES,
    JOBS,
    NAMESPACES,
    NODES,
    NODESHARDS,
    PODGROUPS,
    PODS,
    QUEUES,
)
from vcray.cluster.objects.store import Store
from vcray.cluster.server.inprocess import InProcessTransport
from vcray.config.controllers import CONTROLLERS as CONTROLLER_NAMES
from vcray.config.roles import CONTROLLERS
from vcray.config.settings import Settings
from vcray.controllers.queue import initial_queues
from vcray.errors import ConfigError
from vcray.kube.client import KubeClient
from vcray.kube.transport import Response
from vcray.metrics import Metrics


def test_caches_keep_pods_of_all_names_and_nodes_of_the_selector():
    keeps = keeps_of(
        Settings(
            scheduler_names=("volcano", "mine"),
            agent_scheduler_names=("quick",),
            node_selector=("pool:a", "broken", "zone:b"),
        )
    )

    assert keeps.schedulers == {"volcano", "mine"}
    assert keeps.agents == {"quick"}
    assert keeps.nodes == (("pool", "a"), ("zone", "b"))
    assert keeps.ring is None


def test_a_ring_is_there_only_when_the_cluster_is_shared():
    shared = Settings(multi_scheduler_enable=True, scheduler_pod_name="vc-1", scheduler_num="2")

    ring = keeps_of(shared).ring

    assert ring is not None
    assert {ring.owner(f"k{index}") for index in range(100)} == {"vc-0", "vc-1"}
    assert keeps_of(shared.model_copy(update={"multi_scheduler_enable": False})).ring is None


@pytest.mark.parametrize(("mode", "watched"), [("none", False), ("soft", True), ("hard", True)])
def test_node_shards_are_watched_only_when_they_mean_something(mode, watched):
    assert (NODESHARDS in read_by_scheduler(Settings(scheduler_sharding_mode=mode))) is watched


def test_without_names_there_is_no_fast_path():
    assert AGENT_BINDER in components(Settings())["scheduler"]
    assert AGENT_BINDER not in components(Settings(agent_scheduler_names=()))["scheduler"]


def test_the_configuration_of_the_fast_path_is_read_or_refused(tmp_path):
    file = tmp_path / "agent.conf"
    file.write_text('actions: "allocate"\n')

    assert facts_of(Settings(agent_scheduler_conf=file), "").agent_conf == 'actions: "allocate"\n'
    with pytest.raises(ConfigError, match="agent-scheduler-conf"):
        facts_of(Settings(agent_scheduler_conf=tmp_path / "none"), "")


async def settled():
    for _ in range(200):
        await asyncio.sleep(0)


async def test_controllers_work_without_the_definition_of_cron_jobs():
    class Older(InProcessTransport):
        async def request(self, method, path, *more, **further):
            if path.endswith("batch.volcano.sh/v1alpha1/cronjobs"):
                return Response(404, b'{"code": 404, "reason": "NotFound"}')
            return await super().request(method, path, *more, **further)

    time = VirtualTime(1_700_000_000.0)
    transport = Older(Store(time))
    client, runtime = KubeClient(transport), LocalRuntime(time)
    for queue in initial_queues():
        await client.create(QUEUES, None, queue)
    await client.create(JOBS, "default", a_job(namespace="default"))

    await build(Place(Facts(), runtime, transport, Metrics(), runtime.handle), CONTROLLERS)
    await settled()
    await time.advance(1.0, settled)
    found = await client.list(PODGROUPS, "default")
    await runtime.stop()

    assert len(found.items) == 1


async def test_the_sharding_controller_runs_when_it_is_named_and_reads_its_config_map_as_it_changes():
    time = VirtualTime(1_700_000_000.0)
    transport = InProcessTransport(Store(time))
    client, runtime = KubeClient(transport), LocalRuntime(time)
    await client.create(NAMESPACES, None, {"metadata": {"name": "volcano-system"}})
    for name in ("n1", "n2"):
        await client.create(NODES, None, {"metadata": {"name": name}, "status": {"capacity": {"cpu": "4"}}})
    settings = Settings(controllers=("sharding-controller",))

    async def shards():
        await settled()
        await time.advance(1.0, settled)
        found = (await client.list(NODESHARDS)).items
        return {each["metadata"]["name"]: each["spec"]["nodesDesired"] for each in found}

    await build(Place(Facts(settings), runtime, transport, Metrics(), runtime.handle), CONTROLLERS)
    before = await shards()
    text = "schedulerConfigs: [{name: mine, policies: [{name: node-limit, arguments: {maxNodes: 1}}]}]"
    conf = {"metadata": {"name": "volcano-sharding-configmap"}, "data": {"sharding.yaml": text}}
    await client.create(CONFIGMAPS, "volcano-system", conf)
    after = await shards()
    await runtime.stop()

    assert before == {"volcano": ["n1", "n2"], "agent-scheduler": []}
    assert after == {"mine": ["n1"]}


def test_all_controllers_but_those_of_shards_and_of_unreliable_nodes_run_and_only_vcjobs_keep_their_count_of_tries():
    everyone = controllers_of(Settings(controllers=()))

    left = {each.name for each in everyone} - {each.name for each in controllers_of(Settings())}
    assert left == {"sharding-controller", "unreliable-node-controller"}
    assert [each.name for each in everyone if not each.starts_anew] == ["job-controller"]
    assert {each.name for each in everyone} <= set(CONTROLLER_NAMES)


async def test_controllers_of_hypernodes_and_of_memory_rules_run_and_read_the_named_configmap():
    async def settle():
        for _ in range(200):
            await asyncio.sleep(0)

    time = VirtualTime(1_700_000_000.0)
    transport = InProcessTransport(Store(time))
    client, runtime = KubeClient(transport), LocalRuntime(time)
    for queue in initial_queues():
        await client.create(QUEUES, None, queue)
    levels = "[{nodeLabel: rack}, {nodeLabel: kubernetes.io/hostname}]"
    conf = f"networkTopologyDiscovery: [{{source: label, enabled: true, config: {{networkTopologyTypes: {{a: {levels}}}}}}}]"
    for name in ("mine", "other"):
        data = {"volcano-controller.conf": conf if name == "mine" else "["}
        await client.create(CONFIGMAPS, "default", {"metadata": {"name": name}, "data": data})
    await client.create(NODES, None, {"metadata": {"name": "n1", "labels": {"rack": "r1"}}})
    spec = {"selector": {}, "memoryQos": {}}
    await client.create(COLOCATIONCONFIGURATIONS, "default", {"metadata": {"name": "c"}, "spec": spec})
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "main", "image": "i"}]}}
    await client.create(PODS, "default", pod)

    facts = Facts(Settings(controller_configmap="default/mine"))
    await build(Place(facts, runtime, transport, Metrics(), runtime.handle), CONTROLLERS)
    await settle()
    await time.advance(1.0, settle)
    (hypernode,) = (await client.list(HYPERNODES)).items
    found = await client.get(PODS, "default", "p")
    await runtime.stop()

    assert dig_str(hypernode, "metadata", "labels", "rack") == "r1"
    assert dig_int(hypernode, "status", "nodeCount") == 1
    assert dig_str(found, "metadata", "annotations", "volcano.sh/colocation-config-name") == "c"


def test_config_maps_of_controllers_that_are_off_are_not_watched():
    hypernodes, shards = ("a", "net"), ("volcano-system", "volcano-sharding-configmap")

    def watched(*controllers, **more):
        return configmaps_of(Settings(controllers=controllers, controller_configmap="a/net", **more))

    assert watched() == (hypernodes, shards)
    assert watched("*", "-sharding-controller") == (hypernodes,)
    assert watched("job-controller") == ()
    assert watched(sharding_configmap="") == (hypernodes,)
    assert watched(sharding_configmap_namespace="a", sharding_configmap="net") == (hypernodes,)
