"""PortForward: the address of a session that forwards ports. Nobody serves it."""

from __future__ import annotations

from runtime.cri.errors import StatusCode
from runtime.cri.messages import PortForwardRequest, PortForwardResponse
from simulation.cri.runtime import Runtime
from simulation.cri.state import CriRefusal
from simulation.cri.views import is_ready


def prepare_port_forward(runtime: Runtime, request: PortForwardRequest) -> PortForwardResponse:
    record = runtime.state.sandboxes[request.pod_sandbox_id]
    if not is_ready(record):
        raise CriRefusal(StatusCode.UNKNOWN, f"the sandbox {record.id!r} is not running")
    return PortForwardResponse(url=f"http://127.0.0.1:0/port-forward/{runtime.new_id()[:8]}")
