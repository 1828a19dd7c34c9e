"""What is asked, and where a redirect leads (spec 5, 3.11)."""

from __future__ import annotations

import gc
import tracemalloc

import h11
import pytest

from config.caches import MIB
from runtime.http_client.request import READ_CHARACTERS_AT_MOST, over_http, redirect_of, request_of


def lines(url: str, *headers: tuple[str, str]) -> list[str]:
    wire = h11.Connection(h11.CLIENT).send(request_of(url, headers, "agent/1").head)
    return wire.decode().split("\r\n")


def test_it_is_one_get_on_a_connection_that_is_closed() -> None:
    assert lines("http://10.0.0.1:8080/health?deep=1") == [
        "GET /health?deep=1 HTTP/1.1",
        "Host: 10.0.0.1:8080",
        "User-Agent: agent/1",
        "Accept: */*",
        "Connection: close",
        "",
        "",
    ]


@pytest.mark.parametrize(
    ("url", "first", "host"),
    [
        ("http://[fd00::1]:80/", "GET / HTTP/1.1", "[fd00::1]:80"),
        ("http://10.0.0.1:80", "GET / HTTP/1.1", "10.0.0.1:80"),
        ("http://10.0.0.1:80/a b/ü#top", "GET /a%20b/%C3%BC HTTP/1.1", "10.0.0.1:80"),
        ("http://10.0.0.1:80//two", "GET //two HTTP/1.1", "10.0.0.1:80"),
    ],
)
def test_paths_and_hosts_are_written_as_urls_are(url: str, first: str, host: str) -> None:
    assert lines(url)[:2] == [first, f"Host: {host}"]
    assert request_of("http://[fd00::1]:80/", (), "").host == "fd00::1"


def test_headers_of_the_pod_win_in_their_order_but_for_those_that_frame_the_connection() -> None:
    own = (("host", "shop.example"), ("X-Way", "a"), ("Connection", "keep-alive"), ("X-Way", ""), ("Accept", ""))
    assert lines("http://10.0.0.1:80/", *own, ("Content-Length", "9"), ("User-Agent", "mine"))[1:] == [
        "host: shop.example",
        "X-Way: a",
        "X-Way: ",
        "User-Agent: mine",
        "Connection: close",
        "",
        "",
    ]


@pytest.mark.parametrize(
    ("url", "headers", "why"),
    [
        ("ftp://10.0.0.1:21/", (), "unsupported protocol scheme"),
        ("http:///nowhere", (), "no host|Host"),
        ("http://10.0.0.1:80/", (("X", "a\r\nHost: other"),), "Illegal header value"),
    ],
)
def test_an_invalid_url_or_header_is_refused(url: str, headers: tuple[tuple[str, str], ...], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        request_of(url, headers, "agent/1")


def test_a_long_path_is_asked_for_as_it_is_and_leaves_nothing_behind() -> None:
    def ask(number: int) -> list[str]:
        return lines(f"https://me:it@shop.example:8443/{number}%20ü/{'a' * MIB}?b=c&d#top")

    assert ask(0)[:2] == [f"GET /0%20%C3%BC/{'a' * MIB}?b=c&d HTTP/1.1", "Host: shop.example:8443"]
    assert "Authorization: Basic bWU6aXQ=" in ask(0)
    tracemalloc.start()
    try:
        for number in range(20):
            ask(number)
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] < 2 * MIB
    finally:
        tracemalloc.stop()


def test_a_long_url_is_read_like_a_short_one() -> None:
    long = "a" * READ_CHARACTERS_AT_MOST
    assert lines(f"http://10.0.0.1:80?{long}")[0] == f"GET /?{long} HTTP/1.1"
    assert over_http(f"https://[fd00::1]:8443/{long}") == f"http://[fd00::1]:8443/{long}"
    with pytest.raises(ValueError, match="no host within"):
        request_of(f"http://{long}/", (), "agent/1")
    with pytest.raises(ValueError, match="unsupported protocol scheme"):
        request_of(f"ftp://10.0.0.1/{long}", (), "agent/1")
    with pytest.raises(ValueError, match="redirect of a URL"):
        redirect_of(302, "/b", f"http://10.0.0.1:80/{long * 4}", ())


HOST = (("Host", "shop.example"), ("X-Own", "1"))


@pytest.mark.parametrize(
    ("status", "location", "to", "elsewhere"),
    [
        (200, "/there", None, False),
        (304, "/there", None, False),
        (302, "", None, False),
        (302, "/there", "http://10.0.0.1:8080/there", False),
        (301, "there?x=1", "http://10.0.0.1:8080/a/there?x=1", False),
        (307, "https://10.0.0.1:8443/", "https://10.0.0.1:8443/", False),
        (308, "http://elsewhere.example/", "http://elsewhere.example/", True),
    ],
)
def test_redirects_are_followed_on_their_host(status: int, location: str, to: str | None, elsewhere: bool) -> None:
    found = redirect_of(status, location, "http://10.0.0.1:8080/a/b", HOST)
    assert (found.url if found else None) == to
    assert found is None or found.elsewhere is elsewhere
    if found is not None:
        assert found.headers == (HOST[1:] if "://" in location else HOST)


def test_without_tls_the_port_stays() -> None:
    assert over_http("https://10.0.0.1/bye") == "http://10.0.0.1:443/bye"
    assert over_http("https://10.0.0.1:8443/bye") == "http://10.0.0.1:8443/bye"
