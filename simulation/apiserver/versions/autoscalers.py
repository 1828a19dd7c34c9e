"""HorizontalPodAutoscalers are stored as `autoscaling/v2` has them.

`autoscaling/v1` has fields for the CPU alone. Other metrics, behaviour, conditions and current metrics stand in
annotations, as JSON. A client that reads an object in v1 and sends it back loses nothing. Upstream has the rules in
`pkg/apis/autoscaling/v1/conversion.go`. An annotation that does not fit its Go type is left out, as there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import msgspec

from config.values.quantity import QuantityError, parse_quantity
from simulation.apiserver.kinds.defaults import default_rules, with_defaults
from simulation.apiserver.rules.causes import shown as as_go_writes
from simulation.apiserver.schemas.go_types import GoTypeError, read_message

Json: TypeAlias = dict[str, Any]

KIND, V1, V2 = "HorizontalPodAutoscaler", "autoscaling/v1", "autoscaling/v2"
_PREFIX = "autoscaling.alpha.kubernetes.io/"
METRICS, CURRENT = f"{_PREFIX}metrics", f"{_PREFIX}current-metrics"
BEHAVIOUR, CONDITIONS = f"{_PREFIX}behavior", f"{_PREFIX}conditions"
_OURS = frozenset(
    {METRICS, CURRENT, BEHAVIOUR, CONDITIONS, f"{_PREFIX}scale-down-tolerance", f"{_PREFIX}scale-up-tolerance"}
)
"""Annotations that only say what the stored object says in its fields."""
_V1_TYPE, _V2_TYPE = "io.k8s.api.autoscaling.v1", "io.k8s.api.autoscaling.v2"

_Field: TypeAlias = tuple[str, str, Any]
"""A field of a metric in v1, its path in v2, and what v1 writes for no value; None: nothing."""
_SPECS: Mapping[str, tuple[_Field, ...]] = {
    "object": (
        ("target", "describedObject", {}),
        ("metricName", "metric.name", ""),
        ("targetValue", "target.value", "0"),
        ("selector", "metric.selector", None),
        ("averageValue", "target.averageValue", None),
    ),
    "pods": (
        ("metricName", "metric.name", ""),
        ("targetAverageValue", "target.averageValue", "0"),
        ("selector", "metric.selector", None),
    ),
    "resource": (
        ("name", "name", ""),
        ("targetAverageUtilization", "target.averageUtilization", None),
        ("targetAverageValue", "target.averageValue", None),
    ),
    "containerResource": (
        ("name", "name", ""),
        ("targetAverageUtilization", "target.averageUtilization", None),
        ("targetAverageValue", "target.averageValue", None),
        ("container", "container", ""),
    ),
    "external": (
        ("metricName", "metric.name", ""),
        ("metricSelector", "metric.selector", None),
        ("targetValue", "target.value", None),
        ("targetAverageValue", "target.averageValue", None),
    ),
}
_STATUSES: Mapping[str, tuple[_Field, ...]] = {
    "object": (
        ("target", "describedObject", {}),
        ("metricName", "metric.name", ""),
        ("currentValue", "current.value", "0"),
        ("selector", "metric.selector", None),
        ("averageValue", "current.averageValue", None),
    ),
    "pods": (
        ("metricName", "metric.name", ""),
        ("currentAverageValue", "current.averageValue", "0"),
        ("selector", "metric.selector", None),
    ),
    "resource": (
        ("name", "name", ""),
        ("currentAverageUtilization", "current.averageUtilization", None),
        ("currentAverageValue", "current.averageValue", "0"),
    ),
    "containerResource": (
        ("name", "name", ""),
        ("currentAverageUtilization", "current.averageUtilization", None),
        ("currentAverageValue", "current.averageValue", "0"),
        ("container", "container", ""),
    ),
    "external": (
        ("metricName", "metric.name", ""),
        ("metricSelector", "metric.selector", None),
        ("currentValue", "current.value", "0"),
        ("currentAverageValue", "current.averageValue", None),
    ),
}
"""In both tables, sources and fields are in the order in which Go writes them."""
_CONDITION = (("type", ""), ("status", ""), ("lastTransitionTime", None), ("reason", None), ("message", None))
_SCALING = ("stabilizationWindowSeconds", "selectPolicy", "policies", "tolerance")
_POLICY = ("type", "value", "periodSeconds")
_SAME = ("observedGeneration", "lastScaleTime", "currentReplicas", "desiredReplicas")
"""Fields of the status that both versions have."""


def from_v2(value: Json) -> Json:
    """An object of v2 as it is stored."""
    return _with_annotations(value, {}) if "metadata" in value else value


def as_v2(value: Json) -> Json:
    """A stored object in v2. Go writes a list that may not be left out as null."""
    if "metadata" in value:
        value = {**value, "metadata": dict(value["metadata"])}
    status = value.get("status")
    return value if status is None else {**value, "status": {"currentMetrics": None, **status}}


# --- v2 to v1 -------------------------------------------------------------------------------------------------------


def to_v1(value: Json) -> Json:
    """A stored object in v1."""
    made, notes = {**value, "apiVersion": V1}, dict[str, Any]()
    spec, status = value.get("spec"), value.get("status")
    if spec is not None:
        metrics, behaviour = spec.get("metrics") or (), spec.get("behavior")
        made["spec"] = {name: part for name, part in spec.items() if name not in ("metrics", "behavior")}
        shares = [share for metric in metrics if (share := _share_of_cpu(metric, "target")) is not None]
        if shares:
            made["spec"]["targetCPUUtilizationPercentage"] = shares[0]
        notes[METRICS] = [_metric_in_v1(one, _SPECS) for one in metrics if _share_of_cpu(one, "target") is None]
        notes[BEHAVIOUR] = None if behaviour is None else _behaviour_in_go(behaviour)
    if status is not None:
        current = status.get("currentMetrics") or ()
        made["status"] = {name: status[name] for name in _SAME if name in status}
        made["status"] |= {name: status.get(name) or 0 for name in ("currentReplicas", "desiredReplicas")}
        shares = [share for metric in current if (share := _share_of_cpu(metric, "current")) is not None]
        if shares:
            made["status"]["currentCPUUtilizationPercentage"] = shares[-1]
        notes[CURRENT] = [_metric_in_v1(one, _STATUSES) for one in current]
        notes[CONDITIONS] = [_condition_in_v1(one) for one in status.get("conditions") or ()]
    if "metadata" not in value:
        return made
    return _with_annotations(made, {name: as_go_writes(note) for name, note in notes.items() if note})


def _share_of_cpu(metric: Json, where: str) -> int | None:
    """The use of the CPU in percent that a metric wants (`target`) or has (`current`), or None."""
    resource = metric.get("resource") or {}
    if metric.get("type") != "Resource" or resource.get("name") != "cpu":
        return None
    share: int | None = (resource.get(where) or {}).get("averageUtilization")
    return share


def _metric_in_v1(metric: Json, tables: Mapping[str, tuple[_Field, ...]]) -> Json:
    made: Json = {"type": metric.get("type", "")}
    for source, table in tables.items():
        if metric.get(source) is not None:
            found = ((name, _at(metric[source], path), empty) for name, path, empty in table)
            parts = {name: empty if part is None else part for name, part, empty in found}
            made[source] = {name: part for name, part in parts.items() if part is not None}
    return made


def _condition_in_v1(condition: Json) -> Json:
    made = {name: condition.get(name) or empty for name, empty in _CONDITION}
    return {name: part for name, part in made.items() if part is not None or name == "lastTransitionTime"}


def _behaviour_in_go(behaviour: Json) -> Json:
    """The behaviour under the names of Go's fields: upstream writes the internal type down."""
    return {_capital(name): _scaling_in_go(behaviour.get(name)) for name in ("scaleUp", "scaleDown")}


