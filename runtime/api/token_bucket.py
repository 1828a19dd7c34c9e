"""A token bucket in whole nanoseconds: so many calls at once, then so many a second. Pure.

Owns the arithmetic alone. The bucket keeps one number, the time at which it will be full again: a token taken moves it
on by the time one token takes to come. Nothing runs between calls, and a clock that stands still is no trouble.
"""

from __future__ import annotations

SECOND_NS = 1_000_000_000

DEFAULT_QPS = 5
DEFAULT_BURST = 10
"""What Kubernetes clients take a 0 for (spec 12.3: "0 = defaults 5/10")."""


class TokenBucket:
    """`burst` tokens, full at first; `per_second` of them come back each second. Both are more than 0."""

    __slots__ = ("_full_at_ns", "_room_ns", "_token_ns")

    def __init__(self, per_second: float, burst: int) -> None:
        if per_second <= 0 or burst <= 0:
            raise ValueError(f"{per_second} a second, {burst} at once: nothing would ever pass")
        self._token_ns = max(1, round(SECOND_NS / per_second))
        self._room_ns = (burst - 1) * self._token_ns
        self._full_at_ns = -(1 << 63)

    def wait_ns(self, now_ns: int) -> int:
        """How long until there is a token; 0: there is one now."""
        return max(0, self._full_at_ns - now_ns - self._room_ns)

    def take(self, now_ns: int) -> bool:
        """Take a token if there is one."""
        if self.wait_ns(now_ns):
            return False
        self._full_at_ns = max(self._full_at_ns, now_ns) + self._token_ns
        return True


def bucket_of(qps: float | None, burst: int) -> TokenBucket | None:
    """The bucket for a limit as a KubeletConfiguration has it: 0 takes the default of a client, None or less than 0 is
    no limit.
    """
    if qps is None or qps < 0:
        return None
    return TokenBucket(qps or DEFAULT_QPS, burst if burst > 0 else DEFAULT_BURST)
