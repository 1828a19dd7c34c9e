"""The kernel's reports of processes that it killed for lack of memory (`OomLog`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import msgspec

from runtime.io.pending import Subscription


class OomKill(msgspec.Struct, frozen=True):
    """One process that was killed.

    `node_wide`: the machine had no memory left; otherwise a group of processes was at its limit. `cgroup`: the group of
    the victim; `limited`: the group at its limit. Each is empty if the kernel did not tell.
    """

    pid: int
    process: str
    node_wide: bool
    cgroup: str = ""
    limited: str = ""


class OomLog(Protocol):
    def follow(self, on_kill: Callable[[OomKill], None], on_end: Callable[[str], None]) -> Subscription:
        """Report every kill from now on. Earlier followers get no more reports.

        Raises OSError if the kernel's log cannot be read.

        Both callbacks run on a thread of the implementation, one at a time, and must return at once. `on_end` is called
        with the reason when the log ends, but not after `close`.
        """
