"""References to objects of any kind.

A ServiceAccount's secrets, what an Event is about, the claim of a volume.
"""

from __future__ import annotations

from config.objects.base import ApiStruct


class ObjectReference(ApiStruct, frozen=True):
    """core/v1 ObjectReference."""

    api_version: str | None = None
    field_path: str | None = None
    kind: str | None = None
    name: str | None = None
    namespace: str | None = None
    resource_version: str | None = None
    uid: str | None = None


class SecretReference(ApiStruct, frozen=True):
    """core/v1 SecretReference."""

    name: str | None = None
    namespace: str | None = None
