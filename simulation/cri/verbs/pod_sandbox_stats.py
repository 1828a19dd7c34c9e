"""PodSandboxStats: what one sandbox has used."""

from __future__ import annotations

from runtime.cri.errors import StatusCode
from runtime.cri.messages import PodSandboxStatsRequest, PodSandboxStatsResponse
from simulation.cri.runtime import Runtime
from simulation.cri.state import CriRefusal
from simulation.cri.verbs import usage
from simulation.cri.views import is_ready


def pod_sandbox_stats(runtime: Runtime, request: PodSandboxStatsRequest) -> PodSandboxStatsResponse:
    record = runtime.state.sandboxes[request.pod_sandbox_id]
    if not is_ready(record):
        raise CriRefusal(StatusCode.UNKNOWN, f"the sandbox {record.id!r} is not ready")
    stats = usage.pod_stats(record, runtime.wall_ns(), runtime.settings.image_directory)
    return PodSandboxStatsResponse(stats=stats)
