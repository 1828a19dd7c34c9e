"""ContainerStatus: one container in full, and on request what the runtime keeps about it."""

from __future__ import annotations

import msgspec

from runtime.cri.messages import ContainerStatusRequest, ContainerStatusResponse
from simulation.cri.runtime import Runtime
from simulation.cri.state import ContainerRecord
from simulation.cri.views import container_status as full_status


def container_status(runtime: Runtime, request: ContainerStatusRequest) -> ContainerStatusResponse:
    record = runtime.state.containers[request.container_id]
    if request.verbose:
        return ContainerStatusResponse(status=full_status(record), info={"info": _info(record)})
    return ContainerStatusResponse(status=record.status or full_status(record))


def _info(record: ContainerRecord) -> str:
    info = {
        "sandboxID": record.sandbox.id,
        "pid": record.pid,
        "removing": False,
        "snapshotKey": record.id,
        "runtimeType": "simulated",
        "config": record.config,
    }
    return msgspec.json.encode(info).decode()
