"""The capability for httpGet hooks of containers.

Commands go to the runtime, and sleeping needs no capability.
"""

from __future__ import annotations

from typing import Protocol

import msgspec

from runtime.io.pending import PendingAnswer

HOOK_USER_AGENT = "kube-lifecycle/1.36"
"""The user agent by which servers recognise the hooks of a kubelet."""


class HookAnswer(msgspec.Struct, frozen=True, gc=False):
    """`error` is empty when somebody has answered, whatever the status code.

    `fell_back`: why the call was made again without TLS; empty when it was not.
    """

    error: str = ""
    fell_back: str = ""


class HookCaller(Protocol):
    """Makes the HTTP calls of hooks."""

    def get(self, container_id: str, url: str, headers: tuple[tuple[str, str], ...]) -> PendingAnswer[HookAnswer]:
        """GET once; the caller cancels when it has waited long enough. Never blocks, and never fails.

        `container_id` is for simulated containers. `headers`: as in the pod, in order, `Host` included.
        """
