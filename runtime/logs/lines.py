"""Lines of a container's log, as runtimes write them, and as people want to read them (spec 11.2).

Pure.

A runtime writes `<time> <stdout|stderr> <P|F> <text>`; P is a piece whose line goes on. The JSON of old Docker is read
as well. Other lines are left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

import msgspec

SECOND_NS = 10**9
STDOUT, STDERR = b"stdout", b"stderr"


class LogReadOptions(msgspec.Struct, frozen=True):
    """The options of a log. None: no such limit. `since_ns`: wall time; `stream`: one of `STDOUT`,
    `STDERR`.

    `tail_lines` counts lines of the file.
    """

    follow: bool = False
    timestamps: bool = False
    since_ns: int | None = None
    tail_lines: int | None = None
    limit_bytes: int | None = None
    stream: bytes | None = None


class LogLine(msgspec.Struct, frozen=True):
    """`text` with its end of line, when the line ends with it."""

    time: bytes
    stream: bytes
    text: bytes


class LineWriter:
    """Makes what is shown out of lines, in their order. `full`: the limit has been reached."""

    def __init__(self, options: LogReadOptions) -> None:
        self._options = options
        self._left = options.limit_bytes
        self._at_start = True
        self.full = options.limit_bytes == 0

    def shown(self, lines: Iterable[bytes]) -> bytes:
        """The shown text of these lines, which have no line end."""
        options = self._options
        parts: list[bytes] = []
        since_ns = options.since_ns
        for raw in lines:
            line = line_of(raw)
            if line is None or (options.stream is not None and line.stream != options.stream):
                continue
            if since_ns is not None and (written_ns := time_ns(line.time)) is not None and written_ns < since_ns:
                continue
            if options.timestamps and self._at_start:
                parts += (_nine_digits(line.time), b" ")
            parts.append(line.text)
            self._at_start = line.text.endswith(b"\n")
        return self._limited(b"".join(parts))

    def _limited(self, data: bytes) -> bytes:
        if self._left is None:
            return data
        data = data[: self._left]
        self._left -= len(data)
        self.full = self._left == 0
        return data


def line_of(raw: bytes) -> LogLine | None:
    """Parse one line of a file; None for an invalid line."""
    parts = raw.split(b" ", 3)
    if len(parts) >= 3 and parts[1] in (STDOUT, STDERR):
        text = parts[3] if len(parts) == 4 else b""
        whole = parts[2].split(b":", 1)[0] != b"P"
        return LogLine(parts[0], parts[1], text + b"\n" if whole else text)
    return _docker_line(raw) if raw.startswith(b"{") else None


class _DockerLine(msgspec.Struct):
    log: str = ""
    stream: str = ""
    time: str = ""


_DOCKER = msgspec.json.Decoder(_DockerLine)


def _docker_line(raw: bytes) -> LogLine | None:
    try:
        line = _DOCKER.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):  # a container wrote it: it may be anything
        return None
    return LogLine(line.time.encode(), line.stream.encode(), line.log.encode())


def time_ns(text: bytes | str) -> int | None:
    """A time of RFC 3339 with up to nine digits of a second; None for what is none."""
    if isinstance(text, bytes):
        text = text.decode("latin-1")
    head, dot, rest = text.partition(".")
    digits = len(rest) - len(rest.lstrip("0123456789")) if dot else 0
    zone = rest[digits:] if dot else ""
    try:
        moment = datetime.fromisoformat(head + zone)
    except ValueError:
        return None
    if moment.tzinfo is None or (dot and not digits):
        return None
    since_epoch = moment - datetime(1970, 1, 1, tzinfo=UTC)
    seconds = since_epoch.days * 86400 + since_epoch.seconds
    return seconds * SECOND_NS + int((rest[:digits] + "0" * 9)[:9])


def _nine_digits(time: bytes) -> bytes:
    """The time with a fraction that is as long as in all lines."""
    head, dot, rest = time.partition(b".")
    if not dot:
        at = next((i for i, each in enumerate(time) if i > 10 and each in b"Z+-"), len(time))
        return time[:at] + b".000000000" + time[at:]
    digits = len(rest) - len(rest.lstrip(b"0123456789"))
    return head + b"." + rest[:digits].ljust(9, b"0") + rest[digits:]
