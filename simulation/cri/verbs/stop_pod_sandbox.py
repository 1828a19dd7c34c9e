"""StopPodSandbox: every process of the pod is killed and its network taken down. Stopping again is no error."""

from __future__ import annotations

from runtime.cri.messages import PodSandboxState, StopPodSandboxRequest, StopPodSandboxResponse
from simulation.cri.container_life import kill
from simulation.cri.events import STOPPED
from simulation.cri.runtime import Runtime
from simulation.cri.state import SandboxRecord
from simulation.cri.views import is_ready

_DONE = StopPodSandboxResponse()


def stop_pod_sandbox(runtime: Runtime, request: StopPodSandboxRequest) -> StopPodSandboxResponse:
    stop_sandbox(runtime, runtime.state.sandboxes[request.pod_sandbox_id])
    return _DONE


def stop_sandbox(runtime: Runtime, record: SandboxRecord) -> None:
    """Kill what runs in a sandbox, and the sandbox itself."""
    for container in record.containers.values():
        kill(runtime, container)
    runtime.free_address(record)
    lose_sandbox(runtime, record)


def lose_sandbox(runtime: Runtime, record: SandboxRecord) -> None:
    """The sandbox's own process is gone; containers may go on, as they do in containerd."""
    if record.lost_timer is not None:
        record.lost_timer.cancel()
        record.lost_timer = None
    if is_ready(record):
        record.state = PodSandboxState.SANDBOX_NOTREADY
        runtime.state.changed(record)
        runtime.events.publish(STOPPED, record.id, record)
