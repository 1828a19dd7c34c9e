"""Data for pods: config maps and secrets. Bytes stay the base64 text of the document.

`config.api.secret_data` turns them into bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from config.objects.base import ApiObject, Hidden, written
from config.objects.meta import ObjectMeta


class ConfigMap(ApiObject, frozen=True):
    """core/v1 ConfigMap. The values of `binary_data` are base64."""

    api_version: Literal["v1"] = written("v1")
    kind: Literal["ConfigMap"] = written("ConfigMap")
    metadata: ObjectMeta = ObjectMeta()
    binary_data: Mapping[str, str] = {}
    data: Mapping[str, str] = {}
    immutable: bool | None = None


class Secret(Hidden, ApiObject, frozen=True):
    """core/v1 Secret.

    The values of `data` are base64; `string_data` is written by users and never read back.
    """

    api_version: Literal["v1"] = written("v1")
    kind: Literal["Secret"] = written("Secret")
    metadata: ObjectMeta = ObjectMeta()
    data: Mapping[str, str] = {}
    immutable: bool | None = None
    string_data: Mapping[str, str] = {}
    type: str | None = None
