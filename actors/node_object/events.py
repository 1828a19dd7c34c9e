"""The events of a node (spec 9.3, 15): the changes of its status, by reason."""

from __future__ import annotations

from actors.messages.events import RecordEvent
from actors.node_object.conditions import events_of_change
from actors.node_object.node_info import has_rebooted
from config.objects import NodeStatus
from runtime.host.machine import MachineFacts


def events_of(name: str, machine: MachineFacts | None, before: NodeStatus, after: NodeStatus) -> dict[str, RecordEvent]:
    """The events of replacing `before` by `after`."""
    events = {reason: status_event(name, reason) for reason in events_of_change(before.conditions, after.conditions)}
    if machine is not None and has_rebooted(before.node_info, machine):
        text = f"Node {name} has been rebooted, boot id: {machine.boot_id}"
        events["Rebooted"] = node_event(name, "Warning", "Rebooted", text)
    return events


def status_event(name: str, reason: str) -> RecordEvent:
    """The event of a new status."""
    return node_event(name, "Normal", reason, f"Node {name} status is now: {reason}")


def node_event(name: str, event_type: str, reason: str, message: str) -> RecordEvent:
    """An event of a node. Its UID is the node's name: users and tools search by that."""
    return RecordEvent("Node", name, "", name, event_type, reason, message)
