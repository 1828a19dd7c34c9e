"""The addresses of a pod and of its host, in the order in which they are published (spec 4.4). Pure."""

from __future__ import annotations

from collections.abc import Iterable


def order_ips(ips: Iterable[str], node_ips: tuple[str, ...]) -> tuple[str, ...]:
    """At most one address per family; first the family of the node's first address (IPv4 when it has none)."""
    primary_v6 = bool(node_ips) and is_ipv6(node_ips[0])
    primary = secondary = ""
    for ip in ips:
        if not ip:
            continue
        if is_ipv6(ip) == primary_v6:
            primary = primary or ip
        else:
            secondary = secondary or ip
    return tuple(ip for ip in (primary, secondary) if ip)


def pod_ips(
    host_network: bool,
    observed: tuple[str, ...],
    previous: tuple[str, ...],
    node_ips: tuple[str, ...],
    sandbox_ready: bool,
) -> tuple[str, ...]:
    """Of a pod in the host's network the host's; else what the sandbox has.

    While no sandbox is ready the addresses last published stay: an ended pod keeps them.
    """
    if host_network:
        return order_ips(node_ips, node_ips)
    if observed:
        return observed if len(observed) == 1 else order_ips(observed, node_ips)
    return () if sandbox_ready else previous


def family_differs(host_ip: str | None, node_ips: tuple[str, ...]) -> bool:
    """Whether the address of the host that was published last is of another family than the node's first is now."""
    if not host_ip or not node_ips or host_ip == node_ips[0]:
        return False
    return is_ipv6(host_ip) != is_ipv6(node_ips[0])


def is_ipv6(ip: str) -> bool:
    """Whether an address is written as IPv6."""
    return ":" in ip
