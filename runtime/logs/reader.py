"""Reads one container's log from the first wanted line to the last, and follows it.

A rotated log counts as one log: `0.log.<time>` and `0.log.<time>.gz`, oldest first, then `0.log`. A follower loses
nothing at a rotation: it reads the open file to its end, then the next one. Memory is bounded by a chunk and a line.
Every method does disk work, and raises OSError.
"""

from __future__ import annotations

import os
import re
import sys
import zlib
from collections import deque

from runtime.logs.files import GZIP
from runtime.logs.lines import LineWriter, LogReadOptions
from runtime.logs.source import LogSource, OpenLog

CHUNK_BYTES = 64 * 1024
STEP_BYTES = 1 << 20
"""Bytes per read while no line is shown. The waiting caller sees that the disk answers, and may leave."""
LINE_BYTES_AT_MOST = 1 << 20
"""Runtimes break lines long before. Longer lines are cut, to bound memory."""
TRIES = 10
"""Attempts to open the files between two rotations."""
_GZIP_WINDOW = 31
_ROTATED = r"\.\d{8}-\d{6}(\.gz)?"


class _Plain:
    def __init__(self, log: OpenLog) -> None:
        self.log = log
        self._offset = 0

    def read(self) -> bytes:
        data = self.log.read(self._offset, CHUNK_BYTES)
        self._offset += len(data)
        return data

    def keep_last(self, lines: int) -> int:
        """Begin at the last `lines` lines; return how many there are."""
        size = self.log.size()
        self._offset = 0
        # The last byte ends the last line, or is part of it: that line is found.
        found, at = min(size, 1), size - 1
        while at > 0:
            start = max(0, at - CHUNK_BYTES)
            block = self.log.read(start, at - start)
            end = len(block)
            while (newline := block.rfind(b"\n", 0, end)) >= 0:
                if found == lines:
                    self._offset = start + newline + 1
                    return lines
                found += 1
                end = newline
            at = start
        return found

    def skip_all(self) -> None:
        self._offset = self.log.size()

    def close(self) -> None:
        self.log.close()


class _Packed:
    def __init__(self, log: OpenLog) -> None:
        self.log = log
        self._skip = 0
        self._rewind()

    def _rewind(self) -> None:
        self._offset = 0
        self._unpacker = zlib.decompressobj(_GZIP_WINDOW)

    def read(self) -> bytes:
        while not self._unpacker.eof:
            packed = self._unpacker.unconsumed_tail or self._next()
            if not packed:
                return b""
            try:
                data = self._unpacker.decompress(packed, CHUNK_BYTES)
            except zlib.error as error:
                raise OSError(f"a rotated log cannot be unpacked: {error}") from None
            data = self._after_skipped(data)
            if data:
                return data
        return b""

    def keep_last(self, lines: int) -> int:
        total, last = 0, b"\n"
        while data := self.read():
            total += data.count(b"\n")
            last = data[-1:]
        total += last != b"\n"
        self._rewind()
        self._skip = max(0, total - lines)
        return min(total, lines)

    def skip_all(self) -> None:
        self._skip = sys.maxsize

    def close(self) -> None:
        self.log.close()

    def _next(self) -> bytes:
        packed = self.log.read(self._offset, CHUNK_BYTES)
        self._offset += len(packed)
        return packed

    def _after_skipped(self, data: bytes) -> bytes:
        at = 0
        while self._skip and (newline := data.find(b"\n", at)) >= 0:
            self._skip -= 1
            at = newline + 1
        return b"" if self._skip else data[at:]


