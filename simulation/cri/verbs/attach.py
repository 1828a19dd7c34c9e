"""Attach: the address of a streaming session with the first process. Nobody serves it."""

from __future__ import annotations

from runtime.cri.errors import StatusCode
from runtime.cri.messages import AttachRequest, AttachResponse
from simulation.cri.runtime import Runtime
from simulation.cri.state import CriRefusal
from simulation.cri.views import is_running


def prepare_attach(runtime: Runtime, request: AttachRequest) -> AttachResponse:
    record = runtime.state.containers[request.container_id]
    if not is_running(record):
        raise CriRefusal(StatusCode.UNKNOWN, f"container {record.id!r} is in state {record.state.name}")
    return AttachResponse(url=f"http://127.0.0.1:0/attach/{runtime.new_id()[:8]}")
