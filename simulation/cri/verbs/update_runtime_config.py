"""UpdateRuntimeConfig: the node agent gives the pod network; pods that have an address keep it."""

from __future__ import annotations

import ipaddress

from runtime.cri.errors import StatusCode
from runtime.cri.messages import UpdateRuntimeConfigRequest, UpdateRuntimeConfigResponse
from simulation.cri.runtime import Runtime
from simulation.cri.state import CriRefusal


def update_runtime_config(runtime: Runtime, request: UpdateRuntimeConfigRequest) -> UpdateRuntimeConfigResponse:
    network = request.runtime_config.network_config if request.runtime_config else None
    cidr = network.pod_cidr.split(",")[0] if network else ""
    if cidr:
        try:
            ipaddress.IPv4Network(cidr)
        except ValueError as error:
            raise CriRefusal(StatusCode.INVALID_ARGUMENT, f"the pod network is no IPv4 network: {error}") from None
        runtime.use_pod_network(cidr)
    return UpdateRuntimeConfigResponse()
