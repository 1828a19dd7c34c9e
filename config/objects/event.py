"""Events: what happened, told to people."""

from __future__ import annotations

from typing import Literal

from config.objects.base import ApiObject, ApiStruct, Int32, written
from config.objects.meta import ObjectMeta
from config.objects.selectors import ObjectReference


class EventSeries(ApiStruct, frozen=True):
    """core/v1 EventSeries."""

    count: Int32 | None = None
    last_observed_time: str | None = None


class EventSource(ApiStruct, frozen=True):
    """core/v1 EventSource."""

    component: str | None = None
    host: str | None = None


class Event(ApiObject, frozen=True):
    """core/v1 Event."""

    api_version: Literal["v1"] = written("v1")
    kind: Literal["Event"] = written("Event")
    metadata: ObjectMeta = ObjectMeta()
    action: str | None = None
    count: Int32 | None = None
    event_time: str | None = None
    first_timestamp: str | None = None
    involved_object: ObjectReference = ObjectReference()
    last_timestamp: str | None = None
    message: str | None = None
    reason: str | None = None
    related: ObjectReference | None = None
    reporting_component: str | None = None
    reporting_instance: str | None = None
    series: EventSeries | None = None
    source: EventSource | None = None
    type: str | None = None
