"""Growing delays whose spread repeats."""

from __future__ import annotations

from vcray.kube.backoff import Backoff, golden_jitter


def test_delays_grow_to_their_limit_and_start_over_after_a_success() -> None:
    backoff = Backoff(1.0, 5.0, jitter=lambda: 0.0)

    assert [backoff.following() for _ in range(5)] == [1.0, 2.0, 4.0, 5.0, 5.0]
    backoff.reset()
    assert backoff.following() == 1.0


def test_delays_are_shortened_by_at_most_the_spread() -> None:
    backoff = Backoff(8.0, 8.0, spread=0.5, jitter=golden_jitter(0.3))

    delays = [backoff.following() for _ in range(100)]

    assert all(4.0 < delay <= 8.0 for delay in delays)
    assert len({round(delay, 3) for delay in delays}) > 90


def test_the_spread_fills_the_interval_evenly_and_repeats() -> None:
    one, two = golden_jitter(0.0), golden_jitter(0.0)
    values = [one() for _ in range(100)]

    assert values == [two() for _ in range(100)]
    gaps = [b - a for a, b in zip(sorted(values), sorted(values)[1:], strict=False)]
    assert max(gaps) < 0.03
