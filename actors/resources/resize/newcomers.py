"""Which pods of the node are yet to be admitted, and what they ask for. Pure.

A kubelet admits a pod when it hears of it. Here a pod may wait before that: for its turn in a burst, or for its first
look at the runtime. Its room must not be granted to a pod that grows meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress

from actors.messages.eviction import PodHere
from actors.model.allocation import Allocation, Book, allocation_of
from config.values.quantity import QuantityError


def newcomers(pods: Iterable[PodHere], book: Book) -> tuple[PodHere, ...]:
    """The pods that are yet to be admitted.

    They are not in the book, not rejected, not ended and not to be deleted.
    """
    return tuple(each for each in pods if each.pod.metadata.uid not in book and _is_to_start(each))


def _is_to_start(each: PodHere) -> bool:
    is_over = each.released or each.finished or each.turned_away or each.has_ended()
    return not is_over and each.pod.metadata.deletion_timestamp is None


def allocations_of(pods: Iterable[PodHere]) -> Iterator[Allocation]:
    """What these pods ask for. One whose amounts cannot be read gets nothing: it is rejected."""
    for each in pods:
        with suppress(QuantityError):
            yield allocation_of(each.pod)
