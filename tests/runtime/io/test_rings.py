"""Processes that simulate collect garbage in reference cycles seldom, but do collect it."""

from __future__ import annotations

import gc
import weakref

from runtime.io.rings import few_collections


class Ring:
    """An object that only the garbage collector can free."""

    def __init__(self) -> None:
        self.itself = self


def test_rings_are_looked_for_when_there_are_as_many_objects_more_as_one_says():
    rings: weakref.WeakSet[Ring] = weakref.WeakSet()
    with few_collections(10_000):
        for _ in range(50_000):
            rings.add(Ring())
        assert len(rings) < 20_000


def test_garbage_left_at_the_end_is_collected_with_the_next_full_collection():
    rings: weakref.WeakSet[Ring] = weakref.WeakSet()
    with few_collections():
        rings.add(Ring())
    made = [[number] for number in range(3 * gc.get_threshold()[0])]
    assert made
    assert len(rings) == 1
    with few_collections():
        assert not rings
