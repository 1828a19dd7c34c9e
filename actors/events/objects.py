"""An event as an object of the API: its name, its namespace, the calls that make it and that raise its count (spec 15).

What comes back is not read: nobody needs it, and a thousand pods make thousands of events.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from actors.events.correlation import Series
from config.api.resources import EVENTS
from config.values.api_time import api_time
from runtime.api import ApiCall, create_unread, patch, unread

COMPONENT = "kubelet"
LONGEST_NAME = 253
NAMESPACE_OF_NODES = "default"


def event_name(object_name: str, stamp_ns: int, spare: Callable[[], str]) -> str:
    """`<object>.<16 hex digits>`; what `spare` gives where that would be too long."""
    name = f"{object_name}.{stamp_ns:016x}"
    return name if len(name) <= LONGEST_NAME else spare()


def creation(series: Series, node_name: str) -> ApiCall[None]:
    """Make the event. An event of the node itself refers to it by its name, also where a UID stands."""
    event = series.event
    namespace = event.namespace or NAMESPACE_OF_NODES
    metadata: dict[str, Any] = {"name": series.name, "namespace": namespace}
    if event.annotations:
        metadata["annotations"] = dict(event.annotations)
    about = {"apiVersion": "v1", "kind": event.kind, "name": event.name, "uid": event.uid or event.name}
    if event.namespace:
        about["namespace"] = event.namespace
    if event.field_path:
        about["fieldPath"] = event.field_path
    last = api_time(series.last_wall_ns)
    body = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": metadata,
        "involvedObject": about,
        "reason": event.reason,
        "message": series.message,
        "type": event.type,
        "count": series.count,
        "firstTimestamp": last if series.count == 1 else api_time(series.first_wall_ns),
        "lastTimestamp": last,
        "source": {"component": COMPONENT, "host": node_name},
        "reportingComponent": COMPONENT,
        "reportingInstance": node_name,
    }
    return create_unread(EVENTS, namespace, series.name, body)


def raising(series: Series) -> ApiCall[Any]:
    """Bring the count, the time and the message of an event that the API server has up to date."""
    changed = {"count": series.count, "lastTimestamp": api_time(series.last_wall_ns), "message": series.message}
    return unread(patch(EVENTS, series.event.namespace or NAMESPACE_OF_NODES, series.name, changed))
