"""A server's times become the scenario's, and never go back to the server."""

from __future__ import annotations

import json

from vcray.clock import ManualClock, rfc3339
from vcray.sim.stamps import Stamps, unstamped

CREATED = "2031-05-05T05:05:05Z"


def obj(uid: str, **more: object) -> dict[str, object]:
    return {"metadata": {"uid": uid, "creationTimestamp": CREATED, **more}}


def test_an_object_is_created_when_it_is_first_seen_and_stays_so() -> None:
    clock = ManualClock()
    stamps = Stamps(clock.now)
    first = rfc3339(clock.now())

    _, seen = stamps.of_answer(json.dumps(obj("a")).encode())
    clock.advance(60)
    _, again = stamps.of_line(json.dumps({"type": "MODIFIED", "object": obj("a")}).encode())
    _, other = stamps.of_answer(json.dumps({"items": [obj("a"), obj("b")]}).encode())

    assert seen["metadata"]["creationTimestamp"] == first  # type: ignore[index, call-overload]
    assert again["object"]["metadata"]["creationTimestamp"] == first  # type: ignore[index, call-overload]
    times = [each["metadata"]["creationTimestamp"] for each in other["items"]]  # type: ignore[union-attr, index, call-overload]
    assert times == [first, rfc3339(clock.now())]


def test_an_object_ends_after_its_grace_from_the_moment_it_was_told_to() -> None:
    clock = ManualClock()
    stamps = Stamps(clock.now)
    ending = obj("a", deletionTimestamp=CREATED, deletionGracePeriodSeconds=30)

    _, seen = stamps.of_answer(json.dumps(ending).encode())

    assert seen["metadata"]["deletionTimestamp"] == rfc3339(clock.now() + 30)  # type: ignore[index, call-overload]


def test_what_is_no_object_stays_as_it_is() -> None:
    stamps = Stamps(ManualClock().now)

    assert stamps.of_answer(b"ok") == (b"ok", {})
    assert stamps.of_answer(b"[1]") == (b"[1]", {})


def test_a_request_does_not_carry_our_times_back() -> None:
    body = json.dumps(obj("a", deletionTimestamp=CREATED, name="x")).encode()

    sent = json.loads(unstamped(body) or b"")

    assert sent == {"metadata": {"uid": "a", "name": "x"}}
    assert unstamped(None) is None
    assert unstamped(b'{"metadata":{"name":"x"}}') == b'{"metadata":{"name":"x"}}'
