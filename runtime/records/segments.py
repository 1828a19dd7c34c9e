"""One file of a record: a segment.

Its format, from the first byte (`docs/reference/records.md`):

    magic       17 bytes, `MAGIC`
    frame 0     the header: a MessagePack map, not compressed
    frame 1...  pieces of one zlib stream (RFC 1950); each ends with a full byte (Z_SYNC_FLUSH)

A frame is its length (4 bytes), the CRC-32 of its data (4 bytes), both big-endian, and the data. A frame is written in
one call. So a file that was cut off anywhere is good up to its last whole frame; the rest is `torn`.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

MAGIC = b"actorlet-record 1"
_HEAD = struct.Struct(">II")
FRAME_AT_MOST_BYTES = 64 << 20
"""A longer frame is damage."""
LEVEL = 3
"""Of zlib. Higher ones save a tenth of the disk for twice the CPU."""


class SegmentError(ValueError):
    """The file is no segment, or nothing of it can be read. The text has no path."""


def frame_of(data: bytes) -> bytes:
    """The data as a frame."""
    return _HEAD.pack(len(data), zlib.crc32(data)) + data


class SegmentEncoder:
    """Makes the bytes of one segment: `begin`, then `piece` for each payload."""

    def __init__(self) -> None:
        self._stream = zlib.compressobj(LEVEL)

    def begin(self, header: bytes) -> bytes:
        """The beginning of the file."""
        return MAGIC + frame_of(header)

    def piece(self, payload: bytes) -> bytes:
        """A frame with the payload."""
        return frame_of(self._stream.compress(payload) + self._stream.flush(zlib.Z_SYNC_FLUSH))


@dataclass(slots=True)
class SegmentReader:
    """Reads one segment.

    `torn` is set at the end: why the file does not end with a whole frame; empty if it does.
    """

    file: IO[bytes]
    header: bytes = b""
    torn: str = ""

    def begin(self) -> bytes:
        """The header. Raises SegmentError."""
        if self.file.read(len(MAGIC)) != MAGIC:
            raise SegmentError("this is no record of actorlet, or one of another format")
        header = self._frame()
        if header is None:
            raise SegmentError(f"the record has no beginning: {self.torn or 'it is empty'}")
        self.header = header
        return header

    def payloads(self) -> Iterator[bytes]:
        """The payloads in order, up to the first frame that is not whole."""
        stream = zlib.decompressobj()
        while (data := self._frame()) is not None:
            try:
                yield stream.decompress(data)
            except zlib.error as failure:
                self.torn = f"a frame cannot be unpacked: {failure}"
                return

    def _frame(self) -> bytes | None:
        head = self.file.read(_HEAD.size)
        if not head:
            return None
        if len(head) < _HEAD.size:
            self.torn = "the last frame was cut off"
            return None
        length, checksum = _HEAD.unpack(head)
        if length > FRAME_AT_MOST_BYTES:
            self.torn = "a frame is damaged"
            return None
        data = self.file.read(length)
        if len(data) < length:
            self.torn = "the last frame was cut off"
            return None
        if zlib.crc32(data) != checksum:
            self.torn = "a frame is damaged"
            return None
        return data
