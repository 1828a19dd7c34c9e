"""The connections of a port, and the choice of which to close when there are too many. Pure.

A connection counts from the moment it is accepted: before TLS, before its first byte. It is unknown until an
authenticated user has made a permitted request on it. Unknown connections have a tighter limit than all together. When
there are too many, the oldest unknown one is closed: an honest client has sent its request by then. A source with more
than its share loses one of its own, so one client cannot push out others. Known connections are never closed for this.
"""

from __future__ import annotations

import ipaddress
from typing import Generic, TypeVar

G = TypeVar("G")

CONNECTIONS_AT_MOST = 4096
UNKNOWN_AT_MOST = 1024
"""Each takes up to 100 KiB once it has begun with TLS, and some 3 KiB before."""
OF_SOURCE_AT_MOST = 512


class Guests(Generic[G]):
    """See the module. Guests are any hashable things."""

    def __init__(
        self,
        at_most: int = CONNECTIONS_AT_MOST,
        unknown_at_most: int = UNKNOWN_AT_MOST,
        of_source_at_most: int = OF_SOURCE_AT_MOST,
    ) -> None:
        self._at_most = at_most
        self._unknown_at_most = min(unknown_at_most, at_most)
        self._of_source_at_most = of_source_at_most
        self._known: dict[G, None] = {}
        self._unknown: dict[G, str] = {}
        """Guest -> source, the oldest first."""
        self._of_source: dict[str, dict[G, None]] = {}

    def __len__(self) -> int:
        return len(self._known) + len(self._unknown)

    @property
    def unknown(self) -> int:
        """How many are unknown."""
        return len(self._unknown)

    def all(self) -> tuple[G, ...]:
        return (*self._known, *self._unknown)

    def add(self, guest: G, address: str) -> G | None:
        """Add a connection from this address; return the one to close for it, if any.

        The returned one is forgotten here. It may be the new one itself.
        """
        source = source_of(address)
        own = self._of_source.setdefault(source, {})
        gone = None
        if len(own) >= self._of_source_at_most:
            gone = next(iter(own))
        elif len(self._unknown) >= self._unknown_at_most or len(self) >= self._at_most:
            gone = self.oldest_unknown()
            if gone is None:
                if not own:
                    del self._of_source[source]
                return guest
        self._unknown[guest] = source
        own[guest] = None
        if gone is not None:
            self.remove(gone)
        return gone

    def oldest_unknown(self) -> G | None:
        return next(iter(self._unknown), None)

    def know(self, guest: G) -> None:
        """A request on this connection was allowed."""
        if guest in self._unknown:
            self.remove(guest)
            self._known[guest] = None

    def knows(self, guest: G) -> bool:
        return guest in self._known

    def remove(self, guest: G) -> None:
        """Forget a connection that has ended. May be called more than once."""
        self._known.pop(guest, None)
        source = self._unknown.pop(guest, None)
        if source is not None:
            own = self._of_source[source]
            del own[guest]
            if not own:
                del self._of_source[source]


def source_of(address: str) -> str:
    """The source of an address. With IPv6 a machine has a whole /64, so that is one source."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if found.version == 6:
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped)
        return str(ipaddress.ip_network((found, 64), strict=False))
    return str(found)
