"""Every scenario file holds on servers beside us as it does in the process: the embedded one over HTTPS, a real one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.conformance.harness.definitions import install
from tests.conformance.harness.server import ControlPlane
from tests.scenarios.files import SCENARIOS
from vcray.api.crds import all_crds
from vcray.app import on_server
from vcray.cli.simservers import connected, embedded
from vcray.kube.transport import Transport
from vcray.sim.runner import run_scenario
from vcray.sim.scenario import Scenario

REFUSED = {"x_malformed_native_gang_is_told_and_starts_nothing"}
"""What a real server refuses to store: the gang's schema is its own."""
GANGS = (
    "--runtime-config=scheduling.k8s.io/v1alpha2=true",
    "--feature-gates=GenericWorkload=true,GangScheduling=true,WorkloadAwarePreemption=true,TopologyAwareWorkloadScheduling=true",
)

pytestmark = [
    pytest.mark.timeout(600),  # a thousand jobs are some ten thousand requests
    pytest.mark.asyncio(loop_scope="module"),
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def embedded_server() -> AsyncIterator[Transport]:
    """An embedded server; each scenario leaves it as it was."""
    async with embedded() as transport:
        yield transport


@pytest.fixture(scope="module")
def empty_server(kubernetes_programs: Path) -> Iterator[ControlPlane]:
    """A real server that holds nothing but Volcano's definitions; it serves Kubernetes' own gangs."""
    with ControlPlane(kubernetes_programs, apiserver_flags=GANGS) as server:
        install(server.client, all_crds())
        yield server


@pytest.mark.embedded
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
async def test_scenario_on_the_embedded_server(embedded_server: Transport, scenario: Scenario) -> None:
    results = await run_scenario(scenario, on_server(embedded_server), repeat=1)

    assert [result.failures for result in results] == [[]]


@pytest.mark.parametrize(
    "scenario",
    [scenario for scenario in SCENARIOS if scenario.name not in REFUSED],
    ids=lambda scenario: scenario.name,
)
async def test_scenario_on_a_real_server(empty_server: ControlPlane, scenario: Scenario) -> None:
    async with connected(empty_server.kubeconfig) as transport:
        results = await run_scenario(scenario, on_server(transport), repeat=1)

    assert [result.failures for result in results] == [[]]
