"""What goes over the line: a URL and headers as the bytes of a request, and where a redirect leads. Pure.

The pod's headers win over ours, in the pod's order; an empty `User-Agent` or `Accept` of it is not sent. Headers that
frame a body or a connection are ours alone: there is no body, and the connection is closed.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec
from yarl import URL

Headers = tuple[tuple[str, str], ...]

KEPT_REQUESTS = 2_048
"""Probes ask the same again and again; a node has some hundreds of them."""
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_OURS = frozenset({"connection", "content-length", "trailer", "transfer-encoding"})
_LEFT_OUT_IF_EMPTY = frozenset({"accept", "user-agent"})


class Request(msgspec.Struct, frozen=True, gc=False):
    """`host` without brackets, a name or an address. `data`: all of it."""

    url: str
    host: str
    port: int
    tls: bool
    data: bytes


@lru_cache(maxsize=KEPT_REQUESTS)
def request_of(url: str, headers: Headers, agent: str) -> Request:
    """Raises ValueError for what cannot be asked: another scheme, no host, a line break in a header."""
    parsed = URL(url)
    if parsed.scheme not in ("http", "https"):
        raise ValueError(f'unsupported protocol scheme "{parsed.scheme}"')
    if not parsed.raw_host or not parsed.port:
        raise ValueError("no host in the URL")
    given = {name.lower() for name, _ in headers}
    lines = [f"GET {parsed.raw_path_qs or '/'} HTTP/1.1"]
    if "host" not in given:
        lines.append(f"Host: {parsed.raw_authority}")
    for name, value in headers:
        lowered = name.lower()
        if lowered not in _OURS and (value or lowered not in _LEFT_OUT_IF_EMPTY):
            lines.append(f"{name}: {_one_line(name, value)}")
    if "user-agent" not in given:
        lines.append(f"User-Agent: {agent}")
    if "accept" not in given:
        lines.append("Accept: */*")
    data = "\r\n".join((*lines, "Connection: close", "", "")).encode()
    return Request(url, parsed.raw_host, parsed.port, parsed.scheme == "https", data)


def _one_line(name: str, value: str) -> str:
    for text in (name, value):
        if "\r" in text or "\n" in text or "\0" in text:
            raise ValueError(f"header {name!r} has a line break in it")
    return value


class Redirect(msgspec.Struct, frozen=True):
    """`elsewhere`: to another host than the first request went to."""

    url: str
    headers: Headers
    elsewhere: bool


def redirect_of(status: int, location: str, url: str, headers: Headers) -> Redirect | None:
    """Where an answer sends us; None: nowhere. Raises ValueError for a location that is none."""
    if status not in _REDIRECTS or not location:
        return None
    here, target = URL(url), URL(location)
    to = here.join(target)
    if target.absolute:  # the pod's Host was meant for where the first request went
        headers = without(headers, "host")
    return Redirect(str(to), headers, to.host != here.host)


def without(headers: Headers, name: str) -> Headers:
    """All but those of that name, which is lower case."""
    return tuple(each for each in headers if each[0].lower() != name)


def over_http(url: str) -> str:
    """The same without TLS, at the same port."""
    parsed = URL(url)
    return str(parsed.with_scheme("http").with_port(parsed.port))
