"""ExecSync runs a command, which ends as the container's annotations say.

Exec, Attach and PortForward give the address of a streaming session, which nobody serves.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

from actors.kernel.promise import Promise
from runtime.cri import messages as cri
from runtime.cri.errors import StatusCode
from simulation.cri.behaviour import at
from simulation.cri.runtime import Runtime
from simulation.cri.state import CriRefusal
from simulation.cri.views import is_ready, running

_SECOND_NS = 10**9


def exec_sync(runtime: Runtime, request: cri.ExecSyncRequest) -> cri.ExecSyncResponse | Promise[cri.ExecSyncResponse]:
    record = runtime.state.containers[request.container_id]
    if not request.cmd:
        raise CriRefusal(StatusCode.UNKNOWN, "the command is empty")
    behaviour = running(record).behaviour
    words = " ".join(request.cmd)
    scripted = next((rule for rule in behaviour.exec_commands if fnmatchcase(words, rule.pattern)), None)
    output = behaviour.exec_output if scripted is None else scripted.output
    code = at(behaviour.exec_exit_code, record.execs) if scripted is None else scripted.code
    answer = cri.ExecSyncResponse(stdout=output.encode(), exit_code=code)
    record.execs += 1
    record.commands.append(request.cmd)
    if not behaviour.exec_delay and not behaviour.exec_output_held:
        return answer
    promise: Promise[cri.ExecSyncResponse] = Promise()
    limit_ns = request.timeout * _SECOND_NS
    if 0 < limit_ns < behaviour.exec_delay:
        late = CriRefusal(StatusCode.DEADLINE_EXCEEDED, f"the command took longer than {request.timeout} s")
        runtime.after(limit_ns, lambda: runtime.refuse(promise, late))
    else:
        runtime.after(behaviour.exec_delay + behaviour.exec_output_held, lambda: runtime.answer(promise, answer))
    return promise


def prepare_exec(runtime: Runtime, request: cri.ExecRequest) -> cri.ExecResponse:
    running(runtime.state.containers[request.container_id])
    return cri.ExecResponse(url=_address(runtime, "exec"))


def attach(runtime: Runtime, request: cri.AttachRequest) -> cri.AttachResponse:
    running(runtime.state.containers[request.container_id])
    return cri.AttachResponse(url=_address(runtime, "attach"))


def port_forward(runtime: Runtime, request: cri.PortForwardRequest) -> cri.PortForwardResponse:
    record = runtime.state.sandboxes[request.pod_sandbox_id]
    if not is_ready(record):
        raise CriRefusal(StatusCode.UNKNOWN, f"the sandbox {record.id!r} is not running")
    return cri.PortForwardResponse(url=_address(runtime, "port-forward"))


def _address(runtime: Runtime, session: str) -> str:
    return f"http://127.0.0.1:0/{session}/{runtime.new_id()[:8]}"
