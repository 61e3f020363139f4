"""`vcctl queue ...` and `vqueues`: what they do. Flags and defaults stand in `vcray.cli.vcctl` and `vcray.cli.slurm`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TextIO

from vcray.api.jsontypes import JsonObject
from vcray.api.jsonview import dig_int, dig_str
from vcray.api.resources import COMMANDS, PODGROUPS, QUEUES
from vcray.cli.cobra import CommandError, Invocation
from vcray.cli.connection import Connect
from vcray.cli.job import bus_command, controller_reference
from vcray.cli.output import NOTHING, padded_table

_PHASES = ("Inqueue", "Pending", "Running", "Unknown", "Completed")
_SHOWN_PHASES = _PHASES[:-1]
_ACTIONS = {"open": "OpenQueue", "close": "CloseQueue"}
_COMMANDS_NAMESPACE = "default"


async def create_queue(call: Invocation, connect: Connect, out: TextIO) -> None:
    """Create a queue. The state is sent, and dropped by the server: status is a subresource."""
    body: JsonObject = {
        "apiVersion": QUEUES.api_version,
        "kind": QUEUES.kind,
        "metadata": {"name": call.text("name")},
        "spec": {"weight": call.number("weight")},
        "status": {"state": call.text("state")},
    }
    client = await connect()
    await client.create(QUEUES, None, body)


async def list_queues(call: Invocation, connect: Connect, out: TextIO) -> None:
    """Print a line for each queue, with its PodGroups counted by phase."""
    client = await connect()
    queues = (await client.list(QUEUES)).items
    if not queues:
        print(NOTHING, file=out)
        return
    out.write(queues_table(queues, (await client.list(PODGROUPS)).items))


async def get_queue(call: Invocation, connect: Connect, out: TextIO) -> None:
    """Print one queue's line."""
    name = call.text("name")
    if not name:
        raise CommandError("name is mandatory to get the particular queue details")
    client = await connect()
    queue = await client.get(QUEUES, None, name)
    out.write(queues_table([queue], (await client.list(PODGROUPS)).items))


async def show_queues(call: Invocation, connect: Connect, out: TextIO) -> None:
    """`vqueues`: print one queue's line or all of them, with the counts of their statuses, which nobody writes any more."""
    client, name = await connect(), call.text("name")
    queues = [await client.get(QUEUES, None, name)] if name else (await client.list(QUEUES)).items
    if not queues:
        print(NOTHING, file=out)
        return
    titles = ("Name", "Weight", "State", *_SHOWN_PHASES)
    rows = [
        (*_head(queue), *(str(dig_int(queue, "status", phase.lower())) for phase in _SHOWN_PHASES))
        for queue in queues
    ]
    out.write(padded_table([titles, *rows], _widths(titles)))


def queues_table(queues: Iterable[JsonObject], groups: Iterable[JsonObject]) -> str:
    """The table of queues: the name 25 wide, all other columns 8."""
    found = Counter((dig_str(each, "spec", "queue"), dig_str(each, "status", "phase")) for each in groups)
    titles = ("Name", "Weight", "State", "Parent", *_PHASES)
    rows = []
    for queue in queues:
        name, *more = _head(queue)
        counts = (str(found[name, phase]) for phase in _PHASES)
        rows.append((name, *more, dig_str(queue, "spec", "parent"), *counts))
    return padded_table([titles, *rows], _widths(titles))


def _head(queue: JsonObject) -> tuple[str, str, str]:
    """Name, weight and state: the first columns of both tables."""
    weight = str(dig_int(queue, "spec", "weight"))
    return dig_str(queue, "metadata", "name"), weight, dig_str(queue, "status", "state")


def _widths(titles: Sequence[str]) -> list[int]:
    return [25] + [8] * (len(titles) - 1)


async def delete_queue(call: Invocation, connect: Connect, out: TextIO) -> None:
    """Delete a queue."""
    name = _mandatory_name(call)
    client = await connect()
    await client.delete(QUEUES, None, name)


async def operate_queue(call: Invocation, connect: Connect, out: TextIO) -> None:
    """Open or close a queue through a Command, or set its weight."""
    name, action, weight = _mandatory_name(call), call.text("action"), call.number("weight")
    if not action:
        raise CommandError("action can not be null")
    if action == "update":
        if weight <= 0:
            raise CommandError(
                f"when update queue {name}, weight must be specified, the value must be greater than 0"
            )
        client = await connect()
        await client.patch(QUEUES, None, name, {"spec": {"weight": weight}})
        return
    if action not in _ACTIONS:
        raise CommandError(f"action {action} invalid, valid actions are open, close and update")
    client = await connect()
    queue = await client.get(QUEUES, None, name)
    reference = controller_reference(QUEUES.api_version, QUEUES.kind, queue)
    wanted = _ACTIONS[action]
    body = bus_command(wanted, f"{name}-{wanted.lower()}-", _COMMANDS_NAMESPACE, reference)
    await client.create(COMMANDS, _COMMANDS_NAMESPACE, body)


def _mandatory_name(call: Invocation) -> str:
    name = call.text("name")
    if not name:
        raise CommandError("queue name must be specified")
    return name
