"""The table of verdicts through the webhooks' rules."""

from __future__ import annotations

import pytest

from tests.webhooks.seen import Seen, ask, queue
from tests.webhooks.verdicts import ROWS, Row
from vcray.webhooks.services import SERVICES

SEEN = Seen([queue("q"), queue("root")])


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_webhook_says_what_the_table_says(row: Row) -> None:
    operation = "UPDATE" if row.old else "CREATE"
    (service,) = (each for each in SERVICES if each.resource == row.resource and not each.mutates)

    problem = service.admit(ask(operation, row.new, row.old, SEEN)).problem

    assert bool(problem) == bool(row.told), problem
    assert row.told in problem
