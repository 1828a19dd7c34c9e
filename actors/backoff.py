"""Crash-loop back-off: how long a container that exited waits before it runs again (spec 2.1, 3.5). Pure.

The first restart is at once, the next ones wait 10, 20, 40 ... 300 s after the container's end. A container that has
run for 600 s since the last of these starts anew. What is remembered is small, and where it is lost (the agent
restarted) it is made again from the restart count that the runtime keeps: a crash loop does not begin at zero because
the agent did.
"""

from __future__ import annotations

import msgspec

from actors.observed import ObservedContainer

SECOND_NS = 1_000_000_000
INITIAL_NS = 10 * SECOND_NS
MAX_NS = 300 * SECOND_NS
RESET_NS = 600 * SECOND_NS


class BackoffLimits(msgspec.Struct, frozen=True):
    """`crashLoopBackOff.maxContainerRestartPeriod` lowers both (spec 2.1)."""

    initial_ns: int = INITIAL_NS
    max_ns: int = MAX_NS

    @classmethod
    def with_maximum(cls, max_ns: int) -> BackoffLimits:
        return cls(min(INITIAL_NS, max_ns), max_ns)


class Backoff(msgspec.Struct, frozen=True):
    """What is remembered of one container: the delay for its next exit, and when (ns since 1970) that was set."""

    delay_ns: int
    set_at_ns: int


def remembered_or_derived(memory: Backoff | None, exited: ObservedContainer, limits: BackoffLimits) -> Backoff | None:
    """The memory, or what it must have been: the n-th restart set `initial * 2**(n-1)` when it started the container."""
    if memory is not None:
        return memory
    if exited.restart_count == 0:
        return None
    exponent = min(exited.restart_count - 1, 30)
    started_ns = exited.started_at_ns or exited.created_at_ns
    return Backoff(min(limits.initial_ns << exponent, limits.max_ns), started_ns)


def waits_until_ns(memory: Backoff | None, exited: ObservedContainer) -> int:
    """When (ns since 1970) a container that exited may start again; 0 for at once."""
    if memory is None or exited.finished_at_ns - memory.set_at_ns > RESET_NS:
        return 0
    return exited.finished_at_ns + memory.delay_ns


def advanced(memory: Backoff | None, exited: ObservedContainer, now_ns: int, limits: BackoffLimits) -> Backoff:
    """What to remember when the container is started again now."""
    if memory is None or exited.finished_at_ns - memory.set_at_ns > RESET_NS:
        return Backoff(limits.initial_ns, now_ns)
    return Backoff(min(2 * memory.delay_ns, limits.max_ns), now_ns)
