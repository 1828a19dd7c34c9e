"""Label and node selectors, and references to other objects."""

from __future__ import annotations

from collections.abc import Mapping

from config.objects.base import ApiStruct, written


class LabelSelectorRequirement(ApiStruct, frozen=True):
    """meta/v1 LabelSelectorRequirement."""

    key: str = written("")
    operator: str = written("")
    values: tuple[str, ...] = ()


class LabelSelector(ApiStruct, frozen=True):
    """meta/v1 LabelSelector."""

    match_expressions: tuple[LabelSelectorRequirement, ...] = ()
    match_labels: Mapping[str, str] = {}


class NodeSelectorRequirement(ApiStruct, frozen=True):
    """core/v1 NodeSelectorRequirement."""

    key: str = written("")
    operator: str = written("")
    values: tuple[str, ...] = ()


class NodeSelectorTerm(ApiStruct, frozen=True):
    """core/v1 NodeSelectorTerm."""

    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeSelectorRequirement, ...] = ()


class NodeSelector(ApiStruct, frozen=True):
    """core/v1 NodeSelector."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class LocalObjectReference(ApiStruct, frozen=True):
    """core/v1 LocalObjectReference."""

    name: str | None = None


class TypedLocalObjectReference(ApiStruct, frozen=True):
    """core/v1 TypedLocalObjectReference."""

    api_group: str | None = None
    kind: str = written("")
    name: str = written("")


class TypedObjectReference(ApiStruct, frozen=True):
    """core/v1 TypedObjectReference."""

    api_group: str | None = None
    kind: str = written("")
    name: str = written("")
    namespace: str | None = None


class ObjectReference(ApiStruct, frozen=True):
    """core/v1 ObjectReference."""

    api_version: str | None = None
    field_path: str | None = None
    kind: str | None = None
    name: str | None = None
    namespace: str | None = None
    resource_version: str | None = None
    uid: str | None = None


class SecretReference(LocalObjectReference, frozen=True):
    """core/v1 SecretReference."""

    namespace: str | None = None
