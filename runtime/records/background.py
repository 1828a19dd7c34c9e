"""Writes a record on a thread of its own, so that nobody who records waits for a disk.

`note` only appends to a bounded queue. The thread takes what has come, a few times a second, has it encoded, and writes
it. If the queue is full, what comes is dropped, and the encoder is told so: it notes the gap and begins anew.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from typing import Any, Protocol

from runtime.records.ring import SegmentRing

logger = logging.getLogger("actorlet.record")

EVERY_S = 0.2
SYNC_EVERY_S = 1.0
ENTRIES_AT_MOST = 200_000
BATCH_AT_MOST = 20_000


class RecordEncoder(Protocol):
    """Makes bytes of entries. One thread calls it."""

    def header(self) -> bytes:
        """The header of the next segment. What comes next must be readable without the segments before."""

    def payload(self, entries: list[Any]) -> bytes:
        """The entries as bytes."""

    def lost(self, why: str) -> Any:
        """The entry that says that something is missing from here on."""


class BackgroundRecording:
    """See the module. `start` once, `close` once."""

    def __init__(self, ring: SegmentRing, encoder: RecordEncoder, entries_at_most: int = ENTRIES_AT_MOST) -> None:
        self._ring = ring
        self._encoder = encoder
        self._queue: deque[Any] = deque()
        self._at_most = entries_at_most
        self._wake = threading.Event()
        self._closing = False
        self._is_over = False
        """Nothing is recorded any more."""
        self._dropped = False
        self._thread = threading.Thread(target=self._work, name="record", daemon=True)
        self.written_bytes = 0
        """Payload, before compression."""

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()

    def note(self, entry: Any) -> None:
        """Record this entry, the next in order. Never waits and never raises. One thread at a time calls it."""
        if self._is_over:
            return
        if len(self._queue) >= self._at_most:
            self._dropped = self._is_over = True
            return
        self._queue.append(entry)

    def close(self, timeout_s: float = 10.0) -> None:
        """Write what has come, and end. A disk that hangs is left behind."""
        self._closing = True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(timeout_s)

    def _work(self) -> None:
        synced_s = time.monotonic()
        try:
            while True:
                closing = self._closing
                if not closing:
                    self._wake.wait(EVERY_S)
                if self._write_all() and time.monotonic() - synced_s >= SYNC_EVERY_S:
                    self._ring.sync()
                    synced_s = time.monotonic()
                if closing:
                    return
        except Exception as failure:
            self._is_over = True
            self._queue.clear()
            logger.error("nothing is recorded any more: %s", failure)
        finally:
            self._ring.close()

    def _write_all(self) -> bool:
        """Write what has come. False when it was nothing."""
        wrote = False
        while self._queue or self._dropped:
            batch = [self._queue.popleft() for _ in range(min(len(self._queue), BATCH_AT_MOST))]
            if not self._queue and self._dropped:
                self._dropped = False
                why = "more was to be recorded than the disk took"
                logger.error("nothing is recorded any more: %s", why)
                batch.append(self._encoder.lost(why))
            if self._ring.is_full():
                self._ring.begin(self._encoder.header())
            payload = self._encoder.payload(batch)
            self._ring.add(payload)
            self.written_bytes += len(payload)
            wrote = True
        return wrote
