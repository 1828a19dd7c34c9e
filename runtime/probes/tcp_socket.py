"""The tcpSocket probe: a connection that opens is all it asks for, and it is closed at once (spec 5)."""

from __future__ import annotations

import asyncio

from runtime.io.connecting import connected
from runtime.io.network import address, reason_of
from runtime.probes.capability import NS_PER_SECOND, ProbeAnswer, ProbeOutcome, TcpCheck

_OPENED = ProbeAnswer(ProbeOutcome.SUCCESS)


async def ask_tcp(check: TcpCheck, timeout_ns: int) -> ProbeAnswer:
    """Make a TCP check. Runs on the loop."""
    try:
        async with asyncio.timeout(timeout_ns / NS_PER_SECOND):
            opened = await connected(check.host, check.port)
    except TimeoutError:
        return ProbeAnswer(ProbeOutcome.FAILURE, f"{_dial(check)}: i/o timeout")
    except OSError as failure:
        return ProbeAnswer(ProbeOutcome.FAILURE, f"{_dial(check)}: {reason_of(failure)}")
    opened.close()
    return _OPENED


def _dial(check: TcpCheck) -> str:
    return f"dial tcp {address(check.host, check.port)}"
