"""The exec probe: a command in the container, through the runtime (spec 5).

The runtime measures the timeout. Its answer counts however late it comes: a command that has exited but whose children
keep its output open is answered when they end. Upstream waits as long (`runtimeRequestTimeout` on top of the timeout),
and takes a runtime that does not answer by then for a command that timed out.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from runtime.cri import Cri, CriError
from runtime.cri.deadlines import deadline_ns
from runtime.cri.errors import StatusCode
from runtime.cri.messages import ExecSyncRequest
from runtime.cri.verbs import EXEC_SYNC
from runtime.io.pending import CancellingAnswer, PendingAnswer, settle
from runtime.probes.capability import NS_PER_SECOND, SHOWN_BYTES, ExecCheck, ProbeAnswer, ProbeOutcome
from runtime.probes.held_up import unless_held_up


def ask_exec(
    cri: Cri, container_id: str, check: ExecCheck, timeout_ns: int, now_ns: Callable[[], int] = time.monotonic_ns
) -> PendingAnswer[ProbeAnswer]:
    """Run a command check. Any thread. The answer comes on a thread of the runtime's client."""
    seconds = max(1, -(-timeout_ns // NS_PER_SECOND))  # the CRI knows whole seconds only
    request = ExecSyncRequest(container_id=container_id, cmd=check.command, timeout=seconds)
    limit_ns = deadline_ns(EXEC_SYNC, request)
    assert limit_ns is not None, "the command has a timeout"
    due_ns = now_ns() + limit_ns
    call = cri.call(EXEC_SYNC, request, timeout_ns=limit_ns)
    answer: CancellingAnswer[ProbeAnswer] = CancellingAnswer(call)

    def judge(done: PendingAnswer[Any]) -> None:
        answer.let_go()
        settle(answer, result=_judge(done, check, seconds, late_ns=now_ns() - due_ns))

    call.add_done_callback(judge)
    return answer


def _judge(done: PendingAnswer[Any], check: ExecCheck, seconds: int, late_ns: int) -> ProbeAnswer:
    """`late_ns`: how long after the deadline of the call it ended. If it is late, this node was held up."""
    try:
        response = done.result(0)
    except CriError as failure:
        if failure.code == StatusCode.DEADLINE_EXCEEDED:
            command = " ".join(check.command)
            text = f'command timed out: "{command}" timed out after {seconds}s'
            return unless_held_up(ProbeAnswer(ProbeOutcome.FAILURE, text), late_ns, seconds * NS_PER_SECOND)
        return ProbeAnswer(ProbeOutcome.UNKNOWN, str(failure))
    except BaseException as failure:  # this runs on a thread of the client, which must survive
        return ProbeAnswer(ProbeOutcome.UNKNOWN, f"the command could not be run: {failure!r}")
    if response.exit_code == 0:
        return ProbeAnswer(ProbeOutcome.SUCCESS)
    # Each may have 16 MiB: they are cut before they are put together.
    output = (response.stdout[:SHOWN_BYTES] + response.stderr[:SHOWN_BYTES])[:SHOWN_BYTES].decode(errors="replace")
    return ProbeAnswer(ProbeOutcome.FAILURE, output or f"command exited with {response.exit_code}")
