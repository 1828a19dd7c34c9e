"""Reading an answer: bytes go in, a status, a location and the beginning of a body come out. Pure (RFC 9112).

No more is understood than a caller needs that closes the connection afterwards: how long the head is, what ends the
body, and no compression. An answer is over when its body is, or when as much of it is there as is shown. One that ends
before that, or is not HTTP, is a `BadAnswerError`.
"""

from __future__ import annotations

import re

HEAD_BYTES = 64 * 1024
"""A head that is longer is no head."""
_STATUS_LINE = re.compile(rb"HTTP/1\.[01] (\d{3})(?: |$)")
_END_OF_HEAD = re.compile(rb"\r?\n\r?\n")
_SHOWN = 64
_SWITCHING_PROTOCOLS = 101
_WITHOUT_BODY = frozenset({_SWITCHING_PROTOCOLS, 204, 304})


class BadAnswerError(ValueError):
    """What came is no whole answer."""


class AnswerReader:
    """Reads one answer, of whose body at most `limit` bytes are kept."""

    __slots__ = ("_chunk", "_chunked", "_data", "_left", "_limit", "body", "complete", "location", "status")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._data = b""
        self._left: int | None = None
        self._chunked = False
        self._chunk = 0
        self.status = 0
        """0 until the head is there."""
        self.location = ""
        self.body = b""
        self.complete = False

    def feed(self, data: bytes) -> bool:
        """Take in what has come; whether it was the last that is needed. Raises BadAnswerError."""
        self._data += data
        while not self.status:
            if not self._read_head():
                return False
        if not self.complete:
            if self._chunked:
                self._read_chunks()
            else:
                self._read_body()
        return self.complete

    def end(self) -> None:
        """The other side has closed. Raises BadAnswerError where more was to come."""
        if self.complete or (self.status and self._left is None and not self._chunked):
            self.complete = True
            return
        raise BadAnswerError("unexpected EOF" if self.status or self._data else "EOF")

    # --- the head ---------------------------------------------------------------------------------------------------

    def _read_head(self) -> bool:
        """Whether a head was there. Those that only say that another will come leave the status at 0."""
        end = _END_OF_HEAD.search(self._data)
        if end is None:
            if len(self._data) > HEAD_BYTES:
                raise BadAnswerError(f"server response headers exceeded {HEAD_BYTES} bytes")
            first, newline, _ = self._data.partition(b"\n")
            if newline:
                _status_of(first)  # what is no answer need not be waited for
            return False
        status_line, *lines = self._data[: end.start()].split(b"\n")
        self._data = self._data[end.end() :]
        status = _status_of(status_line)
        if status < 200 and status != _SWITCHING_PROTOCOLS:
            return True
        self._read_fields(lines)
        self.status = status
        if status in _WITHOUT_BODY:
            self.complete = True
        return True

    def _read_fields(self, lines: list[bytes]) -> None:
        for line in lines:
            name, colon, value = line.partition(b":")
            if not colon:
                raise BadAnswerError(f"malformed MIME header line: {_shown(line)}")
            name, value = name.strip().lower(), value.strip()
            if name == b"content-length":
                if not value.isdigit():
                    raise BadAnswerError(f"bad Content-Length {_shown(value)}")
                self._left = int(value)
            elif name == b"transfer-encoding":
                self._chunked = value.lower().endswith(b"chunked")
            elif name == b"location":
                self.location = value.decode(errors="replace")

    # --- the body ---------------------------------------------------------------------------------------------------

    def _read_body(self) -> None:
        data, self._data = self._data, b""
        if self._left is not None:
            data = data[: self._left]
            self._left -= len(data)
        self._keep(data)
        if self._left == 0:
            self.complete = True

    def _read_chunks(self) -> None:
        while not self.complete:
            if self._chunk:
                part, self._data = self._data[: self._chunk], self._data[self._chunk :]
                self._chunk -= len(part)
                self._keep(part)
                if self._chunk:
                    return
            size, newline, rest = self._data.lstrip(b"\r\n").partition(b"\n")
            if not newline:
                if len(size) > HEAD_BYTES:
                    raise BadAnswerError("malformed chunked encoding")
                return
            try:
                self._chunk = int(size.partition(b";")[0].strip(), 16)
            except ValueError:
                raise BadAnswerError(f"malformed chunked encoding: {_shown(size)}") from None
            self._data = rest
            if not self._chunk:
                self.complete = True  # what may come after the last chunk is of no interest

    def _keep(self, data: bytes) -> None:
        self.body += data[: self._limit - len(self.body)]
        if len(self.body) >= self._limit:
            self.complete = True


def _status_of(line: bytes) -> int:
    found = _STATUS_LINE.match(line.rstrip(b"\r"))
    if found is None:
        raise BadAnswerError(f"malformed HTTP response {_shown(line)}")
    return int(found[1])


def _shown(data: bytes) -> str:
    return f'"{data.strip()[:_SHOWN].decode(errors="replace")}"'
