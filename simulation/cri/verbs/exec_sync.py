"""ExecSync: a command in a container, which ends as the container's annotations say."""

from __future__ import annotations

from actors.kernel.promise import Promise
from runtime.cri.errors import StatusCode
from runtime.cri.messages import ExecSyncRequest, ExecSyncResponse
from simulation.cri.behaviour import at
from simulation.cri.runtime import Runtime
from simulation.cri.state import CriRefusal
from simulation.cri.views import is_running

_SECOND_NS = 10**9


def exec_sync(runtime: Runtime, request: ExecSyncRequest) -> ExecSyncResponse | Promise[ExecSyncResponse]:
    record = runtime.state.containers[request.container_id]
    if not request.cmd:
        raise CriRefusal(StatusCode.UNKNOWN, "the command is empty")
    if not is_running(record):
        raise CriRefusal(StatusCode.UNKNOWN, f"container {record.id!r} is in state {record.state.name}")
    behaviour = record.behaviour
    answer = ExecSyncResponse(
        stdout=behaviour.exec_output.encode(), exit_code=at(behaviour.exec_exit_code, record.execs)
    )
    record.execs += 1
    record.commands.append(request.cmd)
    if not behaviour.exec_delay:
        return answer
    promise: Promise[ExecSyncResponse] = Promise()
    limit_ns = request.timeout * _SECOND_NS
    if 0 < limit_ns < behaviour.exec_delay:
        late = CriRefusal(StatusCode.DEADLINE_EXCEEDED, f"the command took longer than {request.timeout} s")
        runtime.after(limit_ns, lambda: runtime.refuse(promise, late))
    else:
        runtime.after(behaviour.exec_delay, lambda: runtime.answer(promise, answer))
    return promise
