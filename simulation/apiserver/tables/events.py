"""Events, in the form of the core group and in that of `events.k8s.io`, which names the same fields anew."""

from __future__ import annotations

from config.values.ages import since
from simulation.apiserver.tables.columns import NAME, UNKNOWN, Cell, Column, Json, View, name_of, part, wide

_COLUMNS = (
    Column("Last Seen", "How long ago it happened last."),
    Column("Type", "Normal or Warning."),
    Column("Reason", "Why, in one word."),
    Column("Object", "What it is about."),
    wide("Subobject", "The part of the object that it is about."),
    wide("Source", "Who tells it, and from where."),
    Column("Message", "What has happened."),
    wide("First Seen", "How long ago it happened first."),
    wide("Count", "How often it has happened."),
    wide("Name", NAME.description, format="name"),
)


def _cells(json: Json, wall_ns: int) -> list[Cell]:
    series = part(json, "series")
    first = json.get("firstTimestamp") or json.get("deprecatedFirstTimestamp") or json.get("eventTime")
    last = json.get("lastTimestamp") or json.get("deprecatedLastTimestamp") or first
    if series:
        last = series.get("lastObservedTime") or last
    count = series.get("count") or json.get("count") or json.get("deprecatedCount") or 1
    about = part(json, "involvedObject") or part(json, "regarding")
    kind = str(about.get("kind", "")).lower()
    return [
        since(last, wall_ns) or UNKNOWN,
        json.get("type", ""),
        json.get("reason", ""),
        f"{kind}/{about['name']}" if about.get("name") else kind,
        about.get("fieldPath", ""),
        _source(json),
        str(json.get("message") or json.get("note") or "").strip(),
        since(first, wall_ns) or UNKNOWN,
        count,
        name_of(json),
    ]


def _source(json: Json) -> str:
    source = part(json, "source") or part(json, "deprecatedSource")
    who = source.get("component") or json.get("reportingComponent") or json.get("reportingController") or ""
    where = source.get("host") or json.get("reportingInstance")
    return f"{who}, {where}" if where else who


EVENTS = View(_COLUMNS, _cells)
