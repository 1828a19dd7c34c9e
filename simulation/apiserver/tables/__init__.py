"""Tables as the server makes them: what `kubectl get` shows, decided where the objects are known. Pure.

Owns which resource has which columns (one file for each family; custom resources say it themselves) and the Table
document around the rows. Refuses to know HTTP: who asks for a table, and how, is the front's business.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from simulation.apiserver.resources import ServedResource
from simulation.apiserver.tables.certificates import CERTIFICATE_SIGNING_REQUESTS
from simulation.apiserver.tables.columns import Json, View
from simulation.apiserver.tables.custom import DEFINITIONS, view_of
from simulation.apiserver.tables.events import EVENTS
from simulation.apiserver.tables.nodes import NODES
from simulation.apiserver.tables.plain import CONFIG_MAPS, LEASES, NAMED, NAMESPACES, RUNTIME_CLASSES, SECRETS
from simulation.apiserver.tables.pods import PODS
from simulation.apiserver.tables.services import SERVICES
from simulation.apiserver.tables.storage import (
    CSI_DRIVERS,
    CSI_NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    VOLUME_ATTACHMENTS,
)

META = "meta.k8s.io/v1"

_VIEWS: Mapping[str, View] = {
    "pods": PODS,
    "nodes": NODES,
    "events": EVENTS,
    "events.events.k8s.io": EVENTS,
    "namespaces": NAMESPACES,
    "configmaps": CONFIG_MAPS,
    "secrets": SECRETS,
    "services": SERVICES,
    "leases.coordination.k8s.io": LEASES,
    "runtimeclasses.node.k8s.io": RUNTIME_CLASSES,
    "persistentvolumes": PERSISTENT_VOLUMES,
    "persistentvolumeclaims": PERSISTENT_VOLUME_CLAIMS,
    "volumeattachments.storage.k8s.io": VOLUME_ATTACHMENTS,
    "csidrivers.storage.k8s.io": CSI_DRIVERS,
    "csinodes.storage.k8s.io": CSI_NODES,
    "certificatesigningrequests.certificates.k8s.io": CERTIFICATE_SIGNING_REQUESTS,
    "customresourcedefinitions.apiextensions.k8s.io": DEFINITIONS,
}


def table_of(
    resource: ServedResource,
    objects: Sequence[Json],
    *,
    wall_ns: int,
    include_object: str = "Metadata",
    list_metadata: Json | None = None,
    with_columns: bool = True,
) -> dict[str, Any]:
    """The Table of `objects` at that time of day.

    `include_object`: "None", "Metadata" or "Object", as the query parameter has it; anything else counts as Metadata.
    `list_metadata`: resourceVersion, continue and remainingItemCount of the list; for one object, a watch event above
    all, leave it out. `with_columns`: False for all events of a watch but the first.
    """
    custom = resource.custom
    view = _VIEWS.get(resource.group_resource, NAMED) if custom is None else view_of(custom)
    if list_metadata is None:
        version = objects[0].get("metadata", {}).get("resourceVersion") if objects else None
        list_metadata = {"resourceVersion": version} if version else {}
    return {
        "kind": "Table",
        "apiVersion": META,
        "metadata": dict(list_metadata),
        "columnDefinitions": [column.as_json() for column in view.columns] if with_columns else None,
        "rows": [_row(view, json, wall_ns, include_object) for json in objects],
    }


def partial_metadata(json: Json) -> dict[str, Any]:
    """The object without all but its metadata."""
    return {"kind": "PartialObjectMetadata", "apiVersion": META, "metadata": json.get("metadata", {})}


def _row(view: View, json: Json, wall_ns: int, include_object: str) -> dict[str, Any]:
    row: dict[str, Any] = {"cells": list(view.cells(json, wall_ns))}
    if include_object == "Object":
        row["object"] = json
    elif include_object != "None":
        row["object"] = partial_metadata(json)
    return row
