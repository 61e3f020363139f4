"""Every row of the table of admission, with our webhooks on a real kube-apiserver and without them on another."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conformance.harness.definitions import install
from tests.conformance.harness.server import ControlPlane
from tests.e2e.release.cluster import Release
from tests.e2e.release.rows import Desk, Row, table
from vcray.api.crds import all_crds

ROWS = table()[1]
IDS = [f"{row.kind}: {row.it}" for row in ROWS]
FIRST = {(row.kind, row.by, bool(row.refused), bool(row.then)): row for row in reversed(ROWS)}.values()
"""One row of each sort, for CI."""
MARKED = [pytest.param(row, marks=() if row in FIRST else pytest.mark.full) for row in ROWS]


@pytest.fixture(scope="module")
def desk(release: Release) -> Iterator[Desk]:
    """Where rows are tried with webhooks."""
    made = Desk(release.server)
    yield made
    made.client.delete(f"/api/v1/namespaces/{made.namespace}")


@pytest.fixture(scope="module")
def bare(real_apiserver: ControlPlane) -> Desk:
    """Where rows are tried without webhooks: the definitions alone judge."""
    install(real_apiserver.client, all_crds())
    return Desk(real_apiserver)


@pytest.mark.parametrize("row", MARKED, ids=IDS)
def test_a_row_holds_with_webhooks(desk: Desk, row: Row) -> None:
    assert desk.holds(row) == {}


@pytest.mark.full
@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_a_row_is_the_work_of_the_webhooks_or_of_the_definition_as_it_says(bare: Desk, row: Row) -> None:
    """What the webhooks refuse is taken without them, and what they fill in is missing."""
    wrong = bare.outcome(row)

    if row.by == "schema":
        assert wrong == {}
    else:
        assert ("refused" if row.refused else "stored") in wrong
