"""The segments of one folder, within a size: the oldest go first.

One process writes into a folder; a lock says so. Files have mode 0600 and rising numbers. A full disk is answered by
removing the oldest segments, and by a failure when there is nothing left to remove.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
from contextlib import suppress

from runtime.files.directories import make_directories
from runtime.records.segments import SegmentEncoder

SUFFIX = ".segment"
_NAME = re.compile(r"[0-9]{10}\.segment")
LOCK = "lock"
SEGMENTS = 16
"""The size of the ring is that of so many segments."""
SEGMENT_AT_LEAST_BYTES = 64 << 10
SIZE_AT_LEAST_BYTES = 1 << 20
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


class RingError(OSError):
    """The folder cannot be used; the text says why."""


def segments_of(folder: str) -> tuple[str, ...]:
    """The paths of the segments, oldest first. Raises OSError."""
    names = sorted(name for name in os.listdir(folder) if _NAME.fullmatch(name))
    return tuple(os.path.join(folder, name) for name in names)


def _number_of(path: str) -> int:
    return int(os.path.basename(path).partition(".")[0])


class SegmentRing:
    """Writes segments into `folder`, at most `size_bytes` in total.

    `open` first; `close` last. One thread uses it.
    """

    def __init__(self, folder: str, size_bytes: int) -> None:
        self.folder = os.path.abspath(folder)
        self.size_bytes = max(SIZE_AT_LEAST_BYTES, size_bytes)
        self._segment_bytes = max(SEGMENT_AT_LEAST_BYTES, self.size_bytes // SEGMENTS)
        self._lock = -1
        self._file = -1
        self.number = 0
        """Of the current segment, or of the last one."""
        self._written_bytes = 0
        self._encoder = SegmentEncoder()
        self._sizes: dict[str, int] = {}
        """Bytes of each segment by path, oldest first; the current one is the last."""
        self.removed = 0
        """How many old segments were removed."""

    def open(self) -> None:
        """Take the folder; it is made if it is missing. Raises RingError."""
        try:
            make_directories(self.folder, 0o700)
            self._lock = os.open(os.path.join(self.folder, LOCK), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise RingError(f"{self.folder} cannot be used for a record: {error.strerror}") from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.close()
            raise RingError(f"another agent records into {self.folder}; choose another folder, or stop it") from None
        for path in segments_of(self.folder):
            self._sizes[path] = os.path.getsize(path)
            self.number = _number_of(path)

    def is_full(self) -> bool:
        """Whether the current segment is large enough: begin the next one."""
        return self._file < 0 or self._written_bytes >= self._segment_bytes

    def begin(self, header: bytes) -> None:
        """Begin a segment. Raises OSError."""
        self.end_segment()
        self.number += 1
        path = os.path.join(self.folder, f"{self.number:010d}{SUFFIX}")
        self._make_room(self._segment_bytes)
        self._file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._sizes[path] = 0
        self._written_bytes = 0
        self._encoder = SegmentEncoder()
        self._write(self._encoder.begin(header))

    def add(self, payload: bytes) -> int:
        """Add a payload to the current segment; returns its size there.

        Raises OSError; then the segment is over.
        """
        piece = self._encoder.piece(payload)
        self._write(piece)
        return len(piece)

    def oldest(self) -> int:
        """The number of the oldest segment; that of the last one without any."""
        path = next(iter(self._sizes), None)
        return self.number if path is None else _number_of(path)

    def sync(self) -> None:
        """Have the disk take what was written: it survives a power cut then."""
        if self._file >= 0:
            with suppress(OSError):
                os.fdatasync(self._file)

    def close(self) -> None:
        """End the segment and let the folder go."""
        self.end_segment()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def end_segment(self) -> None:
        """What comes next begins another one."""
        if self._file >= 0:
            self.sync()
            os.close(self._file)
            self._file = -1

    def _write(self, data: bytes) -> None:
        left = memoryview(data)
        while left:
            try:
                written = os.write(self._file, left)
            except OSError as error:
                if error.errno not in _FULL or not self._remove_oldest():
                    self.end_segment()
                    raise
                continue
            left = left[written:]
            self._written_bytes += written
        self._sizes[next(reversed(self._sizes))] = self._written_bytes

    def _make_room(self, wanted_bytes: int) -> None:
        while sum(self._sizes.values()) + wanted_bytes > self.size_bytes and self._remove_oldest():
            pass

    def _remove_oldest(self) -> bool:
        """Remove the oldest segment but the current one. False without any."""
        path = next(iter(self._sizes), None)
        if path is None or (self._file >= 0 and len(self._sizes) == 1):
            return False
        del self._sizes[path]
        with suppress(FileNotFoundError):
            os.unlink(path)
        self.removed += 1
        return True
