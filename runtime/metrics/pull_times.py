"""How long each pod has waited for its images: what does not count when a start is judged (spec 11.7).

Told by who pulls, asked by who sees the pod run, on any thread. Bounded: the oldest are forgotten.
"""

from __future__ import annotations

import threading

PODS_AT_MOST = 10_000


class PullTimes:
    """See the module. Times are monotonic ns."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._spans: dict[str, tuple[int, int]] = {}

    def pulled(self, uid: str, began_ns: int, ended_ns: int) -> None:
        """An image of this pod was waited for."""
        with self._lock:
            before = self._spans.pop(uid, (began_ns, ended_ns))
            self._spans[uid] = (min(before[0], began_ns), max(before[1], ended_ns))
            if len(self._spans) > PODS_AT_MOST:
                del self._spans[next(iter(self._spans))]

    def take(self, uid: str) -> int:
        """From the first wait of this pod to the end of the last, in ns; 0 where there was none. Forgotten then."""
        with self._lock:
            began_ns, ended_ns = self._spans.pop(uid, (0, 0))
        return ended_ns - began_ns
