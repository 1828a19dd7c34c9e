"""Tables as the server makes them, with the columns that `kubectl get` shows. Pure.

`kinds/table.yaml` and definitions describe a column the same way: a JSONPath, there with a text for objects that have
nothing in that place. Only cells that combine several fields are functions, which the table calls by a word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import msgspec

from config.caches import with_its_object
from config.documents.codec import DocumentError, from_builtins
from config.objects import Pod
from config.pods.words import pod_line
from config.values.ages import short_duration, since
from simulation.apiserver.kinds.table import PODS, ServedResource
from simulation.apiserver.schemas.json_paths import find_all, parse_path
from simulation.apiserver.schemas.kind_schema import KindSchema
from simulation.apiserver.versions.autoscalers import to_v2

META = "meta.k8s.io/v1"
NONE, UNKNOWN = "<none>", "<unknown>"
_EMPTY = (None, "")

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
    view = _view(resource)
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
    """The first of some JSONPaths that has a value, or the text after a bar: `.spec.volumeMode|<unset>`."""
    paths, _, otherwise = text.partition("|")
    return lambda json, _: next(
        (each for path in paths.split() if (each := _first(json, path)) not in _EMPTY), otherwise
    )


def _flag(text: str) -> Source:
    path, _, otherwise = text.partition("|")
    return lambda json, _: otherwise == "true" if (found := _first(json, path)) is None else bool(found)


def _count(*paths: str) -> Source:
    return lambda json, _: sum(len(_first(json, path) or ()) for path in paths)


def _list(text: str) -> Source:
    path, _, otherwise = text.partition("|")
    return lambda json, _: _joined(find_all(json, parse_path(path)), otherwise)


def _text(text: str) -> Source:
    """Words with fields in them: `{.status.readyReplicas|0}/{.spec.replicas}`."""
    pieces = [_field(piece) if at % 2 else piece for at, piece in enumerate(re.split("[{}]", text))]
    return lambda json, wall_ns: "".join(
        piece if isinstance(piece, str) else str(piece(json, wall_ns)) for piece in pieces
    )


def _joined(values: Iterable[object], otherwise: str = NONE) -> str:
    return ",".join(map(str, values)) or otherwise


def _ago(*texts: str) -> Source:
    """The age of the first time that is set, or the text after a bar."""
    paths = [text.partition("|")[0] for text in texts]
    otherwise = texts[-1].partition("|")[2] or UNKNOWN

    def age(json: Json, wall_ns: int) -> str:
        return since(next((found for path in paths if (found := _first(json, path))), None), wall_ns) or otherwise

    return age


_AGE = _ago(".metadata.creationTimestamp")


# --- pods, nodes, events, services ----------------------------------------------------------------------------------


def _pod(json: Json, wall_ns: int) -> Json:
    """A pod as the line that its columns are fields of."""
    try:
        return asdict(pod_line(from_builtins(json, Pod), wall_ns))
    except DocumentError:
        # The store checks what it takes; a listing must not fail for what it let through.
        unknown = {"ready": "0/0", "status": UNKNOWN, "restarts": "0"}
        return {**unknown, "name": json["metadata"]["name"], "age": _AGE(json, wall_ns)}


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


def _event_message(json: Json, _: int) -> str:
    return str(json.get("message") or json.get("note") or "").strip()


def _event_count(json: Json, _: int) -> int:
    return int(_first(json, ".series.count") or json.get("count") or json.get("deprecatedCount") or 1)


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


def _labels(path: str) -> Source:
    return lambda json, _: _joined(f"{key}={value}" for key, value in sorted((_first(json, path) or {}).items()))


_TARGETS_AT_MOST = 2


def _autoscaler_targets(json: Json, _: int) -> str:
    """What each metric has and wants: `cpu: 5%/80%`."""
    value = to_v2(dict(json)) if json.get("apiVersion") == "autoscaling/v1" else json
    wanted = _first(value, ".spec.metrics") or ()
    found = _first(value, ".status.currentMetrics") or ()
    targets = [_target(one, found[at] if at < len(found) else {}) for at, one in enumerate(wanted)]
    more = len(targets) - _TARGETS_AT_MOST
    shown = ", ".join(targets[:_TARGETS_AT_MOST]) or NONE
    return f"{shown} + {more} more..." if more > 0 else shown


def _target(wanted: Json, found: Json) -> str:
    kind = str(wanted.get("type", ""))
    source = kind[:1].lower() + kind[1:]
    if not isinstance(wanted.get(source), dict):
        return "<unknown type>"
    target, current = _first(wanted, f".{source}.target") or {}, _first(found, f".{source}.current") or {}
    field = next((name for name in ("averageValue", "averageUtilization", "value") if name in target), "")
    sign = "%" if field == "averageUtilization" else ""
    has, wants = (f"{one[field]}{sign}" if field in one else None for one in (current, target))
    before = f"{_first(wanted, f'.{source}.name')}: " if source.lower().endswith("resource") else ""
    after = " (avg)" if field == "averageValue" and source in ("object", "external") else ""
    return f"{before}{has or UNKNOWN}/{wants or '<auto>'}{after}"


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


# --- columns of built-in kinds ----------------------------------------------------------------------------------------

_WORDS: Mapping[str, Source] = {
    "age": _AGE,
    "autoscaler-targets": _autoscaler_targets,
    "certificate-condition": _certificate_condition,
    "claim": _claim,
    "event-count": _event_count,
    "event-message": _event_message,
    "event-object": _event_object,
    "event-source": _event_source,
    "external-ip": _external_ip,
    "node-roles": _node_roles,
    "node-status": _node_status,
    "phase": _phase,
    "ports": _ports,
    "requested-duration": _requested,
}
_OF_PATHS: Mapping[str, Callable[..., Source]] = {
    "access": _access,
    "age": _ago,
    "count": _count,
    "flag": _flag,
    "labels": _labels,
    "list": _list,
    "text": _text,
}


def _source(text: str) -> Source:
    """The source of a column in `kinds/table.yaml`: JSONPaths, a word, or a word and its paths."""
    if text.startswith("."):
        return _field(text)
    word, _, rest = text.partition(" ")
    if word == "bound":
        return _when_bound(_source(rest))
    return _OF_PATHS[word](*rest.split()) if rest else _WORDS[word]


@with_its_object
def _view(resource: ServedResource) -> TableView:
    """The columns of the table of kinds; name and age where it has none."""
    if resource.described is not None and resource.described.columns:
        return _custom_view(resource.described)
    columns = resource.columns or {"Name": ".metadata.name", "Age": "age"}
    names = [name.lstrip("+") for name in columns]
    wide = [int(name.startswith("+")) for name in columns]
    shown = tuple(
        Column(name, priority=priority, format="name" if name == "Name" else "")
        for name, priority in zip(names, wide, strict=True)
    )
    sources = [_source(text) for text in columns.values()]

    of_pods = resource is PODS

    def cells(json: Json, wall_ns: int) -> list[Cell]:
        json = _pod(json, wall_ns) if of_pods else json
        return [source(json, wall_ns) for source in sources]

    return TableView(shown, cells)


# --- custom resources -----------------------------------------------------------------------------------------------


def _custom_view(custom: KindSchema) -> TableView:
    """The columns of the definition, behind the name."""
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
        return [
            _first(json, ".metadata.name"),
            *(_custom_cell(_first(json, path), kind, wall_ns) for path, kind in sources),
        ]

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
