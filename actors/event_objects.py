"""An event as an object of the API: its name, its namespace, the calls that make it and that raise its count (spec 15).

What comes back is not read: nobody needs it, and a thousand pods make thousands of events.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from actors.event_correlation import Series
from actors.pod_status.times import api_time
from config.api_resources import EVENTS
from config.objects import Event, EventSource, ObjectMeta, ObjectReference
from runtime.api import ApiCall, create, patch, unread

COMPONENT = "kubelet"
LONGEST_NAME = 253
NAMESPACE_OF_NODES = "default"


def event_name(object_name: str, stamp_ns: int, spare: Callable[[], str]) -> str:
    """`<object>.<16 hex digits>`; what `spare` gives where that would be too long."""
    name = f"{object_name}.{stamp_ns:016x}"
    return name if len(name) <= LONGEST_NAME else spare()


def creation(series: Series, node_name: str) -> ApiCall[Any]:
    """Make the event. An event of the node itself refers to it by its name, also where a UID stands."""
    event = series.event
    namespace = event.namespace or NAMESPACE_OF_NODES
    body = Event(
        metadata=ObjectMeta(name=series.name, namespace=namespace, annotations=dict(event.annotations)),
        involved_object=ObjectReference(
            api_version="v1",
            kind=event.kind,
            namespace=event.namespace or None,
            name=event.name,
            uid=event.uid or event.name,
            field_path=event.field_path or None,
        ),
        reason=event.reason,
        message=series.message,
        type=event.type,
        count=series.count,
        first_timestamp=api_time(series.first_wall_ns),
        last_timestamp=api_time(series.last_wall_ns),
        source=EventSource(component=COMPONENT, host=node_name),
        reporting_component=COMPONENT,
        reporting_instance=node_name,
    )
    return unread(create(EVENTS, namespace, body))


def raising(series: Series) -> ApiCall[Any]:
    """Bring the count, the time and the message of an event that the API server has up to date."""
    changed = {"count": series.count, "lastTimestamp": api_time(series.last_wall_ns), "message": series.message}
    return unread(patch(EVENTS, series.event.namespace or NAMESPACE_OF_NODES, series.name, changed))
