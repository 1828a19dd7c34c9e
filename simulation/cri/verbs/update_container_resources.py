"""UpdateContainerResources: the numbers that are given replace those in force, the others stay."""

from __future__ import annotations

import msgspec

from runtime.cri.enums import ContainerState
from runtime.cri.errors import StatusCode
from runtime.cri.messages import (
    LinuxContainerResources,
    UpdateContainerResourcesRequest,
    UpdateContainerResourcesResponse,
)
from simulation.cri.runtime import Runtime
from simulation.cri.state import Refusal

_DONE = UpdateContainerResourcesResponse()


def update_container_resources(
    runtime: Runtime, request: UpdateContainerResourcesRequest
) -> UpdateContainerResourcesResponse:
    record = runtime.state.container(request.container_id)
    if record.state not in (ContainerState.CONTAINER_CREATED, ContainerState.CONTAINER_RUNNING):
        raise Refusal(StatusCode.UNKNOWN, f"container {record.id!r} is in state {record.state.name}")
    if request.linux is not None:
        record.resources = merge(record.resources or LinuxContainerResources(), request.linux)
        runtime.state.changed(record)
    return _DONE


def merge(old: LinuxContainerResources, new: LinuxContainerResources) -> LinuxContainerResources:
    """`old` with every value of `new` that says something; zero and empty say nothing."""
    said = {field: value for field in new.__struct_fields__ if (value := getattr(new, field))}
    return msgspec.structs.replace(old, **said)
