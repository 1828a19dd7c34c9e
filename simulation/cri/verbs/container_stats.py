"""ContainerStats: what one container uses. Of one that does not run there is nothing to be measured."""

from __future__ import annotations

from runtime.cri.errors import StatusCode
from runtime.cri.messages import ContainerStatsRequest, ContainerStatsResponse
from simulation.cri.runtime import Runtime
from simulation.cri.state import CriRefusal
from simulation.cri.verbs import usage
from simulation.cri.views import is_running


def container_stats(runtime: Runtime, request: ContainerStatsRequest) -> ContainerStatsResponse:
    record = runtime.state.containers[request.container_id]
    if not is_running(record):
        raise CriRefusal(StatusCode.UNKNOWN, f"container {record.id!r} is in state {record.state.name}")
    stats = usage.container_stats(record, runtime.wall_ns(), runtime.settings.image_directory)
    return ContainerStatsResponse(stats=stats)
