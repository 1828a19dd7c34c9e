"""The Lease of a node (spec 9.6): its next form, and when to renew it.

The Node owns the lease, so that it is deleted with the node. Before the node is known the lease has no owner; the first
renewal after sets it.
"""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from config.objects import Lease, Node, ObjectMeta, OwnerReference

NAMESPACE = "kube-node-lease"
SECOND_NS = 1_000_000_000
RENEW_SHARE = 4
"""The lease is renewed four times in its duration."""


def renew_interval_ns(duration_seconds: int) -> int:
    """The time between two renewals, before jitter."""
    return duration_seconds * SECOND_NS // RENEW_SHARE


def next_lease(base: Lease | None, node_name: str, duration_seconds: int, wall_ns: int, node: Node | None) -> Lease:
    """`base` renewed now, or a new one."""
    lease = base or Lease(metadata=ObjectMeta(name=node_name, namespace=NAMESPACE))
    spec = msgspec.structs.replace(
        lease.spec,
        holder_identity=node_name,
        lease_duration_seconds=duration_seconds,
        renew_time=micro_time(wall_ns),
    )
    metadata = lease.metadata
    if node is not None and node.metadata.uid:
        metadata = msgspec.structs.replace(metadata, owner_references=_owners(metadata.owner_references, node))
    return msgspec.structs.replace(lease, metadata=metadata, spec=spec)


def micro_time(wall_ns: int) -> str:
    """RFC 3339 with microseconds, the format of leases."""
    seconds, rest_ns = divmod(wall_ns, SECOND_NS)
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S") + f".{rest_ns // 1000:06d}Z"


def _owners(existing: tuple[OwnerReference, ...], node: Node) -> tuple[OwnerReference, ...]:
    """The owners, with this Node. An earlier Node of the same name is dropped; others stay."""
    name, uid = node.metadata.name, node.metadata.uid
    if any(owner.kind == "Node" and owner.uid == uid for owner in existing):
        return existing
    others = tuple(owner for owner in existing if not (owner.kind == "Node" and owner.name == name))
    return (*others, OwnerReference(api_version="v1", kind="Node", name=name, uid=uid))
