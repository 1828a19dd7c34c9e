"""Definitions of custom resources. A schema stands as the user wrote it: it is JSON of its own kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from config.objects.base import ApiObject, ApiStruct, written
from config.objects.meta import ObjectMeta


class CustomResourceColumnDefinition(ApiStruct, frozen=True):
    """One column that `kubectl get` shows, found by a JSONPath such as `.spec.replicas`."""

    description: str | None = None
    format: str | None = None
    json_path: str = written("", name="jsonPath")
    name: str = written("")
    priority: int | None = None
    type: str = written("")


class CustomResourceSubresourceScale(ApiStruct, frozen=True):
    """Where `kubectl scale` finds the numbers of replicas, and the selector of what is counted."""

    label_selector_path: str | None = None
    spec_replicas_path: str = written("")
    status_replicas_path: str = written("")


class CustomResourceSubresources(ApiStruct, frozen=True):
    """Which parts of an object have a path of their own."""

    scale: CustomResourceSubresourceScale | None = None
    status: Mapping[str, Any] | None = None


class CustomResourceValidation(ApiStruct, frozen=True):
    """What an object looks like, in OpenAPI."""

    open_api_v3_schema: Mapping[str, Any] | None = msgspec.field(default=None, name="openAPIV3Schema")


class SelectableField(ApiStruct, frozen=True):
    """A field that a field selector may ask for."""

    json_path: str = written("", name="jsonPath")


class CustomResourceDefinitionVersion(ApiStruct, frozen=True):
    """One version of the resource. Exactly one of them is the one that is stored."""

    additional_printer_columns: tuple[CustomResourceColumnDefinition, ...] = ()
    deprecated: bool | None = None
    deprecation_warning: str | None = None
    name: str = written("")
    schema: CustomResourceValidation | None = None
    selectable_fields: tuple[SelectableField, ...] = ()
    served: bool = written(False)
    storage: bool = written(False)
    subresources: CustomResourceSubresources | None = None


class CustomResourceDefinitionNames(ApiStruct, frozen=True):
    """What the resource is called, in paths, in documents and on the command line."""

    categories: tuple[str, ...] = ()
    kind: str = written("")
    list_kind: str | None = None
    plural: str = written("")
    short_names: tuple[str, ...] = ()
    singular: str | None = None


class CustomResourceConversion(ApiStruct, frozen=True):
    """How an object of one version becomes one of another."""

    strategy: str = written("")
    webhook: Mapping[str, Any] | None = None


class CustomResourceDefinitionSpec(ApiStruct, frozen=True):
    """What the resource is to be like."""

    conversion: CustomResourceConversion | None = None
    group: str = written("")
    names: CustomResourceDefinitionNames = CustomResourceDefinitionNames()
    preserve_unknown_fields: bool | None = None
    scope: str = written("")
    versions: tuple[CustomResourceDefinitionVersion, ...] = ()


class CustomResourceDefinitionCondition(ApiStruct, frozen=True):
    """Whether the names are free, whether the resource is served, whether it is on its way out."""

    last_transition_time: str | None = None
    message: str | None = None
    observed_generation: int | None = None
    reason: str | None = None
    status: str = written("")
    type: str = written("")


class CustomResourceDefinitionStatus(ApiStruct, frozen=True):
    """What has become of the definition."""

    accepted_names: CustomResourceDefinitionNames | None = None
    conditions: tuple[CustomResourceDefinitionCondition, ...] = ()
    observed_generation: int | None = None
    stored_versions: tuple[str, ...] = ()


class CustomResourceDefinition(ApiObject, frozen=True):
    """A resource that somebody adds to the API: its names, its versions, and what its objects look like."""

    api_version: Literal["apiextensions.k8s.io/v1"] = written("apiextensions.k8s.io/v1")
    kind: Literal["CustomResourceDefinition"] = written("CustomResourceDefinition")
    metadata: ObjectMeta = ObjectMeta()
    spec: CustomResourceDefinitionSpec = CustomResourceDefinitionSpec()
    status: CustomResourceDefinitionStatus | None = None
