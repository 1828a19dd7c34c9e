"""The tcpSocket probe: a connection that opens is all it asks for, and it is closed at once (spec 5)."""

from __future__ import annotations

import asyncio

from runtime.probes.capability import NS_PER_SECOND, Outcome, ProbeAnswer, TcpCheck
from runtime.probes.network import address, reason_of

_OPENED = ProbeAnswer(Outcome.SUCCESS)


async def ask_tcp(check: TcpCheck, timeout_ns: int) -> ProbeAnswer:
    """On the loop."""
    where = f"dial tcp {address(check.host, check.port)}"
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(timeout_ns / NS_PER_SECOND):
            transport, _ = await loop.create_connection(asyncio.Protocol, check.host, check.port)
    except TimeoutError:
        return ProbeAnswer(Outcome.FAILURE, f"{where}: i/o timeout")
    except OSError as failure:
        return ProbeAnswer(Outcome.FAILURE, f"{where}: {reason_of(failure)}")
    transport.close()
    return _OPENED
