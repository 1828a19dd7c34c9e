"""RemovePodSandbox: the sandbox goes with all its containers, stopped by force where need be. Twice is no error."""

from __future__ import annotations

from runtime.cri.messages import RemovePodSandboxRequest, RemovePodSandboxResponse
from simulation.cri.events import DELETED
from simulation.cri.runtime import Runtime
from simulation.cri.state import CriRefusal
from simulation.cri.verbs.remove_container import forget
from simulation.cri.verbs.stop_pod_sandbox import stop_sandbox

_DONE = RemovePodSandboxResponse()


def remove_pod_sandbox(runtime: Runtime, request: RemovePodSandboxRequest) -> RemovePodSandboxResponse:
    try:
        record = runtime.state.sandboxes[request.pod_sandbox_id]
    except CriRefusal:
        return _DONE
    stop_sandbox(runtime, record)
    for container in tuple(record.containers.values()):
        forget(runtime, container)
    runtime.state.drop_sandbox(record)
    runtime.events.publish(DELETED, record.id, record)
    return _DONE
