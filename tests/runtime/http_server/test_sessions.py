"""Where sessions go, and what is sent there."""

from __future__ import annotations

import pytest

from runtime.http_server.heads import Head, HttpRefusal
from runtime.http_server.sessions.sessions import Streams, streams_of, way_to

HEAD = Head(
    "POST",
    "/exec/default/web/main?command=ls&output=1",
    (
        ("Host", "node"),
        ("Authorization", "Bearer secret"),
        ("Upgrade", "SPDY/3.1"),
        ("X-Stream-Protocol-Version", "v4"),
    ),
)


# (spec 11.3.2)
def test_the_request_goes_on_under_the_path_of_the_runtime_and_without_credentials() -> None:
    way = way_to("http://127.0.0.1:4000/exec/token?x=1", HEAD)
    assert (way.host, way.port, way.tls) == ("127.0.0.1", 4000, None)
    assert way.first.decode() == (
        "POST /exec/token?x=1 HTTP/1.1\r\nHost: 127.0.0.1:4000\r\n"
        "Upgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4\r\n\r\n"
    )


def test_a_runtime_may_serve_over_tls_and_at_other_addresses() -> None:
    assert way_to("https://[::1]:4000/x", HEAD).tls is not None
    assert (way_to("http://[::1]/x", HEAD).host, way_to("http://[::1]/x", HEAD).port) == ("::1", 80)


@pytest.mark.parametrize("url", ["", "/exec/token", "ftp://h/x", "http:///x", "http://h:99999/", "http://h/\r\nX: y"])
def test_an_invalid_streaming_url_of_the_runtime_is_refused(url: str) -> None:
    with pytest.raises(HttpRefusal) as refused:
        way_to(url, HEAD)
    assert refused.value.status == 500


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("output", Streams(False, True, False, False)),
        ("input output error", Streams(True, True, True, False)),
        ("input output error tty", Streams(True, True, False, True)),
    ],
)
# (spec 11.3.1)
def test_streams(said: str, expected: Streams) -> None:
    assert streams_of(tuple((name, "1") for name in said.split())) == expected


@pytest.mark.parametrize("said", ["", "tty", "error tty"])
# (spec 11.3.1)
def test_a_session_without_streams_is_refused(said: str) -> None:
    with pytest.raises(HttpRefusal) as refused:
        streams_of(tuple((name, "1") for name in said.split()))
    assert refused.value.status == 400
