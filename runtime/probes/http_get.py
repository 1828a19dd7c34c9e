"""The httpGet probe: one GET, followed to where it leads on the same host (spec 5).

2xx and 3xx are success. A redirect to another host is not followed, and is a success with a warning: the container has
answered, though not by itself. Whatever keeps the answer away is a failure of the container.
"""

from __future__ import annotations

import asyncio

from runtime.http_client.call import HttpCallError, get
from runtime.io.held_bytes import HeldBytes
from runtime.probes.capability import NS_PER_SECOND, PROBE_USER_AGENT, HttpCheck, ProbeAnswer, ProbeOutcome

_WELL = ProbeAnswer(ProbeOutcome.SUCCESS)


async def ask_http(check: HttpCheck, timeout_ns: int, held: HeldBytes | None = None) -> ProbeAnswer:
    """Make an HTTP check. Runs on the loop. `held`: the memory of all probes of this loop."""
    try:
        async with asyncio.timeout(timeout_ns / NS_PER_SECOND):
            answer = await get(check.url, check.headers, PROBE_USER_AGENT, held=held)
    except TimeoutError:
        text = "context deadline exceeded (no answer within the probe's timeout)"
        return ProbeAnswer(ProbeOutcome.FAILURE, f'Get "{check.url}": {text}')
    except HttpCallError as failure:
        return ProbeAnswer(ProbeOutcome.FAILURE, f'Get "{check.url}": {failure}')
    if answer.elsewhere:
        body = answer.body.decode(errors="replace")
        return ProbeAnswer(ProbeOutcome.WARNING, f"Probe terminated redirects, Response body: {body}")
    if 200 <= answer.status < 400:
        return _WELL
    return ProbeAnswer(ProbeOutcome.FAILURE, f"HTTP probe failed with statuscode: {answer.status}")
