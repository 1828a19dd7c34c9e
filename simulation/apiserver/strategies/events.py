"""Events that the server and its controllers write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simulation.apiserver.status import Json


def event_about(value: Mapping[str, Any], name: str, component: str, now: str, **said: Any) -> Json:
    """An event about an object. `said`: its type, reason, message and the like."""
    metadata = value["metadata"]
    about = {field: metadata[field] for field in ("namespace", "name", "uid", "resourceVersion") if field in metadata}
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": metadata.get("namespace") or "default"},
        "involvedObject": {"apiVersion": value["apiVersion"], "kind": value["kind"], **about},
        **said,
        "source": {"component": component},
        "reportingComponent": component,
        "reportingInstance": "",
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }
