"""What only the server sets: name, UID, times, status, generation.

The preconditions of a change are checked here, too (409).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simulation.apiserver.kinds.table import ServedResource
from simulation.apiserver.pipeline.stage import Write
from simulation.apiserver.status import Json, invalid, invalid_value, required
from simulation.apiserver.strategies.metadata import check_version, is_same, keep_old

_LONGEST_GENERATED = 63
_OF_ALL = frozenset({"apiVersion", "kind", "metadata"})


def prepare(this: Write) -> None:
    if this.before is None:
        _prepare_new(this)
    else:
        _prepare_change(this, this.before)


def _prepare_new(this: Write) -> None:
    core, resource, metadata = this.context.core, this.call.resource, this.value["metadata"]
    if not metadata.get("name"):
        if not metadata.get("generateName"):
            raise invalid(resource, "", [required("metadata.name", "name or generateName is required")])
        metadata["name"] = metadata["generateName"][: _LONGEST_GENERATED - 5] + core.suffix()
    metadata["uid"] = core.new_uid()
    metadata["creationTimestamp"] = core.timestamp()
    if resource.first_generation:
        metadata["generation"] = resource.first_generation
    elif not metadata.get("generation"):
        metadata.pop("generation", None)
    if this.call.request.admission is not None:
        this.call.request.admission.keep(metadata)
    this.strategy.prepare(this.call, None, this.value)
    _settle(this)


def _prepare_change(this: Write, before: Json) -> None:
    call, resource, was = this.call, this.call.resource, before["metadata"]
    metadata = this.value["metadata"]
    if call.verb == "update" and not (resource.blind_update or metadata.get("resourceVersion")):
        cause = invalid_value("metadata.resourceVersion", 0, "must be specified for an update")
        raise invalid(resource, call.name, [cause], by_plural=True)
    this.moves_metadata = not is_same(metadata, was)
    if this.moves_metadata:
        check_version(resource, call.name, was, metadata, patched=call.request.method == "PATCH")
        keep_old(was, metadata)
    this.strategy.prepare(call, before, this.value)
    _settle(this)
    if resource.generation and call.target.subresource != "status" and _is_new_generation(resource, before, this.value):
        metadata = this.value["metadata"]
        metadata["generation"] = metadata.get("generation", 0) + 1


def _is_new_generation(resource: ServedResource, before: Json, value: Json) -> bool:
    for path in resource.generation:
        if path == "*":
            apart = _OF_ALL.union(resource.subresources)
            if any(before.get(name) != value.get(name) for name in {*before, *value} - apart):
                return True
        elif _at(before, path) != _at(value, path):
            return True
    return False


def _settle(this: Write) -> None:
    """Write nulls as Go does, and drop fields of features that are off.

    Who has sent one owns it nevertheless.
    """
    for path in this.call.resource.nulls:
        _empty_to_null(this.value, path.split("."))
    for path in this.call.resource.dropped:
        *way, last = path.split(".")
        changed = _without(this.value, way, last)
        if changed is not this.value:
            this.value[way[0]] = changed[way[0]]


def _without(value: Any, way: Sequence[str], last: str) -> Any:
    """The value without that field below; itself where there is none."""
    if isinstance(value, list) and way and way[0] == "*":
        items = [_without(item, way[1:], last) for item in value]
        return value if all(new is old for new, old in zip(items, value, strict=True)) else items
    if not isinstance(value, dict):
        return value
    if not way:
        return {name: part for name, part in value.items() if name != last} if last in value else value
    below = _without(value.get(way[0]), way[1:], last)
    return value if below is value.get(way[0]) else {**value, way[0]: below}


def _empty_to_null(value: Json, way: list[str]) -> None:
    first, *rest = way
    if rest and isinstance(value.get(first), dict):
        value[first] = dict(value[first])
        _empty_to_null(value[first], rest)
    elif not rest and not value.get(first):
        value[first] = None


def _at(value: Any, path: str) -> Any:
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value
