"""Requests of probes, hooks and manifests by URL, and where a redirect leads. Pure.

The pod's headers win over ours, in the pod's order. An empty `User-Agent` or `Accept` of the pod is not sent. Headers
that frame a body or a connection are ours alone: there is no body, and the connection is closed.
"""

from __future__ import annotations

import base64
import re
from urllib.parse import quote

import h11
import msgspec
from yarl import URL

from config.caches import MIB, kept
from runtime.http_client.dialing import HttpOrigin

Headers = tuple[tuple[str, str], ...]

KEPT_BYTES = 2 * MIB
"""Probes send the same requests again and again; a node has some hundreds of them, of 2 KiB each."""
READ_CHARACTERS_AT_MOST = 4 * 1024
LOCATION_CHARACTERS_AT_MOST = 16 * 1024
"""yarl keeps some hundreds of the URLs that it has read, so it gets no longer ones.

Of the long URL of a probe it gets the part before the path alone.
"""
_ORIGIN = re.compile(r"[^:/?#]+://[^/?#]*")
_WRITTEN_AS_THEY_ARE = "/?:@!$&'()*+,;=%"
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_OURS = frozenset({"connection", "content-length", "trailer", "transfer-encoding", "upgrade"})
_LEFT_OUT_IF_EMPTY = frozenset({"accept", "user-agent"})


class HttpCallRequest(msgspec.Struct, frozen=True):
    """`host`: a name, or an address without brackets."""

    host: str
    port: int
    tls: bool
    head: h11.Request


@kept(KEPT_BYTES)
def kept_request_of(url: str, headers: Headers, agent: str) -> HttpCallRequest:
    """Like `request_of`, with a cache.

    Not for URLs that a server has chosen: they would push out those that come again.
    """
    return request_of(url, headers, agent)


def request_of(url: str, headers: Headers, agent: str, proxy: str = "") -> HttpCallRequest:
    """Make a request. Raises ValueError for another scheme, no host, or a line break in a header."""
    parsed, target = _origin_and_target(url)
    if parsed.scheme not in ("http", "https"):
        raise ValueError(f'unsupported protocol scheme "{parsed.scheme}"')
    if not parsed.raw_host or not parsed.port:
        raise ValueError("no host in the URL")
    given = {name.lower() for name, _ in headers}
    sent = [] if "host" in given else [("Host", parsed.raw_authority.rpartition("@")[2])]
    sent += [
        (name, value)
        for name, value in headers
        if name.lower() not in _OURS and (value or name.lower() not in _LEFT_OUT_IF_EMPTY)
    ]
    if "user-agent" not in given:
        sent.append(("User-Agent", agent))
    if "accept" not in given:
        sent.append(("Accept", "*/*"))
    if parsed.user is not None and "authorization" not in given:
        pair = f"{parsed.user}:{parsed.password or ''}"
        sent.append(("Authorization", f"Basic {base64.b64encode(pair.encode()).decode()}"))
    sent.append(("Connection", "close"))
    tls = parsed.scheme == "https"
    origin = HttpOrigin(parsed.raw_host, parsed.port, proxy="" if tls else proxy)
    return HttpCallRequest(parsed.raw_host, parsed.port, tls, origin.request("GET", target, sent))


def _origin_and_target(url: str) -> tuple[URL, str]:
    """A URL, as far as it says whom to ask, and what to ask for. Raises ValueError."""
    if len(url) <= READ_CHARACTERS_AT_MOST:
        parsed = URL(url)
        return parsed, parsed.raw_path_qs or "/"
    origin, rest = _cut(url)
    return URL(origin), quote(rest.partition("#")[0], safe=_WRITTEN_AS_THEY_ARE)


def _cut(url: str) -> tuple[str, str]:
    """A URL before its path, and its path with all that follows. Raises ValueError."""
    found = _ORIGIN.match(url, 0, READ_CHARACTERS_AT_MOST)
    if found is None or found.end() == READ_CHARACTERS_AT_MOST:
        raise ValueError(f"no host within the first {READ_CHARACTERS_AT_MOST} characters of the URL")
    rest = url[found.end() :]
    return found[0], rest if rest.startswith("/") else f"/{rest}"


class Redirect(msgspec.Struct, frozen=True):
    """The target of a redirect. `elsewhere`: it is on another host."""

    url: str
    headers: Headers
    elsewhere: bool


def redirect_of(status: int, location: str, url: str, headers: Headers) -> Redirect | None:
    """The redirect in an answer, or None.

    Raises ValueError for a location that is no URL or too long, and for a redirect of a URL that is too long.
    """
    if status not in _REDIRECTS or not location:
        return None
    if len(location) > LOCATION_CHARACTERS_AT_MOST:
        raise ValueError(f"the Location of a redirect has more than {LOCATION_CHARACTERS_AT_MOST} characters")
    if len(url) > LOCATION_CHARACTERS_AT_MOST:
        raise ValueError(f"a redirect of a URL with more than {LOCATION_CHARACTERS_AT_MOST} characters")
    here, target = URL(url), URL(location)
    to = here.join(target)
    if target.absolute:  # the given Host was meant for the first server
        headers = without(headers, "host")
    return Redirect(str(to), headers, to.host != here.host)


def without(headers: Headers, name: str) -> Headers:
    """The headers without those of that name (lower case)."""
    return tuple(each for each in headers if each[0].lower() != name)


def over_http(url: str) -> str:
    """The same URL without TLS, at the same port."""
    if len(url) > READ_CHARACTERS_AT_MOST:
        origin, rest = _cut(url)
        return over_http(origin) + rest
    parsed = URL(url)
    return str(parsed.with_scheme("http").with_port(parsed.port))
