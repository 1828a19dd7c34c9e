"""PodSandboxStats: what one sandbox has used."""

from __future__ import annotations

from runtime.cri.messages import PodSandboxStatsRequest, PodSandboxStatsResponse
from simulation.cri.runtime import Runtime
from simulation.cri.verbs import usage


def pod_sandbox_stats(runtime: Runtime, request: PodSandboxStatsRequest) -> PodSandboxStatsResponse:
    record = runtime.state.sandbox(request.pod_sandbox_id)
    stats = usage.pod_stats(record, runtime.wall_ns(), runtime.settings.image_directory)
    return PodSandboxStatsResponse(stats=stats)
