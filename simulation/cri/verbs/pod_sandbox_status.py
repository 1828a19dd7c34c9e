"""PodSandboxStatus: one sandbox in full, its containers with it."""

from __future__ import annotations

import msgspec

from runtime.cri.messages import PodSandboxStatusRequest, PodSandboxStatusResponse
from simulation.cri.runtime import Runtime
from simulation.cri.state import SandboxRecord
from simulation.cri.views import container_status, sandbox_status


def pod_sandbox_status(runtime: Runtime, request: PodSandboxStatusRequest) -> PodSandboxStatusResponse:
    record = runtime.state.sandboxes[request.pod_sandbox_id]
    return PodSandboxStatusResponse(
        status=sandbox_status(record),
        info={"info": _info(record)} if request.verbose else {},
        containers_statuses=tuple([container_status(container) for container in record.containers.values()]),
        timestamp=runtime.wall_ns(),
    )


def _info(record: SandboxRecord) -> str:
    info = {
        "pid": record.pid,
        "processStatus": "running" if record.network_up else "deleted",
        "netNamespaceClosed": not record.network_up,
        "runtimeHandler": record.runtime_handler,
        "runtimeType": "simulated",
        "config": record.config,
    }
    return msgspec.json.encode(info).decode()
