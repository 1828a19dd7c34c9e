"""Objects in reference cycles (rings), in processes that simulate.

Reference counts free nearly all objects of a simulation. A pass of the garbage collector over millions of live objects
takes seconds and finds a few thousand in rings. So passes are rare.
"""

from __future__ import annotations

import atexit
import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def few_collections(grown_by: int = 5_000_000) -> Iterator[None]:
    """Collect garbage seldom for the time of a block, and once at its start.

    `grown_by`: how many new objects start a pass. 100,000 objects in reference cycles take some 15 MB until then.
    """
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    look_seldom_for_rings(grown_by)
    try:
        yield
    finally:
        gc.freeze()  # move all objects to the oldest generation: otherwise the next allocation starts a pass over them
        gc.set_threshold(*before)
        gc.unfreeze()


def look_seldom_for_rings(grown_by: int) -> None:
    """Collect garbage seldom from now on; `grown_by` as above."""
    gc.set_threshold(grown_by, 20, 100)


def leave_rings_at_exit() -> None:
    """Skip the two garbage collections at exit: the memory is freed with the process."""
    atexit.unregister(gc.freeze)
    atexit.register(gc.freeze)
