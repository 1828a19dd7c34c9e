"""Which hosts are this machine itself, and which spellings only look like it."""

from __future__ import annotations

import pytest

from config.values.loopback import is_loopback, names_loopback


@pytest.mark.parametrize(
    "host",
    ["localhost", "LocalHost", "localhost.", "127.0.0.1", "127.255.255.254", "::1", "0:0::1", "::ffff:127.0.0.1"],
)
def test_loopback_has_some_spellings(host: str) -> None:
    assert is_loopback(host)
    authority = f"[{host}]" if ":" in host else host
    for port in ("", ":", ":1", ":65535"):
        assert names_loopback(f"{authority}{port}")


@pytest.mark.parametrize(
    "host",
    [
        *("", " ", ".", "localhost..", ".localhost", "localhost.evil.example", "evil.localhost", "localhost ", "local"),
        *("127.0.0.1.evil.example", "127.0.0.1.", "127.0.0.1 ", "127.1", "0177.0.0.1", "0177.1", "2130706433"),
        *("0x7f.1", "127.0.0.1%eth0", "0.0.0.0", "10.0.0.1", "127.0.0.256", "\u0661\u0662\u0667.0.0.1", "128.0.0.1"),
        *("::1%eth0", "::1%", "::2", "::", "::ffff:10.0.0.1", "::127.0.0.1", "fe80::1%lo", "[::1]", "1::", "::1::"),
        *("x" * 100_000, "localhost\0", "127.0.0.1\n", "localho\u017ft"),
    ],
)
def test_what_only_looks_like_loopback_is_none(host: str) -> None:
    assert not is_loopback(host)
    assert not names_loopback(host) or host == "[::1]"
    assert not names_loopback(f"[{host}]")


@pytest.mark.parametrize(
    "authority",
    [
        *("[::1].evil.example", "[::1].evil.example:80", "[::1]evil", "[::1]:80evil", "[::1]:80:80", "[::1", "::1"),
        *("[::1]:80.evil.example", "[[::1]]", "[::1]]", "[]", "[]:80", "[127.0.0.1]", "[localhost]", "::1:80"),
        *("localhost:evil.example", "localhost:80:80", "localhost:-1", "127.0.0.1:x", "127.0.0.1:80 evil", ":80"),
        *(
            "evil@localhost",
            "localhost@evil.example",
            "localhost/evil",
            "localhost#evil",
            "localhost,evil",
            "[::1%25lo]",
        ),
        "localhost:999999999999",
    ],
)
def test_a_host_header_is_read_to_its_end(authority: str) -> None:
    assert not names_loopback(authority)
