"""Exec: the address of a streaming session with a new command. Nobody serves it: simulated commands are ExecSync."""

from __future__ import annotations

from runtime.cri.errors import StatusCode
from runtime.cri.messages import ExecRequest, ExecResponse
from simulation.cri.runtime import Runtime
from simulation.cri.state import CriRefusal
from simulation.cri.views import is_running


def prepare_exec(runtime: Runtime, request: ExecRequest) -> ExecResponse:
    record = runtime.state.containers[request.container_id]
    if not is_running(record):
        raise CriRefusal(StatusCode.UNKNOWN, f"container {record.id!r} is in state {record.state.name}")
    return ExecResponse(url=f"http://127.0.0.1:0/exec/{runtime.new_id()[:8]}")
