"""Whether a status is worth a write (spec 9.2), and whether a node is worth telling.

A change is posted at once. An unchanged status is posted after the report frequency, as a sign of life. After a post
for a change that moment shifts by up to half the frequency either way: nodes often change together, and must
not report together for ever.
"""

from __future__ import annotations

from typing import Any

import msgspec

from config.objects import Node, NodeCondition, NodeStatus


def status_has_changed(before: NodeStatus, after: NodeStatus) -> bool:
    """Whether they differ in more than heartbeat times and the order of conditions.

    Absent and zero are equal: a server may leave out empty fields, and that must not count as a change for ever.
    """
    if _without_heartbeats(before) == _without_heartbeats(after):
        return False
    return bool(_given(_plain(before)) != _given(_plain(after)))


def node_has_changed(before: Node | None, after: Node) -> bool:
    """Whether the users of the node's labels, addresses, resources and conditions should hear of it."""
    return before is None or _told(before) != _told(after)


def is_report_due(last_report_ns: int | None, now_ns: int, frequency_ns: int, delay_ns: int) -> bool:
    """Whether to post an unchanged status. Never before the first post, which is for a change."""
    return last_report_ns is not None and now_ns - last_report_ns >= frequency_ns + delay_ns


def delay_after_change_ns(frequency_ns: int, draw: float) -> int:
    """A delay from minus half to plus half of the frequency; `draw` from 0 to 1."""
    return int(frequency_ns * (draw - 0.5))


def is_older(version: str, than: str) -> bool:
    """Whether a resourceVersion is older than another; False when either is no number."""
    return version.isdigit() and than.isdigit() and int(version) < int(than)


def _without_heartbeats(status: NodeStatus) -> NodeStatus:
    return msgspec.structs.replace(
        status, conditions=tuple(sorted(map(_still, status.conditions), key=lambda condition: condition.type))
    )


def _still(condition: NodeCondition) -> NodeCondition:
    return msgspec.structs.replace(condition, last_heartbeat_time=None)


def _plain(status: NodeStatus) -> Any:
    return msgspec.to_builtins(_without_heartbeats(status))


def _given(value: Any) -> Any:
    """`value` without empty fields."""
    if isinstance(value, dict):
        return {name: kept for name, inner in value.items() if (kept := _given(inner))}
    if isinstance(value, list):
        return [_given(inner) for inner in value]
    return value


def _told(node: Node) -> Node:
    metadata = msgspec.structs.replace(node.metadata, resource_version="", managed_fields=())
    return msgspec.structs.replace(
        node, metadata=metadata, status=None if node.status is None else _without_heartbeats(node.status)
    )
