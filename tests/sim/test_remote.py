"""The back end on a server beside us: rest waits for its watches, nothing is left, and a used server is refused."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from vcray.api.meta import JsonObject
from vcray.api.resources import CONFIGMAPS, JOBS, NAMESPACES, NODES, PODGROUPS, PODS, QUEUES
from vcray.app import on_server
from vcray.cli.simservers import embedded
from vcray.errors import InputError
from vcray.kube.client import KubeClient
from vcray.kube.errors import Invalid
from vcray.kube.transport import Transport
from vcray.sim import shorthand
from vcray.sim.configurations import CONFIGURATIONS
from vcray.sim.observed import text
from vcray.sim.remote import RemoteWorld


@pytest.fixture
async def server() -> AsyncIterator[Transport]:
    async with embedded() as transport:
        yield transport


@pytest.fixture
async def world(server: Transport) -> AsyncIterator[RemoteWorld]:
    made = on_server(server)(0)
    await made.start(CONFIGURATIONS["KA"])
    yield made
    await made.stop()


async def given(world: RemoteWorld, size: str = "4c") -> None:
    """A node and a job of three."""
    await world.client.create(NODES, None, shorthand.node("n1", size, "n1"))
    await world.client.create(JOBS, "default", shorthand.job("j", "3 x 1c", "j"))


async def phases(world: RemoteWorld) -> list[str]:
    return [text(pod, "status", "phase") for pod in (await world.client.list(PODS)).items]


async def test_after_a_cycle_everything_that_follows_from_it_has_happened(world: RemoteWorld) -> None:
    await given(world)

    for _ in range(3):
        await world.cycle()

    assert await phases(world) == ["Running"] * 3
    job = await world.client.get(JOBS, "default", "j")
    assert text(job, "status", "state", "phase") == "Running"
    assert text(job, "spec", "queue") == "default"


async def test_a_withheld_node_is_not_used_until_it_is_released(world: RemoteWorld) -> None:
    await world.hold(NODES, "", "n1")
    await given(world)
    await world.rest()
    for _ in range(2):
        await world.cycle()
    before = await phases(world)

    await world.release(NODES, "", "n1")
    for _ in range(2):
        await world.cycle()

    assert set(before) <= {"Pending"}
    assert await phases(world) == ["Running"] * 3


@pytest.mark.long
async def test_watches_that_were_cut_open_again(world: RemoteWorld) -> None:
    await world.client.create(CONFIGMAPS, "default", {"metadata": {"name": "x"}})
    await world.disconnect()
    await world.advance(60)
    await given(world)

    for _ in range(3):
        await world.cycle()

    assert await phases(world) == ["Running"] * 3


async def test_creation_times_are_those_of_the_scenario(world: RemoteWorld) -> None:
    await world.client.create(NODES, None, shorthand.node("n1", "1c", "n1"))
    await world.advance(3600)
    await world.client.create(NODES, None, shorthand.node("n2", "1c", "n2"))

    one, two = (
        text(each, "metadata", "creationTimestamp") for each in (await world.client.list(NODES)).items
    )

    assert (one[:13], two[:13]) == ("2023-11-14T22", "2023-11-14T23")


async def test_what_lost_its_owner_is_gone_after_rest(world: RemoteWorld) -> None:
    await given(world)
    await world.cycle()

    await world.client.delete(JOBS, "default", "j")
    for _ in range(3):
        await world.cycle()

    assert (await world.client.list(PODGROUPS)).items == []
    assert await phases(world) == []


async def test_overwriting_goes_past_the_schema_and_leaves_it_in_force(world: RemoteWorld) -> None:
    await world.client.create(QUEUES, None, shorthand.queue("q", None, "q"))

    await world.overwrite(QUEUES, "", "q", {"spec": {"weight": 0}})

    queue: JsonObject = await world.client.get(QUEUES, None, "q")
    assert text(queue, "spec", "weight") == "0"
    with pytest.raises(Invalid):
        await world.client.patch(QUEUES, None, "root", {"spec": {"weight": "many"}})


async def test_nothing_of_a_scenario_is_left_and_the_next_one_finds_the_server_empty(
    server: Transport,
) -> None:
    client = KubeClient(server)
    for order in range(2):
        world = on_server(server)(order)
        await world.start(CONFIGURATIONS["KA"])
        await world.client.create(NAMESPACES, None, {"metadata": {"name": "team"}})
        pod = next(iter(shorthand.pods("p", "1c", "p"))) | {"metadata": {"name": "p"}}
        await world.client.create(PODS, "team", pod)
        await given(world)
        await world.cycle()
        await world.stop()

    left = [
        text(obj, "metadata", "name")
        for resource in (NODES, PODS, JOBS, PODGROUPS, QUEUES)
        for obj in (await client.list(resource)).items
    ]
    assert left == []
    namespaces = [text(each, "metadata", "name") for each in (await client.list(NAMESPACES)).items]
    assert "team" not in namespaces


async def test_a_server_that_holds_something_is_refused_and_left_alone(server: Transport) -> None:
    client = KubeClient(server)
    await client.create(NODES, None, shorthand.node("mine", "1c", "mine"))
    world = on_server(server)(0)

    with pytest.raises(InputError, match=r"VC0305 .* there is Node mine"):
        await world.start(CONFIGURATIONS["KA"])
    await world.stop()

    assert len((await client.list(NODES)).items) == 1
