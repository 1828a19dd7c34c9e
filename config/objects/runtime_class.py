"""Runtime classes: which handler of the container runtime runs a pod (spec 6.2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from config.objects.base import ApiObject, ApiStruct, Quantity, written
from config.objects.meta import ObjectMeta
from config.objects.scheduling import Toleration


class Overhead(ApiStruct, frozen=True):
    """node/v1 Overhead."""

    pod_fixed: Mapping[str, Quantity] = {}


class Scheduling(ApiStruct, frozen=True):
    """node/v1 Scheduling."""

    node_selector: Mapping[str, str] = {}
    tolerations: tuple[Toleration, ...] = ()


class RuntimeClass(ApiObject, frozen=True):
    """node/v1 RuntimeClass."""

    api_version: Literal["node.k8s.io/v1"] = written("node.k8s.io/v1")
    kind: Literal["RuntimeClass"] = written("RuntimeClass")
    metadata: ObjectMeta = ObjectMeta()
    handler: str = written("")
    overhead: Overhead | None = None
    scheduling: Scheduling | None = None
