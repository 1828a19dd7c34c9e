"""StopContainer: the stop signal, and the kill when the time is up. What does not run is stopped already."""

from __future__ import annotations

from actors.kernel.promise import Promise
from runtime.cri.messages import StopContainerRequest, StopContainerResponse
from simulation.cri.container_life import ask_to_stop, kill, when_stopped
from simulation.cri.runtime import Runtime
from simulation.cri.state import ContainerRecord
from simulation.cri.views import is_running

_DONE = StopContainerResponse()
_SECOND_NS = 10**9


def stop_container(
    runtime: Runtime, request: StopContainerRequest
) -> StopContainerResponse | Promise[StopContainerResponse]:
    record = runtime.state.containers[request.container_id]
    if not is_running(record):
        return _DONE
    if request.timeout <= 0:
        kill(runtime, record)
        return _DONE
    ask_to_stop(runtime, record)
    if not is_running(record):
        return _DONE
    promise = when_stopped(record)
    timer = runtime.after(request.timeout * _SECOND_NS, lambda: _time_is_up(runtime, record, promise))
    promise.add_done_callback(lambda _: timer.cancel())
    return promise


def _time_is_up(runtime: Runtime, record: ContainerRecord, promise: Promise[StopContainerResponse]) -> None:
    """Who gave up waiting does not kill: the next StopContainer does, after a time of its own."""
    if not promise.done():
        kill(runtime, record)
