"""How much work something is, in calls or in lines: the same on every machine, idle or busy."""

from __future__ import annotations

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

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return calls


def lines_of(work: Callable[[], object]) -> int:
    """Do it; how many lines of Python were run in this thread, each round of a loop anew."""
    lines = 0

    def count(_: FrameType, event: str, __: object) -> Any:
        nonlocal lines
        lines += event == "line"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        work()
    finally:
        sys.settrace(before)
    return lines
