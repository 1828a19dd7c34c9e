"""The most that the containers of a pod have at one time. Pure."""

from __future__ import annotations

from collections.abc import Iterable


def peak(amounts: Iterable[tuple[bool, int]]) -> int:
    """Of (ends before the next begins, amount) for each container, in the order in which they start.

    An init container runs together with the sidecars before it, and no other.
    """
    lasting = first = 0
    for ends_first, amount in amounts:
        if ends_first:
            first = max(first, lasting + amount)
        else:
            lasting += amount
    return max(first, lasting)
