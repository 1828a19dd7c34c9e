"""What this process takes of the machine's memory, at its peak: for tests of what an attack can cost."""

from __future__ import annotations

import gc
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


def resident_bytes() -> int:
    """What it takes now."""
    return _status("VmRSS")


def _status(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    [line] = [each for each in lines if each.startswith(f"{field}:")]
    return int(line.split()[1]) * 1024
