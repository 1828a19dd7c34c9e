"""Version: who this is."""

from __future__ import annotations

from runtime.cri.messages import VersionRequest, VersionResponse
from simulation.cri.runtime import Runtime

_ANSWER = VersionResponse(version="0.1.0", runtime_name="simulated", runtime_version="1.0.0", runtime_api_version="v1")


def version(runtime: Runtime, request: VersionRequest) -> VersionResponse:
    return _ANSWER
