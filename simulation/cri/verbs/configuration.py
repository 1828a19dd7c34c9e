"""Version, Status, RuntimeConfig and UpdateRuntimeConfig: the runtime as a whole."""

from __future__ import annotations

import ipaddress

import msgspec

from runtime.cri import messages as cri
from runtime.cri.errors import StatusCode
from simulation.cri.runtime import Runtime
from simulation.cri.state import CriRefusal

_VERSION = cri.VersionResponse(
    version="0.1.0", runtime_name="simulated", runtime_version="1.0.0", runtime_api_version="v1"
)


def version(runtime: Runtime, request: cri.VersionRequest) -> cri.VersionResponse:
    return _VERSION


def status(runtime: Runtime, request: cri.StatusRequest) -> cri.StatusResponse:
    features = cri.RuntimeHandlerFeatures(recursive_read_only_mounts=True, user_namespaces=True)
    handlers = ("", *runtime.settings.runtime_handlers)
    return cri.StatusResponse(
        status=cri.RuntimeStatus(
            conditions=(
                _condition("RuntimeReady", runtime.runtime_ready, "the simulated runtime is made to be not ready"),
                _condition("NetworkReady", runtime.network_ready, "the simulated network is made to be not ready"),
            )
        ),
        info={"config": _info(runtime)} if request.verbose else {},
        runtime_handlers=tuple(cri.RuntimeHandler(name=name, features=features) for name in handlers),
        features=cri.RuntimeFeatures(supplemental_groups_policy=True),
    )


def _condition(kind: str, holds: bool, why_not: str) -> cri.RuntimeCondition:
    if holds:
        return cri.RuntimeCondition(type=kind, status=True)
    return cri.RuntimeCondition(
        type=kind, status=False, reason=f"{kind.removesuffix('Ready')}NotReady", message=why_not
    )


def _info(runtime: Runtime) -> str:
    settings = runtime.settings
    info = {"podCIDR": runtime.pod_cidr, "sandboxImage": settings.sandbox_image, "seed": settings.seed}
    return msgspec.json.encode(info).decode()


def runtime_config(runtime: Runtime, request: cri.RuntimeConfigRequest) -> cri.RuntimeConfigResponse:
    return cri.RuntimeConfigResponse(linux=cri.LinuxRuntimeConfiguration(cgroup_driver=runtime.settings.cgroup_driver))


def update_runtime_config(runtime: Runtime, request: cri.UpdateRuntimeConfigRequest) -> cri.UpdateRuntimeConfigResponse:
    """Take the pod network from the node agent; pods that have an address keep it."""
    network = request.runtime_config.network_config if request.runtime_config else None
    cidr = network.pod_cidr.split(",")[0] if network else ""
    if cidr:
        try:
            ipaddress.IPv4Network(cidr)
        except ValueError as error:
            raise CriRefusal(StatusCode.INVALID_ARGUMENT, f"the pod network is not an IPv4 network: {error}") from None
        runtime.use_pod_network(cidr)
    return cri.UpdateRuntimeConfigResponse()
