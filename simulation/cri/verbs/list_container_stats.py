"""ListContainerStats and StreamContainerStats: what containers use; of those that do not run, their layer alone."""

from __future__ import annotations

from collections.abc import Callable

from runtime.cri.messages import (
    ContainerStats,
    ContainerStatsFilter,
    ListContainerStatsRequest,
    ListContainerStatsResponse,
    StreamContainerStatsRequest,
    StreamContainerStatsResponse,
)
from simulation.cri.runtime import Runtime
from simulation.cri.verbs import usage
from simulation.cri.verbs.parts import parts_of


def list_container_stats(runtime: Runtime, request: ListContainerStatsRequest) -> ListContainerStatsResponse:
    return ListContainerStatsResponse(stats=_select(runtime, request.filter))


def stream_container_stats(
    runtime: Runtime, request: StreamContainerStatsRequest, on_item: Callable[[StreamContainerStatsResponse], None]
) -> None:
    for part in parts_of(_select(runtime, request.filter)):
        runtime.later(on_item, StreamContainerStatsResponse(container_stats=part))


def _select(runtime: Runtime, wanted: ContainerStatsFilter | None) -> tuple[ContainerStats, ...]:
    wanted = wanted or ContainerStatsFilter()
    found = runtime.state.select_containers(wanted.id, wanted.pod_sandbox_id, wanted.label_selector)
    now_ns, directory = runtime.wall_ns(), runtime.settings.image_directory
    return tuple(usage.container_stats(record, now_ns, directory) for record in found)
