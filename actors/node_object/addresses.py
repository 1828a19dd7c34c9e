"""The addresses of a node (spec 9.4).

Without an external cloud provider the first of these applies:

1. The address of `--node-ip` (one of each family).
2. The host name, where it is an address.
3. What the node's name resolves to.
4. The address of the default route's interface.
5. Any address that others can reach.

With a cloud provider, its addresses are kept. While the resolver does not answer, a node keeps its published address.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

import msgspec

from config.objects import NodeAddress
from runtime.host.network import NetworkFacts

INTERNAL_IP = "InternalIP"
HOST_NAME = "Hostname"
_OF_PODS = ("veth", "cni", "br", "docker", "virbr", "flannel", "cali", "lxc")
"""Prefixes of interfaces that carry pods, not the node."""

Ip = ipaddress.IPv4Address | ipaddress.IPv6Address


class NodeIps(msgspec.Struct, frozen=True):
    """The node's own addresses, primary family first. `fault`: why a requested address cannot be used.

    `given`: a person chose them. `instead`: published addresses that the node may keep while the resolver is silent.
    """

    addresses: tuple[str, ...]
    given: bool = False
    fault: str = ""
    instead: frozenset[str] = frozenset()


def node_ips(name: str, wished: tuple[str, ...], network: NetworkFacts) -> NodeIps:
    """The addresses of the node called `name`.

    `wished`: `--node-ip`; `0.0.0.0` or `::` only choose a family.
    """
    local = {address.address for address in network.interfaces}
    chosen = tuple(ip for ip in map(ipaddress.ip_address, wished) if not ip.is_unspecified)
    if chosen:
        faults = [fault for ip in chosen if (fault := address_fault(ip, local))]
        return NodeIps(tuple(map(str, chosen)), True, "; ".join(faults))
    first_family = 6 if wished and ipaddress.ip_address(wished[0]).version == 6 else 4
    if own := _parsed(name):
        return NodeIps((str(own),))
    looked_up = [ip for text in network.looked_up or () if (ip := _parsed(text)) and not address_fault(ip, local)]
    on_route = [
        ip
        for route in network.default_routes
        for ip in _usable(address.address for address in network.interfaces if address.interface == route)
    ]
    carriers = sorted(network.interfaces, key=lambda found: found.interface.startswith(_OF_PODS))
    anywhere = _usable(address.address for address in carriers)
    instead = frozenset(map(str, anywhere)) if network.looked_up is None else frozenset()
    for candidates in (looked_up, on_route, anywhere):
        if candidates:
            return NodeIps((str(min(candidates, key=lambda ip: ip.version != first_family)),), instead=instead)
    return NodeIps((), fault="this machine has no address that others can reach")


def address_fault(ip: Ip, local: Iterable[str]) -> str:
    """Why `ip` cannot be a node's address, or "". `local`: the addresses of its interfaces."""
    if ip.is_loopback:
        return f"{ip} is a loopback address"
    if ip.is_multicast:
        return f"{ip} is a multicast address"
    if ip.is_link_local:
        return f"{ip} is a link-local address"
    if ip.is_unspecified:
        return f"{ip} is not an address of a machine"
    if str(ip) not in local:
        return f"no interface of this machine has the address {ip}"
    return ""


def node_addresses(
    existing: tuple[NodeAddress, ...], found: NodeIps, host_name: str, external_cloud: bool
) -> tuple[NodeAddress, ...]:
    """The addresses to publish.

    Existing ones are kept in three cases: a cloud provider sets them; a requested address is not on an interface (yet);
    the resolver has not said that they are others.
    """
    if external_cloud:
        if existing:
            return existing
        if not found.given:
            return (NodeAddress(type=HOST_NAME, address=host_name),)
    if found.fault and found.given:
        return existing
    internal = tuple(each for each in existing if each.type == INTERNAL_IP)
    if not internal or not found.instead.issuperset(each.address for each in internal):
        internal = tuple(NodeAddress(type=INTERNAL_IP, address=address) for address in found.addresses)
    return (*internal, NodeAddress(type=HOST_NAME, address=host_name))


def _usable(texts: Iterable[str]) -> list[Ip]:
    addresses = [ip for text in texts if (ip := _parsed(text))]
    return [ip for ip in addresses if not (ip.is_loopback or ip.is_link_local or ip.is_multicast or ip.is_unspecified)]


def _parsed(text: str) -> Ip | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None
