"""`MachineShutdown`: lets an actor hear of a shutdown of the machine, and delay it.

A holder has been promised a time. The hold ends with `release`, with the agent, or when that time is over. Then the
machine goes down, even if something still runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from runtime.io.pending import PendingAnswer


class MachineShutdownError(Exception):
    """The machine's shutdown cannot be delayed, or is not announced; the text says why."""


class Hold(Protocol):
    """A promise of the machine to wait. Calls return at once."""

    @property
    def delay_ns(self) -> int:
        """How long the machine waits at most, from the announcement of its shutdown."""

    @property
    def going_down(self) -> bool:
        """Whether the machine announced a shutdown before this hold: then it does not wait for the holder."""

    def release(self) -> None:
        """Let the machine go down. Its shutdowns are still announced."""

    def close(self) -> None:
        """End the hold and the announcements. May be called more than once."""


class MachineShutdown(Protocol):
    def hold(
        self, least_ns: int, wanted_ns: int, on_change: Callable[[bool], None], on_lost: Callable[[str], None]
    ) -> PendingAnswer[Hold]:
        """Make the machine wait when it goes down.

        If it would wait for less than `least_ns`, it is asked to wait for `wanted_ns`. It then waits as long as it
        allows. A second hold replaces the first.

        `on_change` gets True when a shutdown begins, and False when it is cancelled. `on_lost` is called once, when
        there will be no more announcements; the machine may still wait as promised. Both may come from any thread.
        Fails with MachineShutdownError.
        """
