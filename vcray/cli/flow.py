"""`vcctl jobflow ...` and `vcctl jobtemplate ...`: what the commands do, the same for both kinds.

A file may hold many documents. Each is created or deleted by itself: what is wrong with one is told in its own line, the others
are done, and the command succeeds; so Volcano does it. Flags and defaults stand in `vcray.cli.vcctl`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TextIO

from vcray.api.ages import since
from vcray.api.jsontypes import JsonObject, JsonValue
from vcray.api.jsonview import dig, dig_object, dig_str
from vcray.api.resources import JOBFLOWS, JOBTEMPLATES, Resource
from vcray.cli.cobra import CommandError, Invocation
from vcray.cli.connection import Connect
from vcray.cli.manifests import Document, read_apart
from vcray.cli.output import NOTHING, padded_table, print_data
from vcray.cli.program import sentence
from vcray.errors import InputError, Problem
from vcray.kube.client import KubeClient
from vcray.kube.errors import ApiError

_DEFAULT_NAMESPACE = "default"
_GAP = 4
_FORMATS = ("yaml", "json")


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind that a group of commands is about; `words` are how sentences name it."""

    resource: Resource
    words: str
    titles: tuple[str, ...]


_KINDS = {
    "jobflow": _Kind(JOBFLOWS, "jobflow", ("Name", "Namespace", "Phase", "Age")),
    "jobtemplate": _Kind(JOBTEMPLATES, "job template", ("Name", "Namespace")),
}


def _kind(call: Invocation) -> _Kind:
    return _KINDS[call.path[-2].name]


async def create_flow(call: Invocation, connect: Connect, out: TextIO) -> None:
    """Create what the documents of a file describe, in their namespaces, else in `default`."""
    kind = _kind(call)
    documents = _documents(call, kind)
    client = await connect()
    for document in documents:
        try:
            body = _usable(document, kind)
            made = await client.create(kind.resource, dig_str(body, "metadata", "namespace"), body)
        except (ApiError, InputError) as error:
            print(f"Failed to create {kind.resource.kind}: {sentence(error)}", file=out)
        else:
            _tell("Created", kind, made, out)


async def delete_flow(call: Invocation, connect: Connect, out: TextIO) -> None:
    """Delete one object by its name, or all that the documents of a file name."""
    kind = _kind(call)
    if call.text("file"):
        await _delete_documents(call, connect, kind, out)
        return
    if not call.text("name"):
        raise CommandError(f"{kind.words} name must be specified")
    body: JsonObject = {"metadata": {"name": call.text("name"), "namespace": call.text("namespace")}}
    await _delete(await connect(), kind, body, out)


async def _delete_documents(call: Invocation, connect: Connect, kind: _Kind, out: TextIO) -> None:
    documents = _documents(call, kind)
    client = await connect()
    for document in documents:
        try:
            body = _usable(document, kind)
            if not dig_str(body, "metadata", "name"):
                raise InputError(Problem("VC0202", document.where, "metadata.name must be given"))
            await _delete(client, kind, body, out)
        except (ApiError, InputError) as error:
            print(f"Failed to delete {kind.resource.kind}: {sentence(error)}", file=out)


async def _delete(client: KubeClient, kind: _Kind, body: JsonObject, out: TextIO) -> None:
    namespace, name = dig_str(body, "metadata", "namespace"), dig_str(body, "metadata", "name")
    await client.delete(kind.resource, namespace, name)
    _tell("Deleted", kind, body, out)


def _tell(done: str, kind: _Kind, body: JsonObject, out: TextIO) -> None:
    namespace, name = dig_str(body, "metadata", "namespace"), dig_str(body, "metadata", "name")
    print(f"{done} {kind.resource.kind}: {namespace}/{name}", file=out)


def _documents(call: Invocation, kind: _Kind) -> list[Document]:
    """What the file holds. InputError when it is not named, cannot be read or is empty."""
    file = call.text("file")
    if not file:
        raise InputError(Problem("VC0503", "--file", f"must name the YAML file with the {kind.words}"))
    found = read_apart(file)
    if not found:
        raise InputError(Problem("VC0202", file, "the file holds no object"))
    return found


def _usable(document: Document, kind: _Kind) -> JsonObject:
    """The object with kind and namespace filled in. InputError when it has a fault or is of another kind."""
    if document.fault:
        raise document.fault
    named, wanted = document.body.get("kind"), kind.resource.kind
    if named is not None and named != wanted:
        raise InputError(Problem("VC0202", document.where, f"kind is {named}, but must be {wanted}"))
    metadata = dig_object(document.body, "metadata")
    namespace = dig_str(metadata, "namespace") or _DEFAULT_NAMESPACE
    head: JsonObject = {"apiVersion": kind.resource.api_version, "kind": wanted}
    return {**head, **document.body, "metadata": {**metadata, "namespace": namespace}}


async def get_flow(call: Invocation, connect: Connect, out: TextIO) -> None:
    """Print one object's line."""
    kind, name = _kind(call), call.text("name")
    if not name:
        raise CommandError(f"name is mandatory to get the particular {kind.words} details")
    client = await connect()
    found = await client.get(kind.resource, call.text("namespace"), name)
    out.write(flows_table([found], kind.titles, time.time()))


async def list_flow(call: Invocation, connect: Connect, out: TextIO) -> None:
    """Print a line for each object of a namespace or, where the command has the flag, of all."""
    kind = _kind(call)
    client = await connect()
    namespace = None if call.flags.get("all-namespaces") else call.text("namespace")
    found = (await client.list(kind.resource, namespace)).items
    if found:
        out.write(flows_table(found, kind.titles, time.time()))
    else:
        print(NOTHING, file=out)


def flows_table(found: Sequence[JsonObject], titles: Sequence[str], now: float) -> str:
    """The columns that the titles name, each 4 wider than its longest cell; ages at `now` (seconds since 1970)."""
    rows = [tuple(titles), *(tuple(_cell(each, title, now) for title in titles) for each in found)]
    widths = [max(len(row[column]) for row in rows) + _GAP for column in range(len(titles))]
    return padded_table(rows, widths)


def _cell(found: JsonObject, title: str, now: float) -> str:
    match title:
        case "Phase":
            return dig_str(found, "status", "state", "phase")
        case "Age":
            return since(dig(found, "metadata", "creationTimestamp"), now)
    return dig_str(found, "metadata", title.lower())


async def describe_flow(call: Invocation, connect: Connect, out: TextIO) -> None:
    """Print one object whole, or all of the namespace with a blank line between two, as YAML or JSON."""
    kind, name, form = _kind(call), call.text("name"), call.text("format")
    if form not in _FORMATS:
        raise CommandError(f"Unsupported format: {form}")
    client, namespace = await connect(), call.text("namespace")
    if name:
        found = [await client.get(kind.resource, namespace, name)]
    else:
        found = (await client.list(kind.resource, namespace)).items
    if not found:
        print(NOTHING, file=out)
    for number, each in enumerate(found):
        if number:
            out.write("\n")
        print_data(_plain(each), form, out)


def _plain(found: JsonObject) -> JsonValue:
    """The object in order of its keys, as kubectl prints it, without the book-keeping of who wrote which field."""
    dig_object(found, "metadata").pop("managedFields", None)
    return _ordered(found)


def _ordered(value: JsonValue) -> JsonValue:
    match value:
        case dict():
            return {key: _ordered(value[key]) for key in sorted(value)}
        case list():
            return [_ordered(each) for each in value]
    return value
