"""Checks a client's certificate at each request, and not only at the handshake (spec 17.1).

A handshake authenticates once, and connections are kept for hours. Meanwhile the certificate may end, or the authority
that signed it may be taken out of the file. OpenSSL checks no second time. So this module compares with the clock, and
the authorities trusted then with those trusted now. This is not enough where the client sent the authority and others
have left the file: then the connection is refused, and the client has to connect again. Pure, but for reading contexts.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Certificate = Mapping[str, Any]
"""A verified certificate as `ssl` shows it."""
Authorities = Mapping[Any, frozenset[bytes]]
"""Name -> the certificates of that name."""

ENDED = "the certificate of this connection has ended"
NOT_BELIEVED = "the authorities of clients have changed since this connection was made; connect anew"


@dataclass(frozen=True, slots=True)
class Shown:
    """The certificate of a client. `fault`: why it is not valid (any more); empty if it is."""

    certificate: Certificate | None = None
    fault: str = ""


NOTHING = Shown()


def authorities_of(context: ssl.SSLContext) -> Authorities:
    """The authorities that the context trusts, by name."""
    found: dict[Any, frozenset[bytes]] = {}
    for told, content in zip(context.get_ca_certs(), context.get_ca_certs(binary_form=True), strict=True):
        name = told["subject"]
        found[name] = found.get(name, frozenset()) | {content}
    return found


def has_ended(certificate: Certificate, wall_seconds: float) -> bool:
    """Whether its time is over."""
    return ssl.cert_time_to_seconds(certificate["notAfter"]) < wall_seconds


def includes(one: Authorities, other: Authorities) -> bool:
    """Whether one has all of the other."""
    return all(contents <= one.get(name, frozenset()) for name, contents in other.items())


def is_signed_by(certificate: Certificate, then: Authorities, now: Authorities) -> bool:
    """Whether a client trusted `then` is still trusted `now`, as far as that can be told."""
    if includes(now, then):
        return True
    signers = then.get(certificate.get("issuer"), frozenset())
    return bool(signers) and signers <= now.get(certificate.get("issuer"), frozenset())
