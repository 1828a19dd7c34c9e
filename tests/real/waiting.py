"""Waiting for the real world, which cannot be told to hurry: look, and look again soon, up to a limit."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Event

_NEVER = Event()
BUSY = 4
"""Limits are for a machine at rest.

One whose cores are busy gets so many times as long; nothing is judged by it.
"""
LEAST_S = 30.0
"""No limit is shorter: it costs time only when a test fails."""


def pass_by(seconds: float) -> None:
    """Let so much time go by."""
    end = time.monotonic() + seconds
    until(lambda: time.monotonic() >= end, seconds, "time stands still")


def until(holds: Callable[[], object], limit_s: float, otherwise: str | Callable[[], str]) -> None:
    """Return as soon as `holds()` is true.

    After `limit_s` seconds, times `BUSY`, fail with the text of `otherwise`.
    """
    limit_s = max(limit_s, LEAST_S) * BUSY
    end = time.monotonic() + limit_s
    while not holds():
        if time.monotonic() > end:
            why = otherwise if isinstance(otherwise, str) else otherwise()
            raise AssertionError(f"not within {limit_s:g} s: {why}")
        _NEVER.wait(0.02)
