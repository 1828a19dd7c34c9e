"""The order in which pending resizes are tried (spec 10.16). Pure.

First those that ask for no more than they have: they always fit, and make room. Then pods of higher priority, then
guaranteed ones, then those that have waited for longest. The UID decides among equals.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from actors.model.allocation import Allocation
from config.pods.identity import QosClass

GROWING = ("cpu", "memory")


class Waiting(msgspec.Struct, frozen=True):
    """A pending resize: what the pod has, what it asks for, and since when it waits (s since 1970)."""

    has: Allocation
    wanted: Allocation
    since_s: int


def in_turn(waiting: Iterable[Waiting]) -> tuple[Waiting, ...]:
    """All of them, the first to try first."""
    return tuple(sorted(waiting, key=_rank))


def grows(has: Allocation, wanted: Allocation) -> bool:
    """Whether the pod asks for more CPU or memory than it has."""
    return any(wanted.requests.get(each, 0) > has.requests.get(each, 0) for each in GROWING)


def _rank(each: Waiting) -> tuple[bool, int, bool, int, str]:
    guaranteed = each.wanted.qos is QosClass.GUARANTEED
    return grows(each.has, each.wanted), -(each.wanted.priority or 0), not guaranteed, each.since_s, each.wanted.uid
