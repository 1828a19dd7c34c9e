"""How much work something is, in calls or in lines: the same on every machine, idle or busy."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def calls_of(work: Callable[[], object]) -> int:
    """Do it; how many Python functions were called in this thread."""
    calls = 0

    def count(_: FrameType, event: str, __: object) -> None:
        nonlocal calls
        calls += event == "call"

    before, collects = sys.getprofile(), gc.isenabled()
    gc.disable()  # what a collection calls would be counted
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
        if collects:
            gc.enable()
    return calls


def lines_of(work: Callable[[], object]) -> int:
    """Do it; how many lines of Python were run in this thread, each round of a loop anew."""
    lines = 0

    def count(_: FrameType, event: str, __: object) -> Any:
        nonlocal lines
        lines += event == "line"
        return count

    before, collects = sys.gettrace(), gc.isenabled()
    gc.disable()  # what a collection calls would be counted
    sys.settrace(count)
    try:
        work()
    finally:
        sys.settrace(before)
        if collects:
            gc.enable()
    return lines
