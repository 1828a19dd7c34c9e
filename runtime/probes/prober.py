"""`NetworkProber`: the real prober. Commands go through the runtime, all else through the shared loop.

The loop may be busy: it then begins late, and hears of a timeout late. What has timed out on a loop that was late by a
quarter of the timeout is LATE: the answer may well have been there.
"""

from __future__ import annotations

import time
from collections.abc import Coroutine
from typing import Any

from runtime.cri import Cri
from runtime.event_loop import LoopThread
from runtime.pending import Pending
from runtime.probes.capability import Check, ExecCheck, HttpCheck, Outcome, ProbeAnswer, TcpCheck
from runtime.probes.exec_command import ask_exec
from runtime.probes.grpc_health import ask_grpc
from runtime.probes.http_get import ask_http
from runtime.probes.tcp_socket import ask_tcp

MAX_LAG = 4
"""A timeout counts if the loop was late by no more than this part of it."""


class NetworkProber:
    """See the module, and `Prober`."""

    def __init__(self, cri: Cri, loop: LoopThread) -> None:
        self._cri = cri
        self._loop = loop

    def probe(self, container_id: str, kind: str, check: Check, timeout_ns: int) -> Pending[ProbeAnswer]:
        if isinstance(check, ExecCheck):
            return ask_exec(self._cri, container_id, check, timeout_ns)
        return self._loop.submit(_sure(_question(check, timeout_ns), time.monotonic_ns(), timeout_ns))


def _question(check: Check, timeout_ns: int) -> Coroutine[Any, Any, ProbeAnswer]:
    if isinstance(check, HttpCheck):
        return ask_http(check, timeout_ns)
    if isinstance(check, TcpCheck):
        return ask_tcp(check, timeout_ns)
    assert not isinstance(check, ExecCheck), "the runtime is asked, not the network"
    return ask_grpc(check, timeout_ns)


async def _sure(question: Coroutine[Any, Any, ProbeAnswer], asked_ns: int, timeout_ns: int) -> ProbeAnswer:
    began_ns = time.monotonic_ns()
    try:
        answer = await question
    except Exception as failure:
        return ProbeAnswer(Outcome.UNKNOWN, f"the probe itself has failed: {failure!r}")
    over_ns = time.monotonic_ns() - began_ns - timeout_ns
    late_ns = began_ns - asked_ns + over_ns
    if answer.outcome is Outcome.FAILURE and over_ns >= 0 and late_ns > timeout_ns // MAX_LAG:
        return ProbeAnswer(Outcome.LATE, f"this node is too busy to tell: {late_ns / 1e6:.0f} ms late")
    return answer
