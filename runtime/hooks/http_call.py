"""The httpGet hook: one GET. Any answer means success (spec 3.11).

Every status code is good. If the server of an HTTPS hook speaks no TLS, the hook falls back to HTTP without
credentials. Hooks have always worked like that, and pods rely on it. There is no timeout here; the grace period of the
container limits the call.
"""

from __future__ import annotations

from runtime.hooks.capability import HOOK_USER_AGENT, HookAnswer
from runtime.http_client.call import HttpCallError, get
from runtime.io.event_loop import LoopThread
from runtime.io.held_bytes import HeldBytes
from runtime.io.pending import PendingAnswer


class NetworkHookCaller:
    """See the module, and `HookCaller`."""

    def __init__(self, loop: LoopThread) -> None:
        self._loop = loop
        self._held = HeldBytes()

    def get(self, container_id: str, url: str, headers: tuple[tuple[str, str], ...]) -> PendingAnswer[HookAnswer]:
        return self._loop.submit(call(url, headers, self._held))


async def call(url: str, headers: tuple[tuple[str, str], ...], held: HeldBytes | None = None) -> HookAnswer:
    """Make the call. Runs on the loop. `held`: the memory of all hooks of this loop."""
    try:
        answer = await get(url, headers, HOOK_USER_AGENT, fall_back=True, held=held)
    except HttpCallError as failure:
        return HookAnswer(f'Get "{url}": {failure}', failure.fell_back)
    return HookAnswer("", answer.fell_back)
