"""Which moments a list can still show. Pure.

A kube-apiserver compacts etcd every five minutes, up to the revision of five minutes before. Pages of an older moment
get a 410. Here the same holds; who asks for pages lets it pass by, so an idle server does nothing.
"""

from __future__ import annotations

from collections import deque

KEPT_NS = 300 * 10**9
_STEP_NS = 10 * 10**9


class Moments:
    def __init__(self) -> None:
        self._marks: deque[tuple[int, int]] = deque()
        self.gone_before = 0
        """The least revision that can be shown."""

    def pass_by(self, now_ns: int, revision: int) -> None:
        """It is `now_ns`, and the store has come to this revision."""
        if not self._marks or now_ns - self._marks[-1][0] >= _STEP_NS:
            self._marks.append((now_ns, revision))
        while now_ns - self._marks[0][0] >= KEPT_NS:
            self.gone_before = self._marks.popleft()[1]
