"""UpdatePodSandboxResources: taken note of; the containers' own resources are what counts here."""

from __future__ import annotations

from runtime.cri.messages import UpdatePodSandboxResourcesRequest, UpdatePodSandboxResourcesResponse
from simulation.cri.runtime import Runtime


def update_pod_sandbox_resources(
    runtime: Runtime, request: UpdatePodSandboxResourcesRequest
) -> UpdatePodSandboxResourcesResponse:
    _ = runtime.state.sandboxes[request.pod_sandbox_id]  # or it is refused
    return UpdatePodSandboxResourcesResponse()
