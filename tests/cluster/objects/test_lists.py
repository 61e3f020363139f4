"""Pages whose version is forgotten, and lines that nobody takes."""

from __future__ import annotations

import pytest

from vcray.api.resources import CONFIGMAPS
from vcray.clock import ManualClock
from vcray.cluster.objects.lines import Lines
from vcray.cluster.objects.lists import TokenExpired, make_token, read_token
from vcray.cluster.objects.store import Selection, Store
from vcray.cluster.server.answers import status_of
from vcray.kube.errors import Gone


def test_a_forgotten_page_token_offers_to_go_on_with_the_present_list() -> None:
    store = Store(ManualClock(), history=2)
    for name in "abcd":
        store.create(CONFIGMAPS, "default", {"metadata": {"name": name}})
    first = store.list(CONFIGMAPS, Selection("default", limit=2))
    for name in "efg":
        store.create(CONFIGMAPS, "default", {"metadata": {"name": name}})

    with pytest.raises(TokenExpired, match="too old to display a consistent list") as expired:
        store.list(CONFIGMAPS, Selection("default", limit=2, token=first.token))
    rest = store.list(CONFIGMAPS, Selection("default", token=expired.value.token))

    assert [record.name for record in rest.records] == list("cdefg")
    status = status_of(expired.value)
    assert (status["code"], status["reason"]) == (410, "Expired")
    assert status["metadata"] == {"continue": expired.value.token}


def test_a_forgotten_version_is_gone() -> None:
    store = Store(ManualClock(), history=1)
    version = store.create(CONFIGMAPS, "default", {"metadata": {"name": "a"}}).version
    for name in "bc":
        store.create(CONFIGMAPS, "default", {"metadata": {"name": name}})

    with pytest.raises(Gone, match=f"too old resource version: {version}"):
        store.list(CONFIGMAPS, Selection("default", version=version))


def test_a_page_token_names_version_and_place() -> None:
    assert read_token(make_token(7, ("default", "a"))) == (7, ("default", "a"))
    assert read_token(make_token(8, ("", "node"))) == (8, ("", "node"))


async def test_a_reader_too_far_behind_is_cut_and_finds_only_the_end() -> None:
    cuts: list[bool] = []
    lines = Lines(limit=2)
    lines.cut = lambda: cuts.append(True)

    for word in (b"a", b"b", b"c", b"d"):
        lines.put(word)

    assert lines.overrun
    assert cuts == [True]
    assert await lines.next() is None


async def test_a_batch_takes_what_is_there_up_to_its_size() -> None:
    lines = Lines()
    for word in (b"aa", b"bb", b"cc", None):
        lines.put(word)

    assert await lines.batch(3) == [b"aa", b"bb"]
    assert await lines.batch(100) == [b"cc", None]
