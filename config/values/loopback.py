"""Which hosts are this machine itself. Pure.

Only plain spellings count: what a program or a browser makes of the others (`0177.1`, `::1%eth0`) is its own affair.
"""

from __future__ import annotations

import re
from ipaddress import IPv6Address, ip_address

_AUTHORITY = re.compile(r"(?:\[([0-9a-fA-F:.]+)\]|([0-9a-zA-Z.\-]+))(?::[0-9]{0,5})?", re.ASCII)
"""A host as in a `Host` header: an IPv6 address in brackets, or another address or a name.

A port may follow.
"""
LONGEST = 300
"""Characters. No name has so many."""


def is_loopback(host: str) -> bool:
    """Whether the host, a name or an address without brackets and port, is this machine itself."""
    if host.lower().removesuffix(".") == "localhost":
        return True
    try:
        address = ip_address(host)
    except ValueError:
        return False
    if isinstance(address, IPv6Address):
        if address.scope_id is not None:
            return False
        address = address.ipv4_mapped or address
    return address.is_loopback


def names_loopback(authority: str) -> bool:
    """Whether the value of a `Host` header is a host of this machine itself, with or without a port."""
    found = _AUTHORITY.fullmatch(authority) if len(authority) <= LONGEST else None
    if found is None:
        return False
    bracketed, plain = found.groups()
    return is_loopback(bracketed or plain) and (bracketed is None) == (":" not in (bracketed or plain))
