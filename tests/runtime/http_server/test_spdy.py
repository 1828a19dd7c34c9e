"""SPDY as sessions of containers speak it, byte for byte; and which websockets are translated into it."""

from __future__ import annotations

import zlib

import h11
import pytest

from runtime.http_server.heads import Head
from runtime.http_server.sessions.spdy import (
    DICTIONARY,
    Acceptor,
    ControlFrame,
    DataFrame,
    GoneAway,
    Meaning,
    Opener,
    Pinged,
    SpdyError,
    SpdyStreamEnded,
    data,
    frame_of,
    meaning,
    pong,
)
from runtime.http_server.sessions.websocket import CHANNELS, TUNNEL, is_translated, offered, spdy_request
from runtime.http_server.tunnel import Way


def test_streams_are_opened_with_odd_numbers_and_headers_that_share_a_dictionary() -> None:
    opener = Opener()
    unpacker = zlib.decompressobj(zdict=DICTIONARY)
    for number, name in ((1, "error"), (3, "stdin"), (5, "stdout")):
        stream, frame = opener.open({"streamType": name})
        head, body = frame[:8], frame[8:]
        assert stream == number
        assert frame_of(head) == ControlFrame(1, 0, len(body))
        assert int.from_bytes(body[:4], "big") == number
        assert body[4:10] == bytes(6)
        expected = (1).to_bytes(4, "big") + (10).to_bytes(4, "big") + b"streamtype"
        assert unpacker.decompress(body[10:]) == expected + len(name).to_bytes(4, "big") + name.encode()


def test_a_spdy_server_accepts_and_answers_the_streams_of_a_client() -> None:
    opener, acceptor = Opener(), Acceptor()
    unpacker = zlib.decompressobj(zdict=DICTIONARY)
    for number, name in ((1, "error"), (3, "stdout")):
        frame, body = read(opener.open({"streamType": name, "port": "80"})[1])
        opened = acceptor.accept(frame, body)
        assert opened is not None
        stream, headers, reply = opened
        assert (stream, headers) == (number, {"streamtype": name, "port": "80"})
        answer, text = read(reply)
        assert answer.kind == 2
        assert int.from_bytes(text[:4], "big") == number
        assert unpacker.decompress(text[4:]) == bytes(4)


def read(frame: bytes) -> tuple[ControlFrame, bytes]:
    found = frame_of(frame[:8])
    assert isinstance(found, ControlFrame)
    return found, frame[8:]


def test_a_server_answers_the_pings_of_its_client_and_no_others() -> None:
    mine = b"\x80\x03\x00\x06\x00\x00\x00\x04\x00\x00\x00\x01"
    assert Acceptor().pong(*read(mine)) == mine
    assert Acceptor().pong(*read(PING)) == b""
    assert Acceptor().accept(*read(mine)) is None


@pytest.mark.parametrize("block", [b"nonsense", b"\x00\x00\x00\x01\x00\x00\x00\x09cut"])
def test_a_stream_whose_headers_cannot_be_read_is_refused(block: bytes) -> None:
    packer = zlib.compressobj(zdict=DICTIONARY)
    packed = block if block == b"nonsense" else packer.compress(block) + packer.flush(zlib.Z_SYNC_FLUSH)
    with pytest.raises(SpdyError):
        Acceptor().accept(ControlFrame(1, 0, 10 + len(packed)), bytes(10) + packed)


def test_data_says_its_stream_its_length_and_whether_it_is_the_last() -> None:
    assert data(3, b"hello") == b"\x00\x00\x00\x03\x00\x00\x00\x05hello"
    assert frame_of(data(3, b"hello")) == DataFrame(3, 5, False)
    assert frame_of(data(5, b"", last=True)) == DataFrame(5, 0, True)


PING = b"\x80\x03\x00\x06\x00\x00\x00\x04\x00\x00\x00\x02"


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        (PING, (Pinged(b"\x00\x00\x00\x02"),)),
        (b"\x80\x03\x00\x06\x00\x00\x00\x04\x00\x00\x00\x01", ()),
        (b"\x80\x03\x00\x03\x00\x00\x00\x08\x00\x00\x00\x07\x00\x00\x00\x01", (SpdyStreamEnded(7),)),
        (b"\x80\x03\x00\x02\x01\x00\x00\x04\x00\x00\x00\x05", (SpdyStreamEnded(5),)),
        (b"\x80\x03\x00\x02\x00\x00\x00\x04\x00\x00\x00\x05", ()),
        (b"\x80\x03\x00\x07\x00\x00\x00\x08\x00\x00\x00\x00\x00\x00\x00\x00", (GoneAway(),)),
        (b"\x80\x03\x00\x09\x00\x00\x00\x08\x00\x00\x00\x00\x00\x00\x00\x00", ()),
    ],
)
def test_control_frames_are_parsed(frame: bytes, expected: tuple[Meaning, ...]) -> None:
    head = frame_of(frame[:8])
    assert isinstance(head, ControlFrame)
    assert head.length == len(frame) - 8
    assert tuple(meaning(head, frame[8:])) == expected


def test_a_ping_is_given_back() -> None:
    assert pong(Pinged(b"\x00\x00\x00\x02")) == PING


@pytest.mark.parametrize(
    "head", [b"\x80\x02\x00\x01\x00\x00\x00\x00", b"\x80\x03\x00\x04\x00\xff\xff\xff", b"HTTP/1.1"]
)
def test_a_frame_that_is_no_spdy_is_refused(head: bytes) -> None:
    if head[0] & 0x80:
        with pytest.raises(SpdyError):
            frame_of(head)
    else:
        assert isinstance(frame_of(head), DataFrame)


def upgrade(protocols: str, kind: str = "websocket") -> Head:
    return Head("GET", "/exec/a/b/c", (("Upgrade", kind), ("Sec-WebSocket-Protocol", protocols)))


@pytest.mark.parametrize(
    ("head", "translated"),
    [
        (upgrade(CHANNELS), True),
        (upgrade(f"v4.channel.k8s.io, {CHANNELS}"), True),
        (upgrade(TUNNEL), True),
        (upgrade("v4.channel.k8s.io"), False),
        (upgrade(""), False),
        (upgrade(CHANNELS, "SPDY/3.1"), False),
    ],
)
# (spec 11.3.3)
def test_websockets_that_runtimes_do_not_know_are_translated(head: Head, translated: bool) -> None:
    assert is_translated(head) is translated
    assert offered("x, y") is None


# (spec 11.3.3)
def test_the_runtime_is_asked_for_spdy_at_the_place_it_has_named() -> None:
    way = Way("127.0.0.1", 4000, b"GET /exec/token?x=1 HTTP/1.1\r\nHost: 127.0.0.1:4000\r\nUpgrade: websocket\r\n\r\n")
    asked = h11.Connection(h11.CLIENT).send(spdy_request(way, "v4.channel.k8s.io")).decode()
    assert asked.startswith("POST /exec/token?x=1 HTTP/1.1\r\nHost: 127.0.0.1:4000\r\n")
    assert "Upgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n" in asked
