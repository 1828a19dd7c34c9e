"""The arithmetic of a rate limit: a bucket of tokens, and the part that a pod may count on. Pure."""

from __future__ import annotations

import itertools
from collections import OrderedDict

SECOND_NS = 1_000_000_000
SHARE = 10
"""A pod may count on a tenth of the rate."""
SHARE_AT_ONCE = 10
"""So many calls at least are within a pod's share: most pods need fewer to start."""
DEFAULT_QPS = 5
DEFAULT_BURST = 10
"""The rates that Kubernetes clients use instead of 0 (spec 12.3: "0 = defaults 5/10")."""


class TokenBucket:
    """`burst` tokens, full at first; `per_second` of them come back each second.

    Both are more than 0. Pure.

    It keeps one number, the time at which it will be full again: a token taken moves it on by the time one token takes
    to come. Nothing runs between calls, and a clock that stands still is no trouble.
    """

    __slots__ = ("_full_at_ns", "_room_ns", "_token_ns")

    def __init__(self, per_second: float, burst: int) -> None:
        if per_second <= 0 or burst <= 0:
            raise ValueError(f"{per_second} a second, {burst} at once: nothing would ever pass")
        self._token_ns = max(1, round(SECOND_NS / per_second))
        self._room_ns = (burst - 1) * self._token_ns
        self._full_at_ns = -(1 << 63)

    @property
    def burst(self) -> int:
        """How many tokens it holds at most."""
        return self._room_ns // self._token_ns + 1

    def part(self, divisor: int, burst_at_least: int) -> TokenBucket:
        """A full bucket with that part of the rate and of the burst."""
        return TokenBucket(SECOND_NS / self._token_ns / divisor, max(burst_at_least, self.burst // divisor))

    def is_full(self, now_ns: int) -> bool:
        """Whether no token is missing."""
        return self._full_at_ns <= now_ns

    def wait_ns(self, now_ns: int, *, spare: int = 0) -> int:
        """How long until there is a token beside `spare` others; 0: there is one now."""
        return max(0, self._full_at_ns - now_ns - self._room_ns + spare * self._token_ns)

    def spared_ns(self, most_ns: int) -> int:
        """The longest pause, up to `most_ns`, in which an empty bucket does not overflow."""
        return min(most_ns, self._room_ns)

    def take(self, now_ns: int, *, spare: int = 0) -> bool:
        """Take a token if there is one beside `spare` others, which are fewer than the burst."""
        if self.wait_ns(now_ns, spare=spare):
            return False
        self._full_at_ns = max(self._full_at_ns, now_ns) + self._token_ns
        return True


def bucket_of(qps: float | None, burst: int) -> TokenBucket | None:
    """The bucket for a limit of a KubeletConfiguration.

    0 takes the default of a client; None or less than 0 is no limit.
    """
    if qps is None or qps < 0:
        return None
    return TokenBucket(qps or DEFAULT_QPS, burst if burst > 0 else DEFAULT_BURST)


class PodShares:
    """Which pods have had more tokens of late than a small pod needs.

    A pod has a bucket of its own, with a tenth of the rate and of the burst. It is forgotten once it is full again.
    No more pods are remembered than took a token within the time in which a bucket fills.
    """

    __slots__ = ("_like", "_of_pod")

    def __init__(self, bucket: TokenBucket) -> None:
        self._like = bucket
        self._of_pod: OrderedDict[str, TokenBucket] = OrderedDict()
        """The pod whose last token is the longest ago comes first."""

    def __len__(self) -> int:
        """How many pods are remembered."""
        return len(self._of_pod)

    def take(self, pod: str, now_ns: int) -> bool:
        """Take a token of the pod's share; False when it has none left."""
        self._forget_full(now_ns)
        own = self._of_pod.get(pod)
        if own is None:
            own = self._of_pod[pod] = self._like.part(SHARE, SHARE_AT_ONCE)
        else:
            self._of_pod.move_to_end(pod)
        return own.take(now_ns)

    def wait_ns(self, pod: str, now_ns: int, *, spare: int = 0) -> int:
        """How long until the pod's share has a token beside `spare` others; 0: it has one now."""
        own = self._of_pod.get(pod)
        return 0 if own is None else own.wait_ns(now_ns, spare=spare)

    def _forget_full(self, now_ns: int) -> None:
        # Two go for each that comes, so the full ones do not pile up.
        for pod in list(itertools.islice(self._of_pod, 2)):
            if self._of_pod[pod].is_full(now_ns):
                del self._of_pod[pod]
