"""The network of a machine: addresses of interfaces, default routes, addresses of a name.

`actors` choose the node's address from these facts. Nothing here fails; unreadable facts are empty. A lookup takes two
seconds at most. A resolver that has not answered by then has not denied the name.
"""

from __future__ import annotations

import ipaddress
import os
import socket
import threading
from dataclasses import dataclass

LOOK_UP_SECONDS = 2.0
"""A node without DNS starts, and shows its state, without waiting for it."""
_NO_ADDRESS = (socket.EAI_NONAME, socket.EAI_NODATA, socket.EAI_ADDRFAMILY)
"""Error codes for a name without addresses. All other codes mean that the resolver cannot tell."""
_UP = 0x1
_NO_IPV6_DESTINATION = "0" * 32


@dataclass(frozen=True, slots=True)
class InterfaceAddress:
    """An address of an interface that is up."""

    interface: str
    address: str


@dataclass(frozen=True, slots=True)
class NetworkFacts:
    """`default_routes`: interfaces of default routes, best first.

    `looked_up`: the addresses of the name; None without an answer of the resolver.
    """

    interfaces: tuple[InterfaceAddress, ...] = ()
    default_routes: tuple[str, ...] = ()
    looked_up: tuple[str, ...] | None = ()


def read_network(name: str) -> NetworkFacts:
    """The network of this machine, and the addresses of `name`."""
    return NetworkFacts(interface_addresses(), default_routes(), look_up(name))


def interface_addresses() -> tuple[InterfaceAddress, ...]:
    """Every address of every interface that is up, loopback included."""
    import psutil  # slow to import, and useless for simulated machines

    up = {name for name, stats in psutil.net_if_stats().items() if stats.isup}
    return tuple(
        InterfaceAddress(name, str(ipaddress.ip_address(address.address.partition("%")[0])))
        for name, addresses in psutil.net_if_addrs().items()
        if name in up
        for address in addresses
        if address.family in (socket.AF_INET, socket.AF_INET6)
    )


def default_routes(root: str = "/") -> tuple[str, ...]:
    """Interfaces of default routes: IPv4 before IPv6, each by their metric."""
    found = [*_ipv4_routes(_lines(root, "proc/net/route")), *_ipv6_routes(_lines(root, "proc/net/ipv6_route"))]
    return tuple(dict.fromkeys(name for _, _, name in sorted(found, key=lambda route: route[:2])))


def look_up(name: str, timeout_seconds: float = LOOK_UP_SECONDS) -> tuple[str, ...] | None:
    """Addresses of a name, in the resolver's order; empty for an unknown name.

    None: no answer, or none in time.
    """
    said: list[tuple[str, ...] | None] = []
    # The resolver has no useful deadline of its own: a thread waits for it, and nothing waits for the thread.
    asking = threading.Thread(target=lambda: said.append(_resolve(name)), name="resolver", daemon=True)
    asking.start()
    asking.join(timeout_seconds)
    return next(iter(said), None)


def _resolve(name: str) -> tuple[str, ...] | None:
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except UnicodeError:
        return ()
    except OSError as failure:
        return () if failure.errno in _NO_ADDRESS else None
    return tuple(dict.fromkeys(str(address[4][0]).partition("%")[0] for address in found))


def _ipv4_routes(lines: list[list[str]]) -> list[tuple[int, int, str]]:
    """Columns: interface, destination, gateway, flags, references, use, metric, mask, ..."""
    routes = []
    for parts in lines[1:]:
        if len(parts) >= 8 and int(parts[1], 16) == 0 and int(parts[7], 16) == 0 and int(parts[3], 16) & _UP:
            routes.append((4, int(parts[6]), parts[0]))
    return routes


def _ipv6_routes(lines: list[list[str]]) -> list[tuple[int, int, str]]:
    """The IPv6 default routes.

    Columns: destination, its prefix length, source, its length, next hop, metric, references, use, flags, name.
    """
    routes = []
    for parts in lines:
        if len(parts) >= 10 and parts[0] == _NO_IPV6_DESTINATION and int(parts[1], 16) == 0 and parts[9] != "lo":
            routes.append((6, int(parts[5], 16), parts[9]))
    return routes


def _lines(root: str, path: str) -> list[list[str]]:
    try:
        with open(os.path.join(root, path), encoding="ascii", errors="replace") as file:
            return [line.split() for line in file]
    except OSError:
        return []
