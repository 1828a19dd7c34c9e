"""UpdateContainerResources: the numbers that are given replace those in force, the others stay."""

from __future__ import annotations

import msgspec

from runtime.cri.messages import (
    LinuxContainerResources,
    UpdateContainerResourcesRequest,
    UpdateContainerResourcesResponse,
)
from simulation.cri.runtime import Runtime

_DONE = UpdateContainerResourcesResponse()


def update_container_resources(
    runtime: Runtime, request: UpdateContainerResourcesRequest
) -> UpdateContainerResourcesResponse:
    record = runtime.state.containers[request.container_id]
    if request.linux is not None:
        record.resources = merge(record.resources or LinuxContainerResources(), request.linux)
        runtime.state.changed(record)
    return _DONE


def merge(old: LinuxContainerResources, new: LinuxContainerResources) -> LinuxContainerResources:
    """`old` with every value of `new` that says something; zero and empty say nothing."""
    said = {field: value for field in new.__struct_fields__ if (value := getattr(new, field))}
    return msgspec.structs.replace(old, **said)
