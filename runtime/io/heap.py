"""Gives memory that is free back to the machine.

After a burst, Python and the C library keep what they have got: objects in rings wait for a collection that a quiet
process never makes, and free pieces stay in the heap. Both take some milliseconds for each 100 MiB, so this is for the
end of a burst and not for every day. It does nothing where the C library is not glibc.
"""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable
from functools import cache


def give_back() -> None:
    """See the module. Any thread."""
    gc.collect()
    _trim()(0)


@cache
def _trim() -> Callable[[int], object]:
    try:
        found = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError):
        return lambda _: None
    return lambda pad: found(pad)
