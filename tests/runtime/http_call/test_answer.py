"""Reading the answer to a GET: where it ends, however it comes in, and what is none (RFC 9112)."""

from __future__ import annotations

import contextlib
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.http_call.answer import HEAD_BYTES, AnswerReader, BadAnswerError

LIMIT = 16


def read(data: bytes, cuts: tuple[int, ...] = (), *, closed: bool = True) -> AnswerReader:
    """Fed in pieces that are cut at those places; then the other side closes, if nothing else has ended it."""
    reader, places = AnswerReader(LIMIT), (0, *sorted(cuts), len(data))
    for begin, end in itertools.pairwise(places):
        if reader.feed(data[begin:end]):
            return reader
    if closed:
        reader.end()
    return reader


WHOLE = [
    ("a length", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 200, b"ok"),
    ("no reason", b"HTTP/1.1 503\r\nContent-Length: 0\r\n\r\n", 503, b""),
    ("what comes after it", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokmore", 200, b"ok"),
    ("until the end", b"HTTP/1.0 200 OK\r\n\r\nall of it", 200, b"all of it"),
    (
        "chunks",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2;x=1\r\nok\r\n3\r\nyes\r\n0\r\n\r\n",
        200,
        b"okyes",
    ),
    ("no body", b"HTTP/1.1 204 No Content\r\n\r\n", 204, b""),
    ("not modified", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", 304, b""),
    (
        "another comes",
        b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\ny",
        200,
        b"y",
    ),
    ("another protocol", b"HTTP/1.1 101 Switching Protocols\r\n\r\n", 101, b""),
    ("bare line ends", b"HTTP/1.1 200 OK\nContent-Length: 2\n\nok", 200, b"ok"),
    ("more than is shown", b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n" + b"x" * 40, 200, b"x" * LIMIT),
    (
        "chunks without end",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n" + b"x" * 40,
        200,
        b"x" * LIMIT,
    ),
]


@pytest.mark.parametrize(("data", "status", "body"), [row[1:] for row in WHOLE], ids=[row[0] for row in WHOLE])
@given(cuts=st.lists(st.integers(0, 100), max_size=8))
def test_an_answer_is_the_same_in_whatever_pieces_it_comes(
    data: bytes, status: int, body: bytes, cuts: list[int]
) -> None:
    found = read(data, tuple(min(each, len(data)) for each in cuts))
    assert (found.status, found.body, found.complete) == (status, body, True)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "EOF"),
        (b"HTTP/1.1 200 OK\r\nContent-", "unexpected EOF"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort", "unexpected EOF"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n", "unexpected EOF"),
        (b"220 mail.example ready\r\n", 'malformed HTTP response "220 mail.example ready"'),
        (b"HTTP/2 200 OK\r\n\r\n", "malformed HTTP response"),
        (b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "malformed MIME header line"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "bad Content-Length"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "malformed chunked encoding"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"x" * HEAD_BYTES, "headers exceeded"),
    ],
)
def test_what_is_no_whole_answer_says_why(data: bytes, why: str) -> None:
    with pytest.raises(BadAnswerError, match=why.replace(".", r"\.")):
        read(data)


def test_what_is_no_http_is_not_waited_for() -> None:
    with pytest.raises(BadAnswerError, match="malformed HTTP response"):
        read(b"SSH-2.0-OpenSSH_9.2\r\n", closed=False)


def test_a_redirect_says_where_to() -> None:
    assert read(b"HTTP/1.1 302 Found\r\nLOCATION:  /there \r\nContent-Length: 0\r\n\r\n").location == "/there"


@given(st.binary(max_size=400))
def test_no_bytes_are_more_than_a_bad_answer(data: bytes) -> None:
    with contextlib.suppress(BadAnswerError):
        read(b"HTTP/1.1 200 OK\r\n" + data)
