"""Status: whether containers can run and pods get a network."""

from __future__ import annotations

import msgspec

from runtime.cri.messages import (
    RuntimeCondition,
    RuntimeFeatures,
    RuntimeHandler,
    RuntimeHandlerFeatures,
    RuntimeStatus,
    StatusRequest,
    StatusResponse,
)
from simulation.cri.runtime import Runtime


def status(runtime: Runtime, request: StatusRequest) -> StatusResponse:
    features = RuntimeHandlerFeatures(recursive_read_only_mounts=True, user_namespaces=True)
    handlers = ("", *runtime.settings.runtime_handlers)
    return StatusResponse(
        status=RuntimeStatus(
            conditions=(
                _condition("RuntimeReady", runtime.runtime_ready, "the simulated runtime is made to be not ready"),
                _condition("NetworkReady", runtime.network_ready, "the simulated network is made to be not ready"),
            )
        ),
        info={"config": _info(runtime)} if request.verbose else {},
        runtime_handlers=tuple(RuntimeHandler(name=name, features=features) for name in handlers),
        features=RuntimeFeatures(supplemental_groups_policy=True),
    )


def _condition(kind: str, holds: bool, why_not: str) -> RuntimeCondition:
    if holds:
        return RuntimeCondition(type=kind, status=True)
    return RuntimeCondition(type=kind, status=False, reason=f"{kind.removesuffix('Ready')}NotReady", message=why_not)


def _info(runtime: Runtime) -> str:
    settings = runtime.settings
    info = {"podCIDR": runtime.pod_cidr, "sandboxImage": settings.sandbox_image, "seed": settings.seed}
    return msgspec.json.encode(info).decode()
