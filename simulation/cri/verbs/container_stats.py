"""ContainerStats: what one container has used."""

from __future__ import annotations

from runtime.cri.messages import ContainerStatsRequest, ContainerStatsResponse
from simulation.cri.runtime import Runtime
from simulation.cri.verbs import usage


def container_stats(runtime: Runtime, request: ContainerStatsRequest) -> ContainerStatsResponse:
    record = runtime.state.container(request.container_id)
    stats = usage.container_stats(record, runtime.wall_ns(), runtime.settings.image_directory)
    return ContainerStatsResponse(stats=stats)
