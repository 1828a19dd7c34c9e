"""The arithmetic of a rate limit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.api.token_bucket import PodShares, TokenBucket, bucket_of

SECOND_NS = 10**9


def test_a_burst_leaves_at_once_and_then_one_after_the_other() -> None:
    bucket = TokenBucket(50, 3)
    left = []
    now_ns = 0
    for _ in range(6):
        now_ns += bucket.wait_ns(now_ns)
        assert bucket.take(now_ns)
        left.append(now_ns)
    assert left == [0, 0, 0, 20_000_000, 40_000_000, 60_000_000]


def test_without_a_token_nothing_is_taken() -> None:
    bucket = TokenBucket(1, 1)
    assert bucket.take(0)
    for _ in range(10):
        assert not bucket.take(SECOND_NS - 1)
    assert bucket.wait_ns(SECOND_NS - 1) == 1
    assert bucket.take(SECOND_NS)


def test_a_token_bucket_never_holds_more_than_its_burst() -> None:
    bucket = TokenBucket(10, 2)
    assert [bucket.take(3600 * SECOND_NS) for _ in range(3)] == [True, True, False]


RATES = st.floats(0.1, 10_000)
BURSTS = st.integers(1, 500)


@given(RATES, BURSTS, st.lists(st.integers(0, 2 * SECOND_NS), max_size=200))
def test_no_window_has_more_than_the_burst_and_the_rate(rate: float, burst: int, steps: list[int]) -> None:
    bucket = TokenBucket(rate, burst)
    now_ns, taken = 0, []
    for step in steps:
        now_ns += step
        if bucket.take(now_ns):
            taken.append(now_ns)
    for first, begin_ns in enumerate(taken):
        for last in range(first, len(taken)):
            allowed = burst + (taken[last] - begin_ns) * rate / SECOND_NS
            assert last - first + 1 <= allowed * (1 + 1e-4) + 1


@given(RATES, BURSTS, st.lists(st.integers(0, SECOND_NS), max_size=100))
def test_the_wait_is_exact(rate: float, burst: int, steps: list[int]) -> None:
    bucket = TokenBucket(rate, burst)
    now_ns = 0
    for step in steps:
        now_ns += step
        wait_ns = bucket.wait_ns(now_ns)
        if wait_ns:
            assert not bucket.take(now_ns + wait_ns - 1)
            now_ns += wait_ns
        assert bucket.take(now_ns)


@pytest.mark.parametrize(
    ("qps", "burst", "at_once", "wait_ns"),
    [(50, 100, 100, 20_000_000), (0, 0, 10, 200_000_000), (0, 3, 3, 200_000_000), (2, 0, 10, 500_000_000)],
)
def test_a_configured_zero_is_the_default_of_a_client(qps: float, burst: int, at_once: int, wait_ns: int) -> None:
    bucket = bucket_of(qps, burst)
    assert bucket is not None
    assert [bucket.take(0) for _ in range(at_once + 1)] == [True] * at_once + [False]
    assert bucket.wait_ns(0) == wait_ns


def test_a_bucket_without_a_limit_never_waits() -> None:
    assert bucket_of(None, 100) is None
    assert bucket_of(-1, 100) is None


@pytest.mark.parametrize(("rate", "burst"), [(0, 1), (-1, 1), (1, 0)])
def test_a_bucket_that_lets_nothing_through_is_refused(rate: float, burst: int) -> None:
    with pytest.raises(ValueError, match="nothing would ever pass"):
        TokenBucket(rate, burst)


def test_a_pod_has_a_tenth_of_the_rate_and_is_forgotten_once_its_share_is_whole() -> None:
    shares = PodShares(TokenBucket(50, 200))
    assert [shares.take("large", 0) for _ in range(21)] == [True] * 20 + [False]
    assert shares.take("small", 0)
    assert shares.take("large", SECOND_NS // 5)
    assert len(shares) == 1, "one token is back after 0.2 s"
    for number in range(5):
        shares.take(f"later-{number}", 5 * SECOND_NS)
    assert len(shares) == 5


def test_a_tight_limit_still_leaves_each_pod_what_it_needs_to_start() -> None:
    shares = PodShares(TokenBucket(5, 10))
    assert [shares.take("small", 0) for _ in range(11)] == [True] * 10 + [False]
