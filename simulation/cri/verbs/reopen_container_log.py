"""ReopenContainerLog: output goes to a fresh file at the log's path from now on."""

from __future__ import annotations

from runtime.cri.errors import StatusCode
from runtime.cri.messages import ReopenContainerLogRequest, ReopenContainerLogResponse
from simulation.cri.container_life import open_log
from simulation.cri.runtime import Runtime
from simulation.cri.state import CriRefusal
from simulation.cri.views import is_running


def reopen_container_log(runtime: Runtime, request: ReopenContainerLogRequest) -> ReopenContainerLogResponse:
    record = runtime.state.containers[request.container_id]
    if not is_running(record):
        raise CriRefusal(StatusCode.UNKNOWN, f"container {record.id!r} is not running")
    open_log(runtime, record)
    return ReopenContainerLogResponse()
