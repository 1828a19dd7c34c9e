"""ListPodSandboxStats and StreamPodSandboxStats: what the ready sandboxes have used."""

from __future__ import annotations

from collections.abc import Callable

from runtime.cri.messages import (
    ListPodSandboxStatsRequest,
    ListPodSandboxStatsResponse,
    PodSandboxStats,
    PodSandboxStatsFilter,
    StreamPodSandboxStatsRequest,
    StreamPodSandboxStatsResponse,
)
from simulation.cri.runtime import Runtime
from simulation.cri.verbs import usage
from simulation.cri.verbs.parts import parts_of
from simulation.cri.views import is_ready


def list_pod_sandbox_stats(runtime: Runtime, request: ListPodSandboxStatsRequest) -> ListPodSandboxStatsResponse:
    return ListPodSandboxStatsResponse(stats=_select(runtime, request.filter))


def stream_pod_sandbox_stats(
    runtime: Runtime, request: StreamPodSandboxStatsRequest, on_item: Callable[[StreamPodSandboxStatsResponse], None]
) -> None:
    for part in parts_of(_select(runtime, request.filter)):
        runtime.later(on_item, StreamPodSandboxStatsResponse(pod_sandbox_stats=part))


def _select(runtime: Runtime, wanted: PodSandboxStatsFilter | None) -> tuple[PodSandboxStats, ...]:
    wanted = wanted or PodSandboxStatsFilter()
    found = runtime.state.select_sandboxes(wanted.id, wanted.label_selector)
    now_ns, directory = runtime.wall_ns(), runtime.settings.image_directory
    return tuple(usage.pod_stats(record, now_ns, directory) for record in found if is_ready(record))
