"""Tables as the server makes them: the columns that `kubectl get` shows, and the Table document around the rows. Pure.

Built-in kinds and definitions describe a column the same way: a JSONPath, with a text for objects that have nothing
there. Only cells that combine several fields are functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import msgspec

from config.documents.codec import DocumentError, from_builtins
from config.objects import Pod
from config.pods.words import pod_line
from config.values.ages import short_duration, since
from simulation.apiserver.custom.json_paths import find_all, parse_path
from simulation.apiserver.resources import CustomVersion, ServedResource

META = "meta.k8s.io/v1"
NONE, UNKNOWN, UNSET = "<none>", "<unknown>", "<unset>"

Json = Mapping[str, Any]
Cell = str | int | float | bool | None
Source = Callable[[Json, int], Cell]
"""(object, time of day in ns) -> cell."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column. Priority 0 is always shown, 1 with `-o wide`; `type` and `format` are those of OpenAPI."""

    name: str
    type: str = "string"
    format: str = ""
    description: str = ""
    priority: int = 0


@dataclass(frozen=True, slots=True)
class TableView:
    """The columns of a resource, and the cells of one object at that time of day (ns)."""

    columns: tuple[Column, ...]
    cells: Callable[[Json, int], Sequence[Cell]]


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

    `include_object`: the query parameter, "None", "Metadata" or "Object". `list_metadata`: that of the list; leave
    it out for one object. `with_columns`: False for all events of a watch but the first.
    """
    view = _VIEWS.get(resource.group_resource, _PLAIN) if resource.custom is None else _custom_view(resource.custom)
    if list_metadata is None:
        version = objects[0].get("metadata", {}).get("resourceVersion") if objects else None
        list_metadata = {"resourceVersion": version} if version else {}
    return {
        "kind": "Table",
        "apiVersion": META,
        "metadata": dict(list_metadata),
        "columnDefinitions": msgspec.to_builtins(view.columns) if with_columns else None,
        "rows": [_row(view, json, wall_ns, include_object) for json in objects],
    }


def partial_metadata(json: Json) -> dict[str, Any]:
    """The metadata of the object alone."""
    return {"kind": "PartialObjectMetadata", "apiVersion": META, "metadata": json.get("metadata", {})}


def _row(view: TableView, json: Json, wall_ns: int, include_object: str) -> dict[str, Any]:
    row: dict[str, Any] = {"cells": list(view.cells(json, wall_ns))}
    if include_object == "Object":
        row["object"] = json
    elif include_object != "None":
        row["object"] = partial_metadata(json)
    return row


# --- cells ----------------------------------------------------------------------------------------------------------


def _first(json: Json, path: str) -> Any:
    """The first value at a JSONPath; None when there is none."""
    return next(find_all(json, parse_path(path)), None)


def _field(text: str) -> Source:
    """A JSONPath, with the text for an empty value after a bar: `.spec.volumeMode|<unset>`."""
    path, _, otherwise = text.partition("|")
    return lambda json, _: found if (found := _first(json, path)) not in (None, "") else otherwise


def _flag(path: str, *, otherwise: bool = False) -> Source:
    return lambda json, _: bool(otherwise if (found := _first(json, path)) is None else found)


def _count(*paths: str) -> Source:
    return lambda json, _: sum(len(_first(json, path) or ()) for path in paths)


def _list(path: str, otherwise: str = NONE) -> Source:
    return lambda json, _: _joined(find_all(json, parse_path(path)), otherwise)


def _joined(values: Iterable[object], otherwise: str = NONE) -> str:
    return ",".join(map(str, values)) or otherwise


def _ago(*paths: str) -> Source:
    """The age of the first time that is set."""

    def age(json: Json, wall_ns: int) -> str:
        return since(next((found for path in paths if (found := _first(json, path))), None), wall_ns) or UNKNOWN

    return age


NAME, AGE = _field(".metadata.name"), _ago(".metadata.creationTimestamp")


def _view(columns: Mapping[str, Source | str]) -> TableView:
    """Columns by their names, with `+` before those that only `-o wide` shows; a text is a field."""
    sources = [_field(source) if isinstance(source, str) else source for source in columns.values()]
    shown = tuple(
        Column(name.lstrip("+"), priority=int(name[0] == "+"), format="name" if source is NAME else "")
        for name, source in columns.items()
    )
    return TableView(shown, lambda json, wall_ns: [source(json, wall_ns) for source in sources])


# --- pods, nodes, events, services ----------------------------------------------------------------------------------

_POD_COLUMNS = ("Name", "Ready", "Status", "Restarts", "Age", "+IP", "+Node", "+Nominated Node", "+Readiness Gates")


def _pod(json: Json, wall_ns: int) -> list[Cell]:
    try:
        line = pod_line(from_builtins(json, Pod), wall_ns)
    except DocumentError:
        # The store checks what it takes; a listing must not fail for what it let through.
        return [NAME(json, wall_ns), "0/0", UNKNOWN, "0", AGE(json, wall_ns), *[NONE] * 4]
    first: list[Cell] = [line.name, line.ready, line.status, line.restarts, line.age or UNKNOWN]
    return [*first, *(text or NONE for text in (line.ip, line.node, line.nominated_node, line.readiness_gates))]


def _node_status(json: Json, _: int) -> str:
    ready = _first(json, '.status.conditions[?(@.type=="Ready")].status')
    word = "Unknown" if ready is None else "Ready" if ready == "True" else "NotReady"
    return f"{word},SchedulingDisabled" if _first(json, ".spec.unschedulable") else word


def _node_roles(json: Json, _: int) -> str:
    labels, prefix = _first(json, ".metadata.labels") or {}, "node-role.kubernetes.io/"
    roles = {label.removeprefix(prefix) for label in labels if label.startswith(prefix)}
    return _joined(sorted((roles | {labels.get("kubernetes.io/role", "")}) - {""}))


def _event_object(json: Json, _: int) -> str:
    about = json.get("involvedObject") or json.get("regarding") or {}
    kind = str(about.get("kind", "")).lower()
    return f"{kind}/{about['name']}" if about.get("name") else kind


def _event_source(json: Json, _: int) -> str:
    source = json.get("source") or json.get("deprecatedSource") or {}
    who = source.get("component") or json.get("reportingComponent") or json.get("reportingController") or ""
    where = source.get("host") or json.get("reportingInstance")
    return f"{who}, {where}" if where else who


_FIRST_SEEN = (".firstTimestamp", ".deprecatedFirstTimestamp", ".eventTime")
_EVENT_VIEW = _view(
    {
        "Last Seen": _ago(".series.lastObservedTime", ".lastTimestamp", ".deprecatedLastTimestamp", *_FIRST_SEEN),
        "Type": ".type",
        "Reason": ".reason",
        "Object": _event_object,
        "+Subobject": lambda json, _: (json.get("involvedObject") or json.get("regarding") or {}).get("fieldPath", ""),
        "+Source": _event_source,
        "Message": lambda json, _: str(json.get("message") or json.get("note") or "").strip(),
        "+First Seen": _ago(*_FIRST_SEEN),
        "+Count": lambda json, _: (
            _first(json, ".series.count") or json.get("count") or json.get("deprecatedCount") or 1
        ),
        "+Name": NAME,
    }
)


def _cluster_ip(json: Json, _: int) -> str:
    return str(_first(json, ".spec.clusterIPs[0]") or _first(json, ".spec.clusterIP") or NONE)


def _external_ip(json: Json, _: int) -> str:
    spec = json.get("spec") or {}
    given = spec.get("externalIPs") or ()
    if spec.get("type") == "ExternalName":
        return str(spec.get("externalName", ""))
    if spec.get("type") != "LoadBalancer":
        return _joined(given)
    ways_in = _first(json, ".status.loadBalancer.ingress") or ()
    return _joined([*(way.get("ip") or way.get("hostname") for way in ways_in), *given], "<pending>")


def _ports(json: Json, _: int) -> str:
    def shown(port: Json) -> str:
        at_node = f":{port['nodePort']}" if port.get("nodePort") else ""
        return f"{port.get('port')}{at_node}/{port.get('protocol', 'TCP')}"

    return _joined(map(shown, _first(json, ".spec.ports") or ()))


def _selector(json: Json, _: int) -> str:
    return _joined(f"{key}={value}" for key, value in sorted((_first(json, ".spec.selector") or {}).items()))


# --- storage and certificates ---------------------------------------------------------------------------------------

_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}


def _access(path: str) -> Source:
    return lambda json, _: ",".join(short for mode, short in _MODES.items() if mode in (_first(json, path) or ()))


def _phase(json: Json, _: int) -> str:
    if _first(json, ".metadata.deletionTimestamp"):
        return "Terminating"
    return str(_first(json, ".status.phase") or "")


def _claim(json: Json, _: int) -> str:
    claim = _first(json, ".spec.claimRef") or {}
    return f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else ""


def _when_bound(source: Source) -> Source:
    """A claim shows what it has only once it has a volume."""
    return lambda json, wall_ns: source(json, wall_ns) if _first(json, ".spec.volumeName") else ""


def _requested(json: Json, _: int) -> str:
    seconds = _first(json, ".spec.expirationSeconds")
    return short_duration(seconds) if isinstance(seconds, int) else NONE


def _certificate_condition(json: Json, _: int) -> str:
    types = set(find_all(json, parse_path(".status.conditions[*].type")))
    words = ["Denied" if "Denied" in types else "Approved" if "Approved" in types else "Pending"]
    words += ["Failed"] if "Failed" in types else []
    words += ["Issued"] if _first(json, ".status.certificate") else []
    return ",".join(words)


_ATTRIBUTES_CLASS, _VOLUME_MODE = ".spec.volumeAttributesClassName|<unset>", ".spec.volumeMode|<unset>"
_PLAIN = _view({"Name": NAME, "Age": AGE})
_VIEWS: Mapping[str, TableView] = {
    "pods": TableView(_view(dict.fromkeys(_POD_COLUMNS, "") | {"Name": NAME}).columns, _pod),
    "nodes": _view(
        {
            "Name": NAME,
            "Status": _node_status,
            "Roles": _node_roles,
            "Age": AGE,
            "Version": ".status.nodeInfo.kubeletVersion",
            "+Internal-IP": '.status.addresses[?(@.type=="InternalIP")].address|<none>',
            "+External-IP": '.status.addresses[?(@.type=="ExternalIP")].address|<none>',
            "+OS-Image": ".status.nodeInfo.osImage|<unknown>",
            "+Kernel-Version": ".status.nodeInfo.kernelVersion|<unknown>",
            "+Container-Runtime": ".status.nodeInfo.containerRuntimeVersion|<unknown>",
        }
    ),
    "events": _EVENT_VIEW,
    "events.events.k8s.io": _EVENT_VIEW,
    "namespaces": _view({"Name": NAME, "Status": ".status.phase", "Age": AGE}),
    "configmaps": _view({"Name": NAME, "Data": _count(".data", ".binaryData"), "Age": AGE}),
    "secrets": _view({"Name": NAME, "Type": ".type", "Data": _count(".data"), "Age": AGE}),
    "services": _view(
        {
            "Name": NAME,
            "Type": ".spec.type",
            "Cluster-IP": _cluster_ip,
            "External-IP": _external_ip,
            "Port(s)": _ports,
            "Age": AGE,
            "+Selector": _selector,
        }
    ),
    "leases.coordination.k8s.io": _view({"Name": NAME, "Holder": ".spec.holderIdentity", "Age": AGE}),
    "runtimeclasses.node.k8s.io": _view({"Name": NAME, "Handler": ".handler", "Age": AGE}),
    "persistentvolumes": _view(
        {
            "Name": NAME,
            "Capacity": ".spec.capacity.storage",
            "Access Modes": _access(".spec.accessModes"),
            "Reclaim Policy": ".spec.persistentVolumeReclaimPolicy",
            "Status": _phase,
            "Claim": _claim,
            "StorageClass": ".spec.storageClassName",
            "VolumeAttributesClass": _ATTRIBUTES_CLASS,
            "Reason": ".status.reason",
            "Age": AGE,
            "+VolumeMode": _VOLUME_MODE,
        }
    ),
    "persistentvolumeclaims": _view(
        {
            "Name": NAME,
            "Status": _phase,
            "Volume": ".spec.volumeName",
            "Capacity": _when_bound(_field(".status.capacity.storage")),
            "Access Modes": _when_bound(_access(".status.accessModes")),
            "StorageClass": ".spec.storageClassName",
            "VolumeAttributesClass": _ATTRIBUTES_CLASS,
            "Age": AGE,
            "+VolumeMode": _VOLUME_MODE,
        }
    ),
    "volumeattachments.storage.k8s.io": _view(
        {
            "Name": NAME,
            "Attacher": ".spec.attacher",
            "PV": ".spec.source.persistentVolumeName",
            "Node": ".spec.nodeName",
            "Attached": _flag(".status.attached"),
            "Age": AGE,
        }
    ),
    "csidrivers.storage.k8s.io": _view(
        {
            "Name": NAME,
            "AttachRequired": _flag(".spec.attachRequired", otherwise=True),
            "PodInfoOnMount": _flag(".spec.podInfoOnMount"),
            "StorageCapacity": _flag(".spec.storageCapacity"),
            "TokenRequests": _list(".spec.tokenRequests[*].audience", UNSET),
            "RequiresRepublish": _flag(".spec.requiresRepublish"),
            "Modes": _list(".spec.volumeLifecycleModes[*]"),
            "Age": AGE,
        }
    ),
    "csinodes.storage.k8s.io": _view({"Name": NAME, "Drivers": _count(".spec.drivers"), "Age": AGE}),
    "certificatesigningrequests.certificates.k8s.io": _view(
        {
            "Name": NAME,
            "Age": AGE,
            "SignerName": ".spec.signerName|<none>",
            "Requestor": ".spec.username",
            "RequestedDuration": _requested,
            "Condition": _certificate_condition,
        }
    ),
    "customresourcedefinitions.apiextensions.k8s.io": _view(
        {"Name": NAME, "Created At": ".metadata.creationTimestamp"}
    ),
}


# --- custom resources -----------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def _custom_view(custom: CustomVersion) -> TableView:
    """The columns of the definition; name and age where it has none."""
    if not custom.columns:
        return _PLAIN
    columns = tuple(
        Column(
            column["name"],
            column["type"],
            column.get("format", ""),
            column.get("description")
            or f"Custom resource definition column (in JSONPath format): {column['jsonPath']}",
            column.get("priority", 0),
        )
        for column in custom.columns
    )
    sources = [(column["jsonPath"], column["type"]) for column in custom.columns]

    def cells(json: Json, wall_ns: int) -> list[Cell]:
        return [NAME(json, wall_ns), *(_custom_cell(_first(json, path), kind, wall_ns) for path, kind in sources)]

    return TableView((Column("Name", format="name"), *columns), cells)


def _custom_cell(found: Any, kind: str, wall_ns: int) -> Cell:
    """A value as that type of column shows it; None when it has another type."""
    if found is None:
        return None
    if kind == "date":
        return (
            None if not isinstance(found, str) else "<invalid>" if (age := since(found, wall_ns)) in ("", "?") else age
        )
    if kind == "boolean":
        return found if isinstance(found, bool) else None
    if kind in ("integer", "number"):
        if isinstance(found, bool) or not isinstance(found, int | float):
            return None
        return int(found) if kind == "integer" else float(found)
    return found if isinstance(found, str) else msgspec.json.encode(found).decode()
