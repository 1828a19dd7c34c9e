"""SPDY/3.1 as far as sessions of containers speak it: frames to bytes, and bytes to frames.

Pure, but for a compressor.

A client opens streams, each with a few headers, sends data on them and ends them. It receives data, ends of streams,
and pings to answer. The protocol has no flow control here: a slow reader simply gets no more on its connection. Headers
of answers are not needed, so they are not read, and as a server we send none.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

FRAME_BYTES = 8
_CONTROL = 0x80
_VERSION = 3
_SYN_STREAM, _SYN_REPLY, _RST_STREAM, _PING, _GOAWAY = 1, 2, 3, 6, 7
_FIN = 0x01
_STREAM_MASK = 0x7FFFFFFF
CONTROL_BYTES_AT_MOST = 64 * 1024

_WORDS = (
    "options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow "
    "authorization cache-control connection content-base content-encoding content-language content-length "
    "content-location content-md5 content-range content-type date etag expect expires from host if-match "
    "if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards pragma "
    "proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade "
    "user-agent vary via warning www-authenticate method get status"
)
_MORE_WORDS = ("200 OK", "version", "HTTP/1.1", "url", "public", "set-cookie", "keep-alive", "origin")
_REST = (
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505"
    "203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized"
    "403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 Service Unavailable"
    "Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT"
    "chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,"
    "text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0."
)
DICTIONARY = (
    b"".join(len(word).to_bytes(4, "big") + word.encode() for word in (*_WORDS.split(), *_MORE_WORDS)) + _REST.encode()
)
"""The dictionary that both sides know before the first header (draft 3, section 2.6.10.1)."""


@dataclass(frozen=True, slots=True)
class DataFrame:
    """The beginning of data: `length` bytes of it follow."""

    stream: int
    length: int
    last: bool


@dataclass(frozen=True, slots=True)
class ControlFrame:
    """`length` bytes follow; `meaning` reads them."""

    kind: int
    flags: int
    length: int


@dataclass(frozen=True, slots=True)
class SpdyStreamEnded:
    """The peer has ended a stream, in order or by a reset."""

    stream: int


@dataclass(frozen=True, slots=True)
class Pinged:
    """A ping, to be answered with `pong`."""

    payload: bytes


@dataclass(frozen=True, slots=True)
class GoneAway:
    """The peer sends nothing more."""


Meaning = SpdyStreamEnded | Pinged | GoneAway


class SpdyError(Exception):
    """The peer does not follow the protocol."""


class Opener:
    """Opens streams of one connection, as its client."""

    def __init__(self) -> None:
        self._packer = zlib.compressobj(level=6, zdict=DICTIONARY)
        self._next = 1

    def open(self, headers: Mapping[str, str]) -> tuple[int, bytes]:
        """The number of a new stream, and what to send for it."""
        stream, self._next = self._next, self._next + 2
        text = [len(headers).to_bytes(4, "big")]
        for name, value in headers.items():
            for each in (name.lower().encode(), value.encode()):
                text += [len(each).to_bytes(4, "big"), each]
        packed = self._packer.compress(b"".join(text)) + self._packer.flush(zlib.Z_SYNC_FLUSH)
        body = stream.to_bytes(4, "big") + bytes(6) + packed
        return stream, _control(_SYN_STREAM, 0, body)


class Acceptor:
    """Takes the streams that an `Opener` opens, as the server of a connection."""

    def __init__(self) -> None:
        self._unpacker = zlib.decompressobj(zdict=DICTIONARY)
        self._packer = zlib.compressobj(level=6, zdict=DICTIONARY)

    def accept(self, frame: ControlFrame, body: bytes) -> tuple[int, dict[str, str], bytes] | None:
        """The number of a new stream, its headers, and what to answer; None when the frame opens none.

        Raises SpdyError.
        """
        if frame.kind != _SYN_STREAM:
            return None
        stream = int.from_bytes(body[:4], "big") & _STREAM_MASK
        try:
            block = self._unpacker.decompress(body[10:], CONTROL_BYTES_AT_MOST)
        except zlib.error:
            raise SpdyError("the headers of a stream cannot be read") from None
        none = self._packer.compress(bytes(4)) + self._packer.flush(zlib.Z_SYNC_FLUSH)
        return stream, _headers_of(block), _control(_SYN_REPLY, 0, stream.to_bytes(4, "big") + none)

    def pong(self, frame: ControlFrame, body: bytes) -> bytes:
        """The answer to a ping of the client; nothing for other frames."""
        return _control(_PING, 0, body) if frame.kind == _PING and len(body) == 4 and body[3] & 1 else b""


def _headers_of(block: bytes) -> dict[str, str]:
    """Decode the headers of a frame. Raises SpdyError."""
    texts, at = [], 4
    for _ in range(2 * int.from_bytes(block[:4], "big")):
        length = int.from_bytes(block[at : at + 4], "big")
        if at + 4 + length > len(block):
            raise SpdyError("the headers of a stream are cut off")
        texts.append(block[at + 4 : at + 4 + length].decode("latin-1"))
        at += 4 + length
    return dict(zip(texts[::2], texts[1::2], strict=True))


def data(stream: int, payload: bytes, *, last: bool = False) -> bytes:
    """A frame of data; `last`: nothing more comes on this stream."""
    return stream.to_bytes(4, "big") + bytes([_FIN if last else 0]) + len(payload).to_bytes(3, "big") + payload


def pong(ping: Pinged) -> bytes:
    return _control(_PING, 0, ping.payload)


def frame_of(head: bytes) -> DataFrame | ControlFrame:
    """Parse a frame from its first eight bytes. Raises SpdyError."""
    length = int.from_bytes(head[5:8], "big")
    if not head[0] & _CONTROL:
        return DataFrame(int.from_bytes(head[:4], "big") & _STREAM_MASK, length, bool(head[4] & _FIN))
    if int.from_bytes(head[:2], "big") & 0x7FFF != _VERSION or length > CONTROL_BYTES_AT_MOST:
        raise SpdyError("this is not SPDY/3")
    return ControlFrame(int.from_bytes(head[2:4], "big"), head[4], length)


def meaning(frame: ControlFrame, body: bytes) -> Iterator[Meaning]:
    """The meaning of a control frame; for most frames nothing."""
    if frame.kind == _RST_STREAM or (frame.kind == _SYN_REPLY and frame.flags & _FIN):
        yield SpdyStreamEnded(int.from_bytes(body[:4], "big") & _STREAM_MASK)
    elif frame.kind == _PING and len(body) == 4 and not body[3] & 1:
        # Those of clients have odd numbers, and we send none.
        yield Pinged(body)
    elif frame.kind == _GOAWAY:
        yield GoneAway()


def _control(kind: int, flags: int, body: bytes) -> bytes:
    head = (0x8000 | _VERSION).to_bytes(2, "big") + kind.to_bytes(2, "big")
    return head + bytes([flags]) + len(body).to_bytes(3, "big") + body
