"""What somebody may do: a question that the API server answers with a status."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from config.objects.base import ApiObject, ApiStruct, written
from config.objects.meta import ObjectMeta
from config.objects.selectors import LabelSelectorRequirement


class FieldSelectorRequirement(ApiStruct, frozen=True):
    """authorization/v1 FieldSelectorRequirement."""

    key: str = written("")
    operator: str = written("")
    values: tuple[str, ...] = ()


class FieldSelectorAttributes(ApiStruct, frozen=True):
    """authorization/v1 FieldSelectorAttributes."""

    raw_selector: str | None = None
    requirements: tuple[FieldSelectorRequirement, ...] = ()


class LabelSelectorAttributes(ApiStruct, frozen=True):
    """authorization/v1 LabelSelectorAttributes."""

    raw_selector: str | None = None
    requirements: tuple[LabelSelectorRequirement, ...] = ()


class ResourceAttributes(ApiStruct, frozen=True):
    """authorization/v1 ResourceAttributes."""

    field_selector: FieldSelectorAttributes | None = None
    group: str | None = None
    label_selector: LabelSelectorAttributes | None = None
    name: str | None = None
    namespace: str | None = None
    resource: str | None = None
    subresource: str | None = None
    verb: str | None = None
    version: str | None = None


class NonResourceAttributes(ApiStruct, frozen=True):
    """authorization/v1 NonResourceAttributes."""

    path: str | None = None
    verb: str | None = None


class SubjectAccessReviewSpec(ApiStruct, frozen=True):
    """authorization/v1 SubjectAccessReviewSpec."""

    extra: Mapping[str, tuple[str, ...]] = {}
    groups: tuple[str, ...] = ()
    non_resource_attributes: NonResourceAttributes | None = None
    resource_attributes: ResourceAttributes | None = None
    uid: str | None = None
    user: str | None = None


class SubjectAccessReviewStatus(ApiStruct, frozen=True):
    """authorization/v1 SubjectAccessReviewStatus."""

    allowed: bool = written(False)
    denied: bool | None = None
    evaluation_error: str | None = None
    reason: str | None = None


class SubjectAccessReview(ApiObject, frozen=True):
    """authorization/v1 SubjectAccessReview."""

    api_version: Literal["authorization.k8s.io/v1"] = written("authorization.k8s.io/v1")
    kind: Literal["SubjectAccessReview"] = written("SubjectAccessReview")
    metadata: ObjectMeta = ObjectMeta()
    spec: SubjectAccessReviewSpec = SubjectAccessReviewSpec()
    status: SubjectAccessReviewStatus | None = None
