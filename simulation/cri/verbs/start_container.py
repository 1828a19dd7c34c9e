"""StartContainer: the process of a container that was created and never started."""

from __future__ import annotations

from actors.kernel.promise import Promise
from runtime.cri.errors import StatusCode
from runtime.cri.messages import ContainerState, StartContainerRequest, StartContainerResponse
from simulation.cri.behaviour import at
from simulation.cri.container_life import begin
from simulation.cri.runtime import Runtime
from simulation.cri.state import ContainerRecord, CriRefusal
from simulation.cri.views import is_ready

_DONE = StartContainerResponse()


def start_container(
    runtime: Runtime, request: StartContainerRequest
) -> StartContainerResponse | Promise[StartContainerResponse]:
    record = runtime.state.containers[request.container_id]
    if record.state != ContainerState.CONTAINER_CREATED:
        raise CriRefusal(StatusCode.UNKNOWN, f"container {record.id!r} is in state {record.state.name}")
    if record.starting:
        raise CriRefusal(StatusCode.UNKNOWN, f"container {record.id!r} is being started already")
    if not is_ready(record.sandbox):
        raise CriRefusal(StatusCode.UNKNOWN, f"the sandbox {record.sandbox.id!r} of the container is not running")
    delay_ns = at(record.behaviour.start_delay, record.attempt)
    if not delay_ns:
        begin(runtime, record)
        return _DONE
    record.starting = True
    promise: Promise[StartContainerResponse] = Promise()
    runtime.after(delay_ns, lambda: _begin_late(runtime, record, promise))
    return promise


def _begin_late(runtime: Runtime, record: ContainerRecord, promise: Promise[StartContainerResponse]) -> None:
    record.starting = False
    if record.id not in runtime.state.containers or not is_ready(record.sandbox):
        error = CriRefusal(StatusCode.UNKNOWN, f"container {record.id!r} lost its sandbox while it was started")
        runtime.refuse(promise, error)
        return
    begin(runtime, record)
    runtime.answer(promise, _DONE)
