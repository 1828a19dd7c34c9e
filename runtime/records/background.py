"""Writes a record on a thread of its own, so that nobody who records waits for a disk.

`note` only appends to a bounded queue. The thread takes what has come, a few times a second, has it encoded, and writes
it. If the queue is full, what comes is dropped, and the encoder is told so: it notes the gap, and nothing more comes
until somebody begins another run.
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


WHY_GAP = "more was to be recorded than the disk took"


class _Gap:
    """In the queue: what came here was dropped."""


class _Run:
    """In the queue: what follows is of another run."""

    __slots__ = ("encoder",)

    def __init__(self, encoder: RecordEncoder) -> None:
        self.encoder = encoder


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
        self._thread = threading.Thread(target=self._work, name="record", daemon=True)
        self.written_bytes = 0
        """Payload, before compression."""
        self.run_bytes = 0
        """What the run has on the disk, or had there."""
        self._first_segment = 0
        self._has_begin = True

    def start(self) -> None:
        """Begin to write."""
        self._thread.start()

    def note(self, entry: Any) -> None:
        """Record this entry, the next in order. Never waits and never raises. One thread at a time calls it."""
        if self._is_over:
            return
        if len(self._queue) >= self._at_most:
            self._queue.append(_Gap())
            self._is_over = True
            return
        self._queue.append(entry)

    def has_gap(self) -> bool:
        """Whether nothing is recorded until another run begins, which it may now."""
        return self._is_over and not self._queue and self._thread.is_alive()

    def begin(self, encoder: RecordEncoder) -> None:
        """What is noted from here on is another run, with segments of its own."""
        if self._thread.is_alive():
            self._queue.append(_Run(encoder))
            self._is_over = False
            self.run_bytes = 0

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
        while self._queue:
            batch, run = self._take()
            if batch:
                self._write(batch)
                wrote = True
            if run is not None:
                self._encoder = run.encoder
                self.run_bytes = 0
                self._ring.end_segment()
        return wrote

    def _take(self) -> tuple[list[Any], _Run | None]:
        """The next entries of a run, and the run that begins after them."""
        batch: list[Any] = []
        while self._queue and len(batch) < BATCH_AT_MOST:
            entry = self._queue.popleft()
            if type(entry) is _Run:
                return batch, entry
            if type(entry) is _Gap:
                logger.error("nothing is recorded from here on: %s", WHY_GAP)
                entry = self._encoder.lost(WHY_GAP)
            batch.append(entry)
        return batch, None

    def _write(self, batch: list[Any]) -> None:
        ring = self._ring
        if ring.is_full():
            ring.begin(self._encoder.header())
            if self.run_bytes == 0:
                self._first_segment, self._has_begin = ring.number, True
        payload = self._encoder.payload(batch)
        self.run_bytes += ring.add(payload)
        self.written_bytes += len(payload)
        if self._has_begin and ring.oldest() > self._first_segment:
            self._has_begin = False
            logger.warning("the beginning of this run made room for what came later; what is left cannot be played")