class LogReader:
    """Call `open` first and `close` last; between them, one thread at a time."""

    def __init__(self, source: LogSource, path: str, container_id: str, options: LogReadOptions) -> None:
        self._source = source
        self._path = path
        self._container_id = container_id
        self._options = options
        self._writer = LineWriter(options)
        self._parts: deque[_Plain | _Packed] = deque()
        self._newest = ""
        """The name of the newest known rotated log."""
        self._rest = b""

    @property
    def full(self) -> bool:
        """Whether the limit of the output is reached."""
        return self._writer.full

    def open(self) -> None:
        """Open the files, and go to the first wanted line."""
        self._path = self._source.find(self._path, self._container_id)
        for _ in range(TRIES):
            names = self._rotated()
            if self._opened(names) and names == self._rotated():
                break
            self.close()
        else:
            raise OSError("its files change faster than they can be opened")
        if self._options.tail_lines is not None:
            self._keep_last(self._options.tail_lines)

    def read(self) -> bytes | None:
        """The next piece of output.

        Empty: nothing of the read part is shown. None: the end of the log for now.
        """
        read_bytes = 0
        while self._parts and not self.full:
            if read_bytes >= STEP_BYTES:
                return b""
            data = self._parts[0].read()
            read_bytes += len(data)
            if data:
                shown = self._shown(data)
                if shown:
                    return shown
            elif len(self._parts) > 1:
                self._parts.popleft().close()
                # A line without an end in this file does not continue in the next.
                shown = self._flushed()
                if shown:
                    return shown
            elif not (self._options.follow and self._advance()):
                break
        return None

    def finish(self) -> bytes:
        """The start of a line that will never be completed."""
        return b"" if self.full else self._flushed()

    def close(self) -> None:
        while self._parts:
            self._parts.popleft().close()

    def _opened(self, names: list[str]) -> bool:
        """Open `names` and the log itself. False when one of them is gone."""
        try:
            for name in names:
                self._parts.append(self._part(name))
        except FileNotFoundError:
            return False
        try:
            self._parts.append(_Plain(self._source.open(self._path)))
            before = names
        except FileNotFoundError:
            # After a rotation there is no log until the runtime makes a new one.
            if not names:
                raise
            before = names[:-1]
        self._newest = _time_name(before[-1]) if before else ""
        return True

    def _shown(self, data: bytes) -> bytes:
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > LINE_BYTES_AT_MOST:
            lines.append(self._rest)
            self._rest = b""
        return self._writer.shown(lines)

    def _flushed(self) -> bytes:
        rest, self._rest = self._rest, b""
        return self._writer.shown((rest,)) if rest else b""

    def _keep_last(self, lines: int) -> None:
        left, kept = lines, deque[_Plain | _Packed]()
        while self._parts:
            part = self._parts.pop()
            if left > 0:
                left -= part.keep_last(left)
                kept.appendleft(part)
            elif not kept:
                part.skip_all()
                kept.appendleft(part)
            else:
                part.close()
        self._parts = kept

    def _advance(self) -> bool:
        """Whether the log has continued in a new file. Rotated ones in between, and the new one, are opened."""
        last = self._parts[-1].log.identity
        current = self._source.identity(self._path)
        if current is None or current == last:
            return False
        fresh = [name for name in self._rotated() if _time_name(name) > self._newest]
        # The oldest is the file that we have read, unless it was deleted. A compressed one cannot be compared; assume
        # it is.
        if fresh and (fresh[0].endswith(GZIP) or self._source.identity(self._beside(fresh[0])) == last):
            following = fresh[1:]
        else:
            following = fresh
        opened: list[_Plain | _Packed] = []
        try:
            for name in following:
                opened.append(self._part(name))
            opened.append(_Plain(self._source.open(self._path)))
        except FileNotFoundError:
            for part in opened:
                part.close()
            return False  # rotated at this moment: the next look finds it in order
        self._parts.extend(opened)
        self._newest = _time_name(fresh[-1]) if fresh else self._newest
        return True

    def _rotated(self) -> list[str]:
        """Names of rotated logs, oldest first, each in one form."""
        # Docker's own rotated files are `.1`, `.2`: they are not read.
        shape = re.compile(re.escape(os.path.basename(self._path)) + _ROTATED)
        names = [name for name in self._source.names_beside(self._path) if shape.fullmatch(name)]
        packed = {name for name in names if name.endswith(GZIP)}
        return sorted(name for name in names if name + GZIP not in packed)

    def _part(self, name: str) -> _Plain | _Packed:
        log = self._source.open(self._beside(name))
        return _Packed(log) if name.endswith(GZIP) else _Plain(log)

    def _beside(self, name: str) -> str:
        return os.path.join(os.path.dirname(self._path), name)


def _time_name(name: str) -> str:
    return name.removesuffix(GZIP)
