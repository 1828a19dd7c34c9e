"""Object metadata: what every object of the API carries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import field

from config.objects.base import ApiStruct, Int64, written


class OwnerReference(ApiStruct, frozen=True):
    """meta/v1 OwnerReference."""

    api_version: str = written("")
    block_owner_deletion: bool | None = None
    controller: bool | None = None
    kind: str = written("")
    name: str = written("")
    uid: str = written("")


class ManagedFieldsEntry(ApiStruct, frozen=True):
    """meta/v1 ManagedFieldsEntry."""

    api_version: str | None = None
    fields_type: str | None = None
    fields_v1: Mapping[str, Any] | None = None
    manager: str | None = None
    operation: str | None = None
    subresource: str | None = None
    time: str | None = None


class ObjectMeta(ApiStruct, frozen=True):
    """meta/v1 ObjectMeta."""

    annotations: Mapping[str, str] = {}
    creation_timestamp: str | None = None
    deletion_grace_period_seconds: Int64 | None = None
    deletion_timestamp: str | None = None
    finalizers: tuple[str, ...] = ()
    generate_name: str | None = None
    generation: Int64 | None = None
    labels: Mapping[str, str] = {}
    managed_fields: tuple[ManagedFieldsEntry, ...] = ()
    name: str = ""
    namespace: str = ""
    owner_references: tuple[OwnerReference, ...] = ()
    resource_version: str = ""
    self_link: str | None = None
    uid: str = ""


class ShardInfo(ApiStruct, frozen=True):
    """meta/v1 ShardInfo: which part of a sharded list this is."""

    selector: str = written("")


class ListMeta(ApiStruct, frozen=True):
    """meta/v1 ListMeta: where a list stands in time, and where it goes on."""

    resource_version: str = ""
    continue_: str | None = field(default=None, name="continue")
    remaining_item_count: Int64 | None = None
    self_link: str | None = None
    shard_info: ShardInfo | None = None


class Condition(ApiStruct, frozen=True):
    """meta/v1 Condition."""

    last_transition_time: str = written("")
    message: str = written("")
    observed_generation: Int64 | None = None
    reason: str = written("")
    status: str = written("")
    type: str = written("")
