"""The exec probe: a command in the container, through the runtime (spec 5).

The runtime measures the timeout. That the runtime itself does not answer says nothing of the container.
"""

from __future__ import annotations

from typing import Any

from runtime.cri import Cri, CriError
from runtime.cri.errors import StatusCode
from runtime.cri.messages import ExecSyncRequest
from runtime.cri.verbs import EXEC_SYNC
from runtime.io.pending import CancellingAnswer, PendingAnswer, settle
from runtime.probes.capability import NS_PER_SECOND, SHOWN_BYTES, ExecCheck, ProbeAnswer, ProbeOutcome

RUNTIME_SLACK_NS = 10 * NS_PER_SECOND
"""How much longer than the command the runtime may take, before it is not waited for any more."""


def ask_exec(cri: Cri, container_id: str, check: ExecCheck, timeout_ns: int) -> PendingAnswer[ProbeAnswer]:
    """Any thread. The answer comes on a thread of the runtime's client."""
    seconds = max(1, -(-timeout_ns // NS_PER_SECOND))  # the CRI knows whole seconds only
    request = ExecSyncRequest(container_id=container_id, cmd=check.command, timeout=seconds)
    call = cri.call(EXEC_SYNC, request, timeout_ns=seconds * NS_PER_SECOND + RUNTIME_SLACK_NS)
    answer: CancellingAnswer[ProbeAnswer] = CancellingAnswer(call)
    call.add_done_callback(lambda done: settle(answer, result=_judge(done, check, seconds)))
    return answer


def _judge(done: PendingAnswer[Any], check: ExecCheck, seconds: int) -> ProbeAnswer:
    try:
        response = done.result(0)
    except CriError as failure:
        if failure.code == StatusCode.DEADLINE_EXCEEDED:
            command = " ".join(check.command)
            return ProbeAnswer(ProbeOutcome.FAILURE, f'command timed out: "{command}" timed out after {seconds}s')
        return ProbeAnswer(ProbeOutcome.UNKNOWN, str(failure))
    except BaseException as failure:  # this runs on a thread of the client, which must survive
        return ProbeAnswer(ProbeOutcome.UNKNOWN, f"the command could not be run: {failure!r}")
    if response.exit_code == 0:
        return ProbeAnswer(ProbeOutcome.SUCCESS)
    # Each may have 16 MiB: they are cut before they are put together.
    output = (response.stdout[:SHOWN_BYTES] + response.stderr[:SHOWN_BYTES])[:SHOWN_BYTES].decode(errors="replace")
    return ProbeAnswer(ProbeOutcome.FAILURE, output or f"command exited with {response.exit_code}")
