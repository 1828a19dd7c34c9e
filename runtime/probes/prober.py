"""`NetworkProber`: the real prober.

Commands go through the runtime, all else through a loop for containers alone.

Data from containers never reaches a loop of the API client, the leases or the node's server.

The loop may be busy: it then begins late, notices a timeout late, and takes long for each turn of a check. A check that
timed out while the loop was late by a tenth of the timeout, and by 100 ms, is LATE: its answer may have been there.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from runtime.cri import Cri
from runtime.io.event_loop import LoopThread
from runtime.io.held_bytes import HeldBytes
from runtime.io.pending import PendingAnswer
from runtime.probes.capability import Check, ExecCheck, GrpcCheck, HttpCheck, ProbeAnswer, ProbeOutcome, TcpCheck
from runtime.probes.exec_command import ask_exec
from runtime.probes.held_up import unless_held_up
from runtime.probes.http_get import ask_http
from runtime.probes.tcp_socket import ask_tcp

TURNS = 6
"""About so many turns of the loop a check needs: to connect, to ask, to read, and to tell."""

_Question = Callable[[], Coroutine[Any, Any, ProbeAnswer]]


class NetworkProber:
    """See the module, and `Prober`. `held`: bounds what HTTP probes hold together."""

    def __init__(self, cri: Cri, loop: LoopThread, held: HeldBytes | None = None) -> None:
        self._cri = cri
        self._loop = loop
        self._held = held or HeldBytes()

    def probe(self, container_id: str, kind: str, check: Check, timeout_ns: int) -> PendingAnswer[ProbeAnswer]:
        if isinstance(check, ExecCheck):
            return ask_exec(self._cri, container_id, check, timeout_ns)
        return self._loop.submit(_sure(partial(self._question, check, timeout_ns), time.monotonic_ns(), timeout_ns))

    def _question(self, check: HttpCheck | TcpCheck | GrpcCheck, timeout_ns: int) -> Coroutine[Any, Any, ProbeAnswer]:
        if isinstance(check, HttpCheck):
            return ask_http(check, timeout_ns, self._held)
        if isinstance(check, TcpCheck):
            return ask_tcp(check, timeout_ns)
        # Heavy (HTTP/2), and few pods have such a probe.
        from runtime.probes.grpc_health import ask_grpc

        return ask_grpc(check, timeout_ns, self._held)


async def _sure(
    question: Callable[[], Coroutine[Any, Any, ProbeAnswer]], asked_ns: int, timeout_ns: int
) -> ProbeAnswer:
    began_ns = time.monotonic_ns()
    try:
        answer = await question()
    except Exception as failure:
        return ProbeAnswer(ProbeOutcome.UNKNOWN, f"the probe itself has failed: {failure!r}")
    ended_ns = time.monotonic_ns()
    over_ns = ended_ns - began_ns - timeout_ns
    if answer.outcome is not ProbeOutcome.FAILURE or over_ns < 0:
        return answer
    await asyncio.sleep(0)
    turn_ns = time.monotonic_ns() - ended_ns
    return unless_held_up(answer, began_ns - asked_ns + over_ns + TURNS * turn_ns, timeout_ns)
