"""The addresses of a cluster's nodes and of their pods. Pure.

Each node has a pod network of its own, so that no two pods of a cluster share an address. None of the addresses exists.
"""

from __future__ import annotations

import ipaddress

from simulation.node.hollow_nodes import POD_ADDRESSES

FIRST = ipaddress.IPv4Address("10.1.0.0")
"""Where the networks of pods begin; what lies before is for services."""
SMALLEST_BITS = 8
NOT_FOR_PODS = 3
"""The addresses of network, gateway and broadcast."""


def pod_network_of(number: int, pods_at_most: int) -> str:
    """The pod network of the node with that number.

    It has room for twice as many pods as the node takes, since a pod that ends keeps its address for a while. There are
    65,280 different ones for nodes of 110 pods, and 255 for nodes of 32,000.
    """
    bits = max(SMALLEST_BITS, (2 * pods_at_most + NOT_FOR_PODS - 1).bit_length())
    room = int(POD_ADDRESSES.broadcast_address) + 1
    first = -(-int(FIRST) >> bits)
    networks = (room >> bits) - first
    return f"{ipaddress.IPv4Address((first + number % networks) << bits)}/{32 - bits}"
