"""A moment by both clocks of this node, and the time since. Pure.

The wall clock may be set while something is measured, and the monotonic one stands still while the machine sleeps. So
the larger time counts. The clock of the API server may say something else than both: what it says is compared with
other times of its own only.
"""

from __future__ import annotations

import msgspec


class Moment(msgspec.Struct, frozen=True):
    """`now_ns` is monotonic, `wall_ns` since 1970."""

    now_ns: int
    wall_ns: int

    def since_ns(self, earlier: Moment) -> int:
        """How much time has passed since an earlier one."""
        return max(self.now_ns - earlier.now_ns, self.wall_ns - earlier.wall_ns)
