"""Which objects of a collection a request selects, by labels and fields.

Selections use indexes.

Owns the selectable fields of each resource. Unreadable selectors raise StatusError (400). Pure.
"""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from config.api.selectors import FieldQuery, LabelQuery, SelectorError, parse_field_selector, parse_label_selector
from config.caches import KIB, kept
from simulation.apiserver.kinds.table import PODS, ServedResource
from simulation.apiserver.status import Json, bad_request

_OF_ALL = ("metadata.name", "metadata.namespace")
_SOURCES = {
    "spec.host": "spec.nodeName",
    "status.successful": "status.succeeded",
    "reportingController": "reportingComponent",
    **{
        f"regarding.{name}": f"involvedObject.{name}"
        for name in ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
    },
}
"""Fields of built-in kinds that stand elsewhere in a stored object."""
_NUMBERS = frozenset({"status.replicas", "status.succeeded"})
_BOOLEANS = frozenset({"spec.hostNetwork", "spec.unschedulable"})


class Selectable(Protocol):
    """A version of an object; `node` is the spec.nodeName of a pod, or ""."""

    @property
    def node(self) -> str: ...
    @property
    def object(self) -> Json: ...


class Selection:
    """The selected objects. `name` and `node`: the required metadata.name and spec.nodeName; None: any."""

    __slots__ = ("_fields", "_labels", "asked_node", "everything", "name", "node", "node_alone")

    def __init__(
        self,
        labels: LabelQuery = LabelQuery(),  # noqa: B008  # both are frozen
        fields: FieldQuery = FieldQuery(),  # noqa: B008
        *,
        by_node: bool = True,
    ) -> None:
        self._labels = labels
        self._fields = fields
        self.everything = not (labels.requirements or fields.requirements)
        self.name = fields.exact("metadata.name")
        self.asked_node = fields.exact("spec.nodeName")
        """The required spec.nodeName of any kind."""
        self.node = self.asked_node if by_node else None
        self.node_alone = self.node is not None and len(fields.requirements) == 1 and not labels.requirements
        """Whether only the node matters."""

    def matches(self, version: Selectable) -> bool:
        """Whether this version of an object is selected."""
        if self.everything:
            return True
        if self.node_alone:
            return version.node == self.node
        value = version.object
        for requirement in self._fields.requirements:
            if (field_of(value, requirement.path) == requirement.value) is not requirement.equal:
                return False
        return not self._labels.requirements or self._labels.matches(value["metadata"].get("labels") or {})


EVERYTHING = Selection()


def selection(resource: ServedResource, label_selector: str, field_selector: str) -> Selection:
    """Read the selectors of a request. Raises StatusError (400)."""
    if not (label_selector or field_selector):
        return EVERYTHING
    try:
        labels, fields = _parsed(label_selector, field_selector)
    except SelectorError as error:
        raise bad_request(f"unable to parse requirement: {error}") from None
    known = ("metadata.name",) if _has_own_fields(resource) and not resource.namespaced else _OF_ALL
    for path in sorted(fields.paths.difference(known, resource.selectable)):
        raise bad_request(_not_selectable(resource, path))
    if not resource.is_defined:
        fields = _by_source(fields)
    # Only pods are indexed by node.
    return Selection(labels, fields, by_node=resource is PODS)


def _has_own_fields(resource: ServedResource) -> bool:
    return bool(resource.selectable) and not resource.is_defined


def _by_source(fields: FieldQuery) -> FieldQuery:
    if fields.paths.isdisjoint(_SOURCES):
        return fields
    return FieldQuery(
        tuple(msgspec.structs.replace(one, path=_SOURCES.get(one.path, one.path)) for one in fields.requirements)
    )


@kept(512 * KIB)
def _parsed(label_selector: str, field_selector: str) -> tuple[LabelQuery, FieldQuery]:
    return parse_label_selector(label_selector), parse_field_selector(field_selector)


def _not_selectable(resource: ServedResource, path: str) -> str:
    """Upstream has a sentence for kinds without fields of their own, and each of the others has its own."""
    if resource.kind == "Job":
        return f'field label "{path}" not supported for Job'
    if resource.kind == "ResourceSlice":
        return f"field label not supported for {resource.api_version}, Kind=ResourceSlice: {path}"
    if resource.selectable or resource.is_defined:
        return f"field label not supported: {path}"
    known = ", ".join(f'"{one}"' for one in _OF_ALL)
    return f'"{path}" is not a known field selector: only {known}'


def field_of(value: Json, path: str) -> str:
    """The field at a dotted path, as text; empty where there is none."""
    found: Any = value
    for step in _steps(path):
        found = found.get(step) if isinstance(found, dict) else None
        if found is None:
            break
    if path in _BOOLEANS:
        return "true" if found else "false"
    if path == "source":
        return str((value.get("source") or {}).get("component") or value.get("reportingComponent") or "")
    if path == "status.podIPs":
        return ",".join(entry.get("ip", "") for entry in found or ())
    if path in _NUMBERS:
        return str(found or 0)
    return "" if found is None else str(found).lower() if isinstance(found, bool) else str(found)


@kept(64 * KIB)
def _steps(path: str) -> tuple[str, ...]:
    return tuple(path.split("."))
