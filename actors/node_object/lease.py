"""The Lease by which a node says that it lives (spec 9.6): its next form, and when to renew it.

The lease belongs to the Node, so that it goes when the node does; before the node is known it belongs to nobody, and
gets its owner with the first renewal after.
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
    """Between two renewals, before jitter."""
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
    """RFC 3339 with microseconds, as leases have it."""
    seconds, rest_ns = divmod(wall_ns, SECOND_NS)
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S") + f".{rest_ns // 1000:06d}Z"


def _owners(existing: tuple[OwnerReference, ...], node: Node) -> tuple[OwnerReference, ...]:
    """Others stay; a node of that name that is no more owns nothing."""
    name, uid = node.metadata.name, node.metadata.uid
    if any(owner.kind == "Node" and owner.uid == uid for owner in existing):
        return existing
    others = tuple(owner for owner in existing if not (owner.kind == "Node" and owner.name == name))
    return (*others, OwnerReference(api_version="v1", kind="Node", name=name, uid=uid))
