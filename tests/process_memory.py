"""What this process takes of the machine's memory: for tests of what an attack can cost."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

_RESET_PEAK = "5"


@contextmanager
def peak_growth() -> Iterator[Callable[[], int]]:
    """Measure by how many bytes, at most, the process grows within the context."""
    gc.collect()
    Path("/proc/self/clear_refs").write_text(_RESET_PEAK)
    before, grown = resident_bytes(), 0

    def answer() -> int:
        return grown

    yield answer
    grown = _status("VmHWM") - before


@contextmanager
def objects_in_bytes() -> Iterator[Callable[[], int]]:
    """Measure, at each call, how many bytes of objects were made within the context and live on.

    The memory of the process would also tell what else the collector found, and how large its heap is.
    """

    def answer() -> int:
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        yield answer
    finally:
        tracemalloc.stop()


def resident_bytes() -> int:
    """What it takes now."""
    return _status("VmRSS")


def _status(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    [line] = [each for each in lines if each.startswith(f"{field}:")]
    return int(line.split()[1]) * 1024
