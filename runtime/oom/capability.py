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
        """Tell of every kill from now on, and no more those who have followed before.

        Raises OSError where that cannot be heard.

        Both are called on a thread of the implementation, one at a time: hand over and return. `on_end` comes when
        there will be no more, with the reason, and not after a `close`.
        """
