"""What only the server sets: name, UID, times, status, generation.

The preconditions of a change are checked here, too (409).
"""

from __future__ import annotations

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
    _write_nulls(this)


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
    _write_nulls(this)
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


def _write_nulls(this: Write) -> None:
    for path in this.call.resource.nulls:
        _empty_to_null(this.value, path.split("."))


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
