"""The signals that end a long-running command, which waits for them with `sigwait`.

They are blocked before any thread starts. All threads inherit that, so no other thread gets one.
"""

from __future__ import annotations

import signal
from collections.abc import Collection, Iterator
from contextlib import contextmanager

ENDING = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP})


@contextmanager
def blocking(signals: Collection[signal.Signals] = ENDING) -> Iterator[None]:
    """Block these signals as long as the context, or the decorated function, runs."""
    blocked_before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked_before)