def _scaling_in_go(rules: Json | None) -> Json | None:
    if rules is None:
        return None
    made = {_capital(name): rules.get(name) for name in _SCALING}
    if rules.get("policies") is not None:
        made["Policies"] = [{_capital(name): one.get(name) for name in _POLICY} for one in rules["policies"]]
    return made


def _capital(name: str) -> str:
    return name[:1].upper() + name[1:]


# --- v1 to v2 -------------------------------------------------------------------------------------------------------


def to_v2(value: Json) -> Json:
    """An object of v1 as it is stored."""
    made = {**value, "apiVersion": V2}
    notes = (value.get("metadata") or {}).get("annotations") or {}
    spec, status = value.get("spec"), value.get("status")
    if spec is not None:
        made["spec"] = dict(spec)
        share = made["spec"].pop("targetCPUUtilizationPercentage", None)
        metrics = [] if share is None else [_metric_of_cpu({"target": _target({"averageUtilization": share})})]
        others = _items(notes.get(METRICS), f"{_V1_TYPE}.MetricSpec")
        made["spec"]["metrics"] = [*(_metric_in_v2(one, _SPECS) for one in others or ()), *metrics]
        if behaviour := _behaviour(notes.get(BEHAVIOUR)):
            made["spec"]["behavior"] = behaviour
        made["spec"] = with_defaults({"spec": made["spec"]}, default_rules(V2, KIND))["spec"]
    if status is not None:
        made["status"] = {name: status[name] for name in _SAME if name in status}
        made["status"]["desiredReplicas"] = status.get("desiredReplicas") or 0
        if not status.get("currentReplicas"):
            made["status"].pop("currentReplicas", None)
        made["status"] |= _status_in_annotations(status, notes)
    return from_v2(made)


