"""RuntimeConfig: who manages cgroups."""

from __future__ import annotations

from runtime.cri.messages import LinuxRuntimeConfiguration, RuntimeConfigRequest, RuntimeConfigResponse
from simulation.cri.runtime import Runtime


def runtime_config(runtime: Runtime, request: RuntimeConfigRequest) -> RuntimeConfigResponse:
    return RuntimeConfigResponse(linux=LinuxRuntimeConfiguration(cgroup_driver=runtime.settings.cgroup_driver))
