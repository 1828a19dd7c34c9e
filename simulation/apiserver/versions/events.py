"""Events are stored as core/v1 has them; `events.k8s.io/v1` has other names for some fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_NEW_NAMES: Mapping[str, str] = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
_OLD_NAMES = {new: old for old, new in _NEW_NAMES.items()}


def from_core(value: dict[str, Any]) -> dict[str, Any]:
    """A stored event in `events.k8s.io/v1`."""
    return _renamed(value, _NEW_NAMES, "events.k8s.io/v1")


def to_core(value: dict[str, Any]) -> dict[str, Any]:
    """An event of `events.k8s.io/v1` as it is stored."""
    return _renamed(value, _OLD_NAMES, "v1")


def _renamed(value: dict[str, Any], names: Mapping[str, str], api_version: str) -> dict[str, Any]:
    made = {**{names.get(name, name): part for name, part in value.items()}, "apiVersion": api_version}
    if "metadata" in value:
        made["metadata"] = dict(value["metadata"])
    return made
