"""What a host's door answers is plain data, and means what the host meant."""

from __future__ import annotations

import pytest

from tests.actors.doors import Doors
from vcray.actors.deployment import plan
from vcray.actors.door import Door, opened, raise_refusal
from vcray.actors.host import Host, Lost, Opening, RemoteFailure, Stamp
from vcray.actors.messages import Round, pack
from vcray.actors.parts import Facts
from vcray.cluster.objects.store import Store
from vcray.cluster.server.inprocess import InProcessTransport
from vcray.config.settings import Settings
from vcray.errors import Problem, ServerError
from vcray.kube.transport import Transport

DRIVER = Stamp("driver", 0)


async def in_process(_: Opening) -> Transport:
    return InProcessTransport(Store())


async def refuse(_: Opening) -> Transport:
    raise ServerError(Problem("VC0403", "kubeconfig", "cannot be used"))


def door(connect: object = in_process) -> Door:
    link = Doors(in_process)
    return Door(link, Host(link, connect))  # type: ignore[arg-type]


def opening(number: int = 0) -> Opening:
    hosts = plan("standard", Settings())
    return Opening("binder", hosts, Facts(), {host.name: number for host in hosts})


async def test_a_refusal_to_open_is_the_same_error_on_the_other_side() -> None:
    refused = await door(refuse).open(opening())

    assert refused is not None
    with pytest.raises(ServerError, match="VC0403 kubeconfig: cannot be used"):
        raise_refusal(refused)


async def test_a_closed_host_is_lost_to_whoever_posts_or_asks() -> None:
    closed = door()

    for reply in (
        await closed.post(DRIVER, "binder", []),
        await closed.ask(DRIVER, "binder", pack(Round())),
        await closed.score(DRIVER, "cache-0", b""),
    ):
        with pytest.raises(Lost, match="is not open"):
            opened(reply)
    assert (await closed.look()).opening == -1


async def test_a_message_that_an_actor_does_not_know_is_its_failure_not_its_loss() -> None:
    made = door()
    assert await made.open(opening()) is None
    try:
        reply = await made.ask(DRIVER, "binder", pack(Round()))
        with pytest.raises(RemoteFailure, match="TypeError: Round"):
            opened(reply)
        look = await made.look()
        assert (look.opening, look.statistics[0].failed) == (0, 1)
    finally:
        await made.close()


async def test_only_the_opening_that_was_announced_is_heard() -> None:
    made = door()
    await made.open(opening(3))
    try:
        assert await made.post(Stamp("scheduler", 3), "binder", []) == ("ok", None)
        for stamp in (Stamp("scheduler", 2), Stamp("scheduler", 4), Stamp("nobody", 3)):
            with pytest.raises(Lost, match="hears another opening"):
                opened(await made.post(stamp, "binder", []))
    finally:
        await made.close()


async def test_a_host_that_never_begins_anew_with_this_one_is_heard_whichever_opening_it_is_of() -> None:
    made = door()
    await made.open(opening(3))
    try:
        assert await made.post(Stamp("admission", 7), "binder", []) == ("ok", None)
    finally:
        await made.close()
