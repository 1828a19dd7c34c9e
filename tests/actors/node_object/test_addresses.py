"""Which addresses a node has (spec 9.4)."""

from __future__ import annotations

import ipaddress

import pytest

from actors.node_object.addresses import NodeIps, address_fault, node_addresses, node_ips
from config.objects import NodeAddress
from runtime.host.network import InterfaceAddress, NetworkFacts

INTERFACES = (
    InterfaceAddress("cni0", "10.244.0.1"),
    InterfaceAddress("eth0", "192.0.2.10"),
    InterfaceAddress("eth0", "2001:db8::10"),
    InterfaceAddress("eth1", "198.51.100.7"),
    InterfaceAddress("lo", "127.0.0.1"),
    InterfaceAddress("lo", "::1"),
    InterfaceAddress("eth0", "fe80::1"),
)


def network(*routes: str, looked_up: tuple[str, ...] | None = ()) -> NetworkFacts:
    return NetworkFacts(INTERFACES, routes, looked_up)


@pytest.mark.parametrize(
    ("name", "wished", "facts", "addresses"),
    [
        ("n", ("192.0.2.10",), network("eth1"), ("192.0.2.10",)),
        ("n", ("2001:db8::10", "192.0.2.10"), network("eth1"), ("2001:db8::10", "192.0.2.10")),
        ("198.51.100.7", (), network("eth0"), ("198.51.100.7",)),
        ("n", (), network("eth0", looked_up=("127.0.1.1", "2001:db8::10", "198.51.100.7")), ("198.51.100.7",)),
        ("n", ("::",), network("eth1", looked_up=("198.51.100.7", "2001:db8::10")), ("2001:db8::10",)),
        ("n", (), network("eth0", looked_up=("203.0.113.1",)), ("192.0.2.10",)),
        ("n", (), network("eth1", "eth0"), ("198.51.100.7",)),
        ("n", (), network("eth1", "eth0", looked_up=None), ("198.51.100.7",)),
        ("n", ("::",), network("eth1", "eth0"), ("2001:db8::10",)),
        ("n", ("0.0.0.0",), network("eth0"), ("192.0.2.10",)),
        ("n", (), network(), ("192.0.2.10",)),
    ],
    ids=[
        "--node-ip",
        "--node-ip of both families, in the order given",
        "a name that is an address",
        "what the name resolves to, IPv4 first, loopback never",
        "what the name resolves to, of the family wished for",
        "an address of another machine is passed over",
        "the interface of the best default route",
        "the same while the resolver does not say",
        "the best default route with the family wished for",
        "any IPv4 is wished for",
        "without any route: not an interface of pods",
    ],
)
# (spec 9.4.1)
def test_a_node_has_the_address_that(
    name: str, wished: tuple[str, ...], facts: NetworkFacts, addresses: tuple[str, ...]
) -> None:
    found = node_ips(name, wished, facts)
    assert found.addresses == addresses
    assert not found.fault
    assert found.given is any(not ipaddress.ip_address(text).is_unspecified for text in wished)


def test_a_machine_without_any_address_says_so() -> None:
    alone = NetworkFacts((InterfaceAddress("lo", "127.0.0.1"), InterfaceAddress("eth0", "fe80::1")))
    assert node_ips("n", (), alone) == NodeIps((), fault="this machine has no address that others can reach")


@pytest.mark.parametrize(
    ("address", "fault"),
    [
        ("192.0.2.10", ""),
        ("127.0.0.1", "127.0.0.1 is a loopback address"),
        ("::1", "::1 is a loopback address"),
        ("224.0.0.1", "224.0.0.1 is a multicast address"),
        ("169.254.1.1", "169.254.1.1 is a link-local address"),
        ("fe80::1", "fe80::1 is a link-local address"),
        ("0.0.0.0", "0.0.0.0 is not an address of a machine"),
        ("203.0.113.1", "no interface of this machine has the address 203.0.113.1"),
    ],
)
# (spec 9.4.2)
def test_an_address_must_be_the_machines_own_and_reachable(address: str, fault: str) -> None:
    local = {found.address for found in INTERFACES}
    assert address_fault(ipaddress.ip_address(address), local) == fault


def published(*pairs: tuple[str, str]) -> tuple[NodeAddress, ...]:
    return tuple(NodeAddress(type=kind, address=address) for kind, address in pairs)


@pytest.mark.parametrize(
    ("before", "looked_up", "now"),
    [
        ("192.0.2.10", None, "192.0.2.10"),
        ("192.0.2.10", (), "198.51.100.7"),
        ("192.0.2.10", ("2001:db8::10",), "2001:db8::10"),
        ("203.0.113.1", None, "198.51.100.7"),
        ("fe80::1", None, "198.51.100.7"),
    ],
    ids=[
        "keeps what it has published while the resolver does not say",
        "goes by its route when there is no such name",
        "goes by the name when that means something",
        "has nothing to keep that is not its own",
        "has nothing to keep that others do not reach",
    ],
)
def test_a_restarted_node(before: str, looked_up: tuple[str, ...] | None, now: str) -> None:
    found = node_ips("n", (), network("eth1", looked_up=looked_up))
    old = published(("InternalIP", before), ("Hostname", "n"))
    assert node_addresses(old, found, "n", False) == published(("InternalIP", now), ("Hostname", "n"))


OLD = published(("InternalIP", "192.0.2.1"), ("Hostname", "old"))
FOUND = NodeIps(("192.0.2.10", "2001:db8::10"), given=True)


@pytest.mark.parametrize(
    ("existing", "found", "external", "expected"),
    [
        (OLD, FOUND, False, [("InternalIP", "192.0.2.10"), ("InternalIP", "2001:db8::10"), ("Hostname", "host")]),
        (OLD, NodeIps(()), False, [("Hostname", "host")]),
        (OLD, FOUND, True, [("InternalIP", "192.0.2.1"), ("Hostname", "old")]),
        ((), NodeIps(("192.0.2.10",)), True, [("Hostname", "host")]),
        ((), NodeIps(("192.0.2.10",), True), True, [("InternalIP", "192.0.2.10"), ("Hostname", "host")]),
        (OLD, NodeIps(("9.9.9.9",), True, "not here"), False, [("InternalIP", "192.0.2.1"), ("Hostname", "old")]),
    ],
    ids=[
        "its own and the host name",
        "the host name alone where there is no other",
        "the cloud's where it has set them",
        "the host name until the cloud says more",
        "the address asked for until the cloud says more",
        "the old ones while the one asked for is not there",
    ],
)
# (spec 9.4.1)
def test_a_node_publishes(
    existing: tuple[NodeAddress, ...], found: NodeIps, external: bool, expected: list[tuple[str, str]]
) -> None:
    assert node_addresses(existing, found, "host", external) == published(*expected)
