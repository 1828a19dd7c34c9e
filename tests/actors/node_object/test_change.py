"""What is worth a write, and the patch that is written (spec 9.2)."""

from __future__ import annotations

import msgspec
import pytest

from actors.node_object.change import (
    delay_after_change_ns,
    is_older,
    is_report_due,
    node_has_changed,
    status_has_changed,
)
from actors.node_object.patch import difference, node_patch
from config.objects import Node, NodeAddress, NodeCondition, NodeSpec, NodeStatus, ObjectMeta

READY = NodeCondition(type="Ready", status="True", last_heartbeat_time="2026-01-01T00:00:00Z")
DISK = NodeCondition(type="DiskPressure", status="False", last_heartbeat_time="2026-01-01T00:00:00Z")
FOREIGN = NodeCondition(type="NetworkUnavailable", status="False")


def later(condition: NodeCondition) -> NodeCondition:
    return msgspec.structs.replace(condition, last_heartbeat_time="2026-01-01T00:01:00Z")


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        (NodeStatus(conditions=(READY, DISK)), NodeStatus(conditions=(later(DISK), later(READY))), False),
        (
            NodeStatus(conditions=(READY,)),
            NodeStatus(conditions=(msgspec.structs.replace(READY, message="m"),)),
            True,
        ),
        (NodeStatus(), NodeStatus(capacity={"cpu": "1"}), True),
        (NodeStatus(capacity={"cpu": "1", "memory": "1"}), NodeStatus(capacity={"memory": "1", "cpu": "1"}), False),
    ],
)
# (spec 9.2.2)
def test_heartbeats_and_order_are_no_change(before: NodeStatus, after: NodeStatus, changed: bool) -> None:
    assert status_has_changed(before, after) is changed


def test_those_who_use_a_node_hear_of_all_but_heartbeats_and_versions() -> None:
    node = Node(metadata=ObjectMeta(name="n", resource_version="1"), status=NodeStatus(conditions=(READY,)))
    assert node_has_changed(None, node)
    newer = msgspec.structs.replace(
        node, metadata=ObjectMeta(name="n", resource_version="2"), status=NodeStatus(conditions=(later(READY),))
    )
    assert not node_has_changed(node, newer)
    assert node_has_changed(node, msgspec.structs.replace(node, spec=NodeSpec(unschedulable=True)))
    assert node_has_changed(node, msgspec.structs.replace(node, metadata=ObjectMeta(name="n", labels={"a": "b"})))


@pytest.mark.parametrize(
    ("last", "delay", "now", "due"),
    [(None, 0, 10**6, False), (0, 0, 299, False), (0, 0, 300, True), (0, 150, 449, False), (0, -150, 150, True)],
)
def test_an_unchanged_status_is_reported_after_a_while(last: int | None, delay: int, now: int, due: bool) -> None:
    assert is_report_due(last, now, 300, delay) is due


# (spec 9.2.1)
def test_after_a_change_the_while_is_shifted_by_up_to_half_of_it() -> None:
    assert [delay_after_change_ns(300, draw) for draw in (0.0, 0.5, 0.999)] == [-150, 0, 149]


@pytest.mark.parametrize(
    ("version", "than", "older"), [("9", "10", True), ("10", "9", False), ("9", "9", False), ("x", "10", False)]
)
def test_versions_are_compared_where_they_are_numbers(version: str, than: str, older: bool) -> None:
    assert is_older(version, than) is older


def test_a_difference_names_what_is_new_other_and_gone() -> None:
    before = {"same": 1, "other": 1, "gone": 1, "deep": {"a": 1, "b": 2}, "list": [1, 2], "still": {"x": [1]}}
    after = {"same": 1, "other": 2, "new": {"c": 3}, "deep": {"a": 1, "b": 3}, "list": [2], "still": {"x": [1]}}
    assert difference(before, after) == {"gone": None, "other": 2, "new": {"c": 3}, "deep": {"b": 3}, "list": [2]}


# (spec 9.2.3)
def test_a_patch_has_the_agents_part_only() -> None:
    old = NodeStatus(
        capacity={"cpu": "4", "hugepages-16Mi": "0"},
        conditions=(FOREIGN, READY),
        addresses=(NodeAddress(type="InternalIP", address="192.0.2.1"),),
    )
    new = NodeStatus(
        capacity={"cpu": "8"},
        conditions=(FOREIGN, later(READY)),
        addresses=(
            NodeAddress(type="InternalIP", address="192.0.2.1"),
            NodeAddress(type="InternalIP", address="2001:db8::1"),
        ),
    )
    before = Node(metadata=ObjectMeta(name="n", labels={"a": "1", "b": "2"}), status=old)
    after = Node(metadata=ObjectMeta(name="n", labels={"a": "1", "b": "3"}), status=new)
    assert node_patch(before, after) == {
        "metadata": {"labels": {"b": "3"}},
        "status": {
            "capacity": {"cpu": "8", "hugepages-16Mi": None},
            "addresses": [
                {"type": "InternalIP", "address": "192.0.2.1"},
                {"type": "InternalIP", "address": "2001:db8::1"},
                {"$patch": "replace"},
            ],
            "conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-01-01T00:01:00Z"}],
        },
    }
    assert node_patch(after, after) == {}
