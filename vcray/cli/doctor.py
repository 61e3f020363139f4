"""`vcray doctor`: what is wrong, and what to do about it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from vcray.api.meta import JsonValue
    from vcray.cli.examination import Finding


@click.command("doctor")
@click.option(
    "--kubeconfig",
    type=click.Path(path_type=Path),
    help="The kubeconfig file; without it KUBECONFIG, then a cluster of `vcray up`, then as `vcray run` finds it.",
)
@click.option("--context", help="The context of the kubeconfig; without it the current one.")
@click.option("--ray-address", help="HOST:PORT of the Ray cluster that is to be joined.")
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    default=6443,
    show_default=True,
    help="The port that `vcray up` is to have.",
)
@click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "json", "yaml"]),
    default="table",
    help="Form of the answer.",
)
def command(
    kubeconfig: Path | None, context: str | None, ray_address: str | None, port: int, output: str
) -> int:
    """Look at this machine and at the API server, and tell what would keep vcray from working.

    Exit code 1 when there is a fault; each is told with what to do.

    \b
    Examples:
      vcray doctor
      vcray doctor --kubeconfig ~/.kube/config -o json
    """
    import asyncio

    findings = asyncio.run(_examine(kubeconfig, context, ray_address, port))
    _print(findings, output)
    return 1 if any(each.result == "FAULT" for each in findings) else 0


async def _examine(
    kubeconfig: Path | None, context: str | None, ray_address: str | None, port: int
) -> list[Finding]:
    from vcray.cli import examination
    from vcray.errors import ServerError
    from vcray.kube.auth import load

    findings = [*examination.machine(ray_address or os.environ.get("VCRAY_RAY_ADDRESS"))]
    findings.append(examination.port(port))
    if kubeconfig is None and not os.environ.get("KUBECONFIG"):
        kubeconfig = examination.local_kubeconfig()
    try:
        transport = await load(kubeconfig, context)
    except ServerError as error:
        asked = kubeconfig is not None or bool(os.environ.get("KUBECONFIG"))
        result = examination.FAULT if asked else examination.SKIPPED
        advice = (
            "name one that is there" if asked else "start a cluster with `vcray up`, or name a kubeconfig"
        )
        return [*findings, examination.Finding("kubeconfig", result, str(error), advice)]
    try:
        findings += [each async for each in examination.server(transport)]
    finally:
        await transport.close()
    return findings


def _print(findings: Sequence[Finding], output: str) -> None:
    from vcray.cli.output import print_data, print_table

    if output != "table":
        print_data([_data(each) for each in findings], output, sys.stdout)
        return
    print_table(
        ["check", "result", "found"], [[each.check, each.result, each.found] for each in findings], sys.stdout
    )
    for each in findings:
        if each.advice:
            click.echo(f"{each.check}: {each.advice}", err=True)


def _data(finding: Finding) -> JsonValue:
    told: JsonValue = {"check": finding.check, "result": finding.result, "found": finding.found}
    if finding.advice and isinstance(told, dict):
        told["advice"] = finding.advice
    return told
