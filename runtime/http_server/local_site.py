"""Who may ask a server on loopback that browsers of this machine can reach without credentials or TLS.

Pure.

Any page in a browser can send requests to loopback, and can give a name of its own the address 127.0.0.1 (DNS
rebinding). The browser says in `Host` by which name it asks, and in `Origin` and `Sec-Fetch-Site` which page asks. So a
request is refused unless it asks for loopback by a loopback name, and for a page of this server or for no page at all.
"""

from __future__ import annotations

from config.values.loopback import names_loopback
from runtime.http_server.heads import HttpRefusal

_SIMPLE_MEDIA = frozenset({"text/plain", "application/x-www-form-urlencoded", "multipart/form-data"})
"""Media types that pages of other sites may send without asking the server first.

The Fetch standard calls them CORS-safelisted.

A page can also send a body without a type, but only with its `Origin`, which is refused. Some clients of the API send
such bodies.
"""


def refuse_other_pages(host: str, origin: str | None, site: str, *, followed_link: bool = False) -> None:
    """Raises HttpRefusal for a request of another site, by its `Host`, `Origin` and `Sec-Fetch-Site`.

    `followed_link`: a person comes from another page, which cannot see the answer.
    """
    if host and not names_loopback(host):
        raise HttpRefusal(421, f"this server is not {host[:100]!r}; ask for it as 127.0.0.1 or localhost")
    if origin is not None and origin.lower() != f"http://{host.lower()}":
        raise HttpRefusal(403, "a page of another site asks; this server serves programs and its own pages")
    if site not in ("", "none", "same-origin") and not followed_link:
        raise HttpRefusal(403, "a page of another site asks; this server serves programs and its own pages")


def refuse_simple_bodies(content_type: str) -> None:
    """Raises HttpRefusal for a body that any page could have sent without being asked for."""
    if content_type.partition(";")[0].strip().lower() in _SIMPLE_MEDIA:
        raise HttpRefusal(415, "say what the body is: Content-Type: application/json")