def _status_in_annotations(status: Json, notes: Mapping[str, Any]) -> Json:
    share = status.get("currentCPUUtilizationPercentage")
    current = [] if share is None else [_metric_of_cpu({"current": {"averageUtilization": share}})]
    found = _items(notes.get(CURRENT), f"{_V1_TYPE}.MetricStatus")
    if found is not None:
        current = [_metric_in_v2(one, _STATUSES) for one in found]
    conditions = _items(notes.get(CONDITIONS), f"{_V1_TYPE}.HorizontalPodAutoscalerCondition")
    made: Json = {"currentMetrics": current} if current else {}
    if conditions:
        made["conditions"] = [_without_nulls(one) for one in conditions]
    return made


def _metric_of_cpu(more: Json) -> Json:
    return {"type": "Resource", "resource": {"name": "cpu", **more}}


def _metric_in_v2(metric: Json, tables: Mapping[str, tuple[_Field, ...]]) -> Json:
    made: Json = {"type": metric.get("type", "")}
    for source, table in tables.items():
        if metric.get(source) is not None:
            made[source] = part = _at_paths(metric[source], table)
            if tables is _SPECS:
                part["target"] = _target(part.get("target", {}))
    return made


def _at_paths(source: Json, table: Iterable[_Field]) -> Json:
    made: Json = {}
    for name, path, empty in table:
        part = source.get(name, empty)
        if part is not None:
            *way, last = path.split(".")
            holder = made
            for step in way:
                holder = holder.setdefault(step, {})
            holder[last] = part
    return made


def _target(values: Json) -> Json:
    """A target with its type, which v1 does not say."""
    if "averageUtilization" in values:
        return {"type": "Utilization", **values}
    if "averageValue" in values and "value" in values and _is_zero(values["value"]):
        # Of a target by average, v1 writes a value of 0, which no target may have.
        values = {name: part for name, part in values.items() if name != "value"}
    return {"type": "AverageValue" if "averageValue" in values or "value" not in values else "Value", **values}


def _is_zero(amount: Any) -> bool:
    try:
        return parse_quantity(str(amount)).is_zero()
    except QuantityError:
        return False


def _behaviour(note: Any) -> Json | None:
    """The behaviour in an annotation; None for one that does not fit, or says nothing."""
    found = _typed(_small(_read(note)), f"{_V2_TYPE}.HorizontalPodAutoscalerBehavior")
    if found is None:
        return None
    return {name: _without_nulls(rules) for name, rules in found.items() if rules is not None}


def _small(value: Any) -> Any:
    """The value with names as JSON has them. Upstream takes them in any case."""
    if isinstance(value, list):
        return [_small(item) for item in value]
    if isinstance(value, dict):
        return {name[:1].lower() + name[1:]: _small(part) for name, part in value.items()}
    return value


def _items(note: Any, message: str) -> list[Json] | None:
    """The list in an annotation; None for one that does not fit."""
    read = _read(note)
    found = [_typed(one, message) for one in read] if isinstance(read, list) else [None]
    return None if None in found else [one for one in found if one is not None]


def _read(note: Any) -> Any:
    try:
        return msgspec.json.decode(note) if isinstance(note, str) else None
    except (msgspec.DecodeError, RecursionError):
        return None


def _typed(value: Any, message: str) -> Json | None:
    """The value as Go reads it; None for one that does not fit the message."""
    try:
        return dict(read_message(message, value)) if isinstance(value, dict) else None
    except GoTypeError:
        return None


def _without_nulls(value: Json) -> Json:
    return {name: part for name, part in value.items() if part is not None}


# --- both ways ------------------------------------------------------------------------------------------------------


def _at(value: Any, path: str) -> Any:
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _with_annotations(value: Json, notes: Mapping[str, str]) -> Json:
    """The object with these annotations of v1, and no others of them."""
    metadata = dict(value["metadata"])
    annotations = dict(_of_others(metadata.pop("annotations", None))) | dict(notes)
    if annotations:
        metadata["annotations"] = annotations
    return {**value, "metadata": metadata}


def _of_others(annotations: Mapping[str, str] | None) -> Iterator[tuple[str, str]]:
    yield from ((name, text) for name, text in (annotations or {}).items() if name not in _OURS)
