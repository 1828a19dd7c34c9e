"""Who may ask a server on loopback that a browser on the same machine reaches, too."""

from __future__ import annotations

import pytest

from runtime.http_server.heads import HttpRefusal
from runtime.http_server.local_site import refuse_other_pages, refuse_simple_bodies


@pytest.mark.parametrize(
    ("host", "origin", "site"),
    [
        ("", None, ""),
        ("127.0.0.1:6443", None, ""),
        ("127.1.2.3", None, ""),
        ("LOCALHOST:1", None, "none"),
        ("localhost.", None, ""),
        ("[::1]:8080", None, ""),
        ("127.0.0.1:80", "http://127.0.0.1:80", "same-origin"),
    ],
)
def test_programs_and_the_servers_own_pages_are_served(host: str, origin: str | None, site: str) -> None:
    refuse_other_pages(host, origin, site)


@pytest.mark.parametrize(
    ("host", "origin", "site", "status"),
    [
        ("rebound.example:6443", None, "same-origin", 421),
        ("localhost.example", None, "", 421),
        ("127.0.0.1.example", None, "", 421),
        ("10.0.0.1:80", None, "", 421),
        ("[::ffff:10.0.0.1]:80", None, "", 421),
        ("[::1", None, "", 421),
        ("[::1].evil.example", None, "", 421),
        ("[::1].evil.example:6443", "http://[::1].evil.example:6443", "same-origin", 421),
        ("localhost:evil.example", None, "", 421),
        ("[::1%eth0]:80", None, "", 421),
        ("0177.1", None, "", 421),
        ("x" * 100_000, None, "", 421),
        ("127.0.0.1:6443", "https://evil.example", "", 403),
        ("127.0.0.1:6443", "null", "", 403),
        ("127.0.0.1:6443", "", "", 403),
        ("127.0.0.1:6443", "http://127.0.0.1:9999", "", 403),
        ("127.0.0.1:6443", None, "cross-site", 403),
        ("127.0.0.1:6443", None, "same-site", 403),
    ],
)
def test_pages_of_other_sites_are_refused(host: str, origin: str | None, site: str, status: int) -> None:
    with pytest.raises(HttpRefusal) as caught:
        refuse_other_pages(host, origin, site)
    assert caught.value.status == status
    assert len(caught.value.text) < 300


def test_a_person_may_follow_a_link_but_not_to_a_name_that_is_bound_anew() -> None:
    refuse_other_pages("127.0.0.1:1", None, "cross-site", followed_link=True)
    with pytest.raises(HttpRefusal):
        refuse_other_pages("rebound.example", None, "cross-site", followed_link=True)


@pytest.mark.parametrize("media", ["text/plain", "Text/Plain; charset=utf-8", "application/x-www-form-urlencoded"])
def test_a_body_that_any_page_may_send_is_refused(media: str) -> None:
    with pytest.raises(HttpRefusal, match="Content-Type"):
        refuse_simple_bodies(media)
    refuse_simple_bodies("application/json; charset=utf-8")
    refuse_simple_bodies("")
