"""`vcray podgroup`: gangs as the scheduler sees them; which wait, who is in them, and why they wait.

Volcano's own command line has no words for PodGroups. What is printed is in `vcray.cli.podgroupview`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

if TYPE_CHECKING:
    from vcray.api.jsontypes import JsonObject
    from vcray.kube.client import KubeClient

C = TypeVar("C", bound=Callable[..., object])

PHASES = ("Pending", "Inqueue", "Running", "Unknown", "Completed")
"""What `--phase` takes: the phases of the API, in the order in which a group goes through them."""


@dataclass(frozen=True, slots=True)
class _Server:
    """Which server, and which namespace of it; None for that of the context."""

    kubeconfig: Path | None
    context: str | None
    namespace: str | None

    @asynccontextmanager
    async def open(self) -> AsyncIterator[tuple[KubeClient, str]]:
        """A client and the namespace to look in. ServerError VC0403 when the kubeconfig cannot be used."""
        from vcray.cli.connection import opened
        from vcray.kube.auth import context_namespace

        named = str(self.kubeconfig) if self.kubeconfig else ""
        async with opened(named, context=self.context, program="vcray") as connect:
            client = await connect()
            yield client, self.namespace or context_namespace(self.kubeconfig, self.context)


def _common(function: C) -> C:
    """Flags that every command on PodGroups has."""
    options = (
        click.option(
            "--kubeconfig",
            type=click.Path(path_type=Path),
            help="The kubeconfig file; without it KUBECONFIG, then ~/.kube/config, then the pod's service account.",
        ),
        click.option("--context", help="The context of the kubeconfig; without it the current one."),
        click.option(
            "--namespace", "-n", help="The namespace; without it that of the context, else default."
        ),
        click.option(
            "--output",
            "-o",
            type=click.Choice(["table", "json", "yaml"]),
            default="table",
            help="Form of the answer.",
        ),
    )
    for option in reversed(options):
        function = option(function)
    return function


@click.group("podgroup")
def command() -> None:
    """Show PodGroups: which gangs wait, who is in them, and why they wait.

    \b
    Examples:
      vcray podgroup list --all-namespaces --phase Pending
      vcray podgroup describe train
    """


@command.command("list")
@_common
@click.option("--all-namespaces", "-A", is_flag=True, help="All namespaces, with a column for it.")
@click.option("--queue", "-q", help="Groups of this queue.")
@click.option("--phase", type=click.Choice(PHASES), help="Groups in this phase.")
def list_groups(
    kubeconfig: Path | None,
    context: str | None,
    namespace: str | None,
    output: str,
    all_namespaces: bool,
    queue: str | None,
    phase: str | None,
) -> None:
    """List PodGroups, one line each, by namespace and name. REASON is what keeps a group waiting.

    \b
    Examples:
      vcray podgroup list
      vcray podgroup list -A -q research --phase Pending
      vcray podgroup list -o json
    """
    server = _Server(kubeconfig, context, namespace)
    found = _asked(_listed(server, all_namespaces, queue, phase))
    if output == "table":
        _print_lines(found, all_namespaces)
    else:
        _print_data([*found], output)


async def _listed(
    server: _Server, everywhere: bool, queue: str | None, phase: str | None
) -> list[JsonObject]:
    from vcray.api.jsonview import dig_str
    from vcray.api.resources import PODGROUPS

    async with server.open() as (client, namespace):
        groups = (await client.list(PODGROUPS, None if everywhere else namespace)).items
    kept = [
        group
        for group in groups
        if (not queue or dig_str(group, "spec", "queue") == queue)
        and (not phase or dig_str(group, "status", "phase") == phase)
    ]
    return sorted(
        kept, key=lambda each: (dig_str(each, "metadata", "namespace"), dig_str(each, "metadata", "name"))
    )


@command.command("get")
@click.argument("name")
@_common
def get_group(
    name: str, kubeconfig: Path | None, context: str | None, namespace: str | None, output: str
) -> None:
    """Show one PodGroup: its line, or all of it as JSON or YAML.

    \b
    Examples:
      vcray podgroup get train
      vcray podgroup get train -n ml -o yaml
    """
    group = _asked(_one(_Server(kubeconfig, context, namespace), name))
    if output == "table":
        _print_lines([group], False)
    else:
        _print_data(group, output)


async def _one(server: _Server, name: str) -> JsonObject:
    from vcray.api.resources import PODGROUPS

    async with server.open() as (client, namespace):
        return await client.get(PODGROUPS, namespace, name)


@command.command("describe")
@click.argument("name")
@_common
def describe_group(
    name: str, kubeconfig: Path | None, context: str | None, namespace: str | None, output: str
) -> None:
    """Tell all about a PodGroup: what it asks for, its pods, why its conditions hold, its events.

    \b
    Examples:
      vcray podgroup describe train
      vcray podgroup describe train -n ml -o json
    """
    from vcray.cli.podgroupview import group_text, whole

    group, pods, events = _asked(_with_pods_and_events(_Server(kubeconfig, context, namespace), name))
    if output == "table":
        sys.stdout.write(group_text(group, pods, events, time.time()))
    else:
        _print_data(whole(group, pods, events), output)


async def _with_pods_and_events(
    server: _Server, name: str
) -> tuple[JsonObject, list[JsonObject], list[JsonObject]]:
    from vcray.api.resources import PODGROUPS, PODS
    from vcray.cli.podgroupview import members

    async with server.open() as (client, namespace):
        group = await client.get(PODGROUPS, namespace, name)
        pods = members(group, (await client.list(PODS, namespace)).items)
        events = await _events_of(client, namespace, name)
    return group, pods, events


async def _events_of(client: KubeClient, namespace: str, name: str) -> list[JsonObject]:
    """Events about the group; none, and a line on standard error, for a user who may not list them."""
    from vcray.api.resources import EVENTS, PODGROUPS
    from vcray.kube.errors import Forbidden

    about = f"involvedObject.kind={PODGROUPS.kind},involvedObject.name={name}"
    try:
        return (await client.list(EVENTS, namespace, field_selector=about)).items
    except Forbidden as error:
        click.echo(f"events are not shown: {error.message}", err=True)
        return []


_T = TypeVar("_T")


def _asked(question: Coroutine[None, None, _T]) -> _T:
    import asyncio

    return asyncio.run(question)


def _print_lines(groups: Sequence[JsonObject], with_namespace: bool) -> None:
    from vcray.cli.output import NOTHING, print_table
    from vcray.cli.podgroupview import columns, row

    if not groups:
        click.echo(NOTHING, err=True)
        return
    now = time.time()
    print_table(columns(with_namespace), [row(each, with_namespace, now) for each in groups], sys.stdout)


def _print_data(found: JsonObject | list[JsonObject], form: str) -> None:
    from vcray.cli.output import print_data
    from vcray.cli.podgroupview import plain

    print_data([*map(plain, found)] if isinstance(found, list) else plain(found), form, sys.stdout)
