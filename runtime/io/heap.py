"""Gives memory that is free back to the machine, and keeps passes of the garbage collector few.

After a burst, Python and the C library keep their memory. Objects in reference cycles wait for a collection that a
quiet process never makes, and free pieces stay in the heap. Giving it back takes some milliseconds for each 100 MiB, so
it is done at the end of a burst and not all the time. It does nothing where the C library is not glibc.

A full pass of the collector looks at every object: 0.5 s with 5,000 pods, in which no other thread runs. Python's own
rule makes one each time the objects have grown by a quarter: a fifth of the CPU that 5,000 new pods take. So the agent
decides itself when one is due.
"""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

MIB = 2**20
_ARENAS_AT_MOST = -8
"""`M_ARENA_MAX` of mallopt(3)."""
WORTH_IT_BYTES = MIB
"""If the use has fallen by so much from its highest, a walk over the heap is worth it."""
AFTERWARDS = 3
"""How many looks after the end of a burst give memory back too.

The last objects of a burst go one by one, and each may free a page.
"""
YOUNG_OBJECTS = 10_000
"""So many new objects start a pass over them; it takes some 10 ms."""
_YOUNG_PASSES = 100
"""After so many come passes over the middle generation."""
_IN_RINGS = 2
"""After so many passes over new objects, a full one may find something."""
_MOVED_BYTES = 8 * MIB
"""If the use has changed by so much since the last full pass, a full one may free much in few objects.

What is said of a burst afterwards, by events and over connections, moves it by less than half of that between two
looks.
"""
GROWN = 1.5
"""A full pass is due when the use has grown by this factor since the last one."""


def collect_seldom() -> None:
    """Leave full passes to the `HeapKeeper`. For the start of a process that has one."""
    gc.set_threshold(YOUNG_OBJECTS, _YOUNG_PASSES, _YOUNG_PASSES)


def young_passes() -> int:
    """How many passes over new objects there were since the last full pass."""
    _, young, middle = gc.get_count()
    return young + middle * gc.get_threshold()[1]


def share_one_heap() -> None:
    """Let all threads use one heap of the C library. Otherwise each has its own, with holes of its own.

    Python's threads take turns anyway. For the start of a process, before it has threads.
    """
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(_ARENAS_AT_MOST, 1)


def give_back() -> None:
    """Collect garbage and return free memory of the heap to the machine. Any thread."""
    gc.collect()
    _trim()(0)


@dataclass
class Ebb:
    """Tells when the use has fallen far enough below its highest since the last time."""

    highest: int = 0

    def has_come(self, in_use: int) -> bool:
        if in_use + WORTH_IT_BYTES <= self.highest:
            self.highest = in_use
            return True
        self.highest = max(self.highest, in_use)
        return False


@dataclass
class FullPasses:
    """Tells when a full pass over all objects is worth what it takes."""

    after_pass: int = 0
    before: int = 0

    def is_due(self, in_use: int, young: int) -> bool:
        """At a look. `in_use`: bytes; `young`: passes over new objects since the last full one.

        Due when the use has grown much, or when a growth has ended and may have left something. The objects of a pod
        with large texts are few: then the bytes tell that there is something new.
        """
        step, self.before = abs(in_use - self.before), in_use
        if abs(in_use - self.after_pass) >= _MOVED_BYTES and step < _MOVED_BYTES // 2:
            return True
        return young >= _IN_RINGS and (step < WORTH_IT_BYTES or in_use >= GROWN * self.after_pass)


class HeapKeeper:
    """Looks from time to time whether there is something to give back. One thread at a time."""

    def __init__(self) -> None:
        self._ebb = Ebb()
        self._passes = FullPasses(bytes_in_use())
        self._afterwards = 0

    def look(self) -> bool:
        """Whether memory was given back."""
        if self._passes.is_due(bytes_in_use(), young_passes()):
            gc.collect()
            self._passes.after_pass = bytes_in_use()
        if self._ebb.has_come(bytes_in_use()):
            self._afterwards = AFTERWARDS
        elif self._afterwards:
            self._afterwards -= 1
        else:
            return False
        _trim()(0)
        return True


def bytes_in_use() -> int:
    """The bytes in use in the heap of the C library; 0 if it does not tell."""
    counts = _counts()
    if counts is None:
        return 0
    found = counts()
    return int(found.small_used + found.mapped)


class _Counts(ctypes.Structure):
    """`struct mallinfo2` of mallinfo(3)."""

    _fields_ = (
        ("arena", ctypes.c_size_t),
        ("free_chunks", ctypes.c_size_t),
        ("fast_chunks", ctypes.c_size_t),
        ("mapped_regions", ctypes.c_size_t),
        ("mapped", ctypes.c_size_t),
        ("unused", ctypes.c_size_t),
        ("fast_free", ctypes.c_size_t),
        ("small_used", ctypes.c_size_t),
        ("free", ctypes.c_size_t),
        ("on_top", ctypes.c_size_t),
    )


@cache
def _counts() -> Callable[[], _Counts] | None:
    try:
        found = ctypes.CDLL(None).mallinfo2
    except (AttributeError, OSError):
        return None
    found.restype = _Counts
    return lambda: found()


@cache
def _trim() -> Callable[[int], object]:
    try:
        found = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError):
        return lambda _: None
    return lambda pad: found(pad)
